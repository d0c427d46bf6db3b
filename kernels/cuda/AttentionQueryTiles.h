//===- AttentionQueryTiles.h - What tiles of queries see --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_ATTENTIONQUERYTILES_H
#define CP_KERNELS_CUDA_ATTENTIONQUERYTILES_H

#include "AttentionGrad.h"
#include "AttentionPositions.h"

namespace cp::kernels::cuda {

/// What queries see, tile by tile.
struct QueryTiles {
  static constexpr int rows = keyTile;
  int count;
  /// [b, count, rows]: of rows that are not there, nothing.
  int *first, *last;
  /// [b, count, 2]: what one of them sees, and what all of them see.
  SeenRange *bounds;
};

/// Fills QueryTiles: a warp a tile.
struct FillQueryTiles {
  static constexpr int threads = 128, blocks = 1, warps = threads / warpSize;
  using Shared = Nothing;

  AttentionGradWork<BFloat16> work;
  QueryTiles tiles;

  CP_DEVICE void operator()() const {
    int tile = blockX() * warps + warp();
    int64_t b = blockY();
    if (tile >= tiles.count)
      return;
    SeenRange some, all = {0, nowhere};
    CP_UNROLL
    for (int i = lane(); i < QueryTiles::rows; i += warpSize) {
      SeenRange seen = seenByRow(b, int64_t(tile) * QueryTiles::rows + i);
      int64_t to = (b * tiles.count + tile) * QueryTiles::rows + i;
      tiles.first[to] = seen.first;
      tiles.last[to] = seen.last;
      if (seen.first <= seen.last)
        some = {lesser(some.first, seen.first), greater(some.last, seen.last)};
      all = {greater(all.first, seen.first), lesser(all.last, seen.last)};
    }
    some = someOfWarp(some);
    all = allOfWarp(all);
    if (lane() == 0) {
      SeenRange *to = tiles.bounds + 2 * (b * tiles.count + tile);
      to[0] = some;
      to[1] = all;
    }
  }

private:
  CP_DEVICE SeenRange seenByRow(int64_t b, int64_t row) const {
    const AttentionGradArgs<BFloat16> &args = work.args;
    if (row >= args.l)
      return {};
    return seenBy(args.mask, args.places, b, row, work.queryAt(row));
  }
};

/// Has `tiles` filled, in memory of the workspace; null with a message.
inline const char *formQueryTiles(const char *op,
                                  const AttentionGradWork<BFloat16> &work,
                                  QueryTiles &tiles, Workspace &workspace,
                                  void *stream) {
  tiles.count = int(ceilDiv(work.args.l, QueryTiles::rows));
  int64_t all = work.args.b * tiles.count;
  auto *words = static_cast<int *>(workspace.allocate(
      size_t(all) * (2 * QueryTiles::rows + 4) * sizeof(int)));
  if (!words)
    return outOfMemory(op);
  tiles.first = words;
  tiles.last = words + all * QueryTiles::rows;
  tiles.bounds =
      reinterpret_cast<SeenRange *>(tiles.last + all * QueryTiles::rows);
  return launch(op, FillQueryTiles{work, tiles},
                {ceilDiv(tiles.count, FillQueryTiles::warps), work.args.b},
                stream);
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_ATTENTIONQUERYTILES_H
