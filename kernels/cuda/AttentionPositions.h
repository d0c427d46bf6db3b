//===- AttentionPositions.h - What tiles of queries see ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A query sees the keys at positions of one range, in its batch element's
// sequence: a causal mask, windows and documents are such ranges. So a tile of
// keys, whatever their order, is left out where its least and greatest position
// are not in the ranges of a tile of queries, and needs no mask where they are
// in all of them.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_ATTENTIONPOSITIONS_H
#define CP_KERNELS_CUDA_ATTENTIONPOSITIONS_H

#include "AttentionMask.h"

namespace cp::kernels::cuda {

/// Keys of a tile.
constexpr int keyTile = 64;
/// The position of a key that is not there, which no query sees.
constexpr int nowhere = 0x7fffffff;

CP_DEVICE int lesser(int a, int b) { return a < b ? a : b; }
CP_DEVICE int greater(int a, int b) { return a > b ? a : b; }
CP_DEVICE int warpLeast(int value) {
  CP_UNROLL
  for (int mask = warpSize / 2; mask; mask /= 2)
    value = lesser(value, shuffleXor(value, mask));
  return value;
}
CP_DEVICE int warpGreatest(int value) {
  CP_UNROLL
  for (int mask = warpSize / 2; mask; mask /= 2)
    value = greater(value, shuffleXor(value, mask));
  return value;
}

/// Where keys stand, tile by tile.
struct KeyTiles {
  int count;
  /// [count, keyTile], 0 where all are seen; and [count, 2], of each tile the
  /// least and the greatest.
  int *positions, *bounds;
};

/// The positions of keys that a query sees, or a tile of them: some of, or all
/// of it. None, as it begins.
struct SeenRange {
  int first = nowhere, last = -1;
};

/// What a query at `position` sees: every key at 0 without a causal mask.
/// Beyond what keys stand at, all is one.
CP_DEVICE SeenRange seenBy(const AttentionMask &mask, const PlacesView &places,
                           int64_t b, int64_t row, int64_t position) {
  if (!mask.causal)
    return {0, 0};
  constexpr int64_t most = nowhere - 1;
  int64_t first = firstSeen(mask, places, b, row, position);
  return {int(least(first, most)), int(least(position, most - 1))};
}
/// Of a warp's queries, a lane each, what one of them sees.
CP_DEVICE SeenRange someOfWarp(const SeenRange &seen) {
  bool isAny = seen.first <= seen.last;
  return {warpLeast(isAny ? seen.first : nowhere),
          warpGreatest(isAny ? seen.last : -1)};
}
/// And what all of them see.
CP_DEVICE SeenRange allOfWarp(const SeenRange &seen) {
  return {warpGreatest(seen.first), warpLeast(seen.last)};
}

/// Fills KeyTiles: a warp a tile.
struct FillKeyTiles {
  static constexpr int threads = 128, blocks = 1, warps = threads / warpSize;
  using Shared = Nothing;

  /// Null where key i stands at i.
  const int64_t *keys;
  int64_t rows;
  bool causal;
  KeyTiles tiles;

  CP_DEVICE void operator()() const {
    int tile = blockX() * warps + warp();
    if (tile >= tiles.count)
      return;
    int low = nowhere, high = -1;
    CP_UNROLL
    for (int i = lane(); i < keyTile; i += warpSize) {
      int64_t row = int64_t(tile) * keyTile + i;
      bool isThere = row < rows;
      int position = isThere ? positionOf(row) : nowhere;
      tiles.positions[row] = position;
      low = lesser(low, position);
      high = greater(high, position);
    }
    low = warpLeast(low);
    high = warpGreatest(high);
    if (lane() == 0) {
      tiles.bounds[2 * tile] = low;
      tiles.bounds[2 * tile + 1] = high;
    }
  }

private:
  CP_DEVICE int positionOf(int64_t row) const {
    return causal ? int(keys ? keys[row] : row) : 0;
  }
};

/// Whether positions are numbers that tiles have of keys'.
inline bool isNarrow(const Runs &keys) {
  for (int64_t i = 0; i < keys.count; ++i) {
    Run run = keys[i];
    if (run.first + (run.length - 1) * run.step >= nowhere - 1)
      return false;
  }
  return true;
}

/// Has `tiles` filled, in memory of the workspace; null with a message.
inline const char *formKeyTiles(const char *op, const int64_t *keys,
                                int64_t rows, bool causal, KeyTiles &tiles,
                                Workspace &workspace, void *stream) {
  tiles.count = int(ceilDiv(rows, keyTile));
  auto *words = static_cast<int *>(
      workspace.allocate(size_t(tiles.count) * (keyTile + 2) * sizeof(int)));
  if (!words)
    return outOfMemory(op);
  tiles.positions = words;
  tiles.bounds = words + int64_t(tiles.count) * keyTile;
  return launch(op, FillKeyTiles{keys, rows, causal, tiles},
                {ceilDiv(tiles.count, FillKeyTiles::warps)}, stream);
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_ATTENTIONPOSITIONS_H
