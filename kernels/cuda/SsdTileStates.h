//===- SsdTileStates.h - What tiles do to a state ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDTILESTATES_H
#define CP_KERNELS_CUDA_SSDTILESTATES_H

#include "SsdPanels.h"

namespace cp::kernels::cuda {

/// Of each tile alone its decay and what its tokens add to the state behind it,
/// or, where `Back`, to the cotangent of the state in front of it: work's
/// `after` and `decays`. A block a tile of a head and a panel of both
/// dimensions.
template <typename T, bool Back> struct SsdTileStates {
  static constexpr int threads = panelThreads, blocks = 1;
  using Acc = AccumulatorOf<T>;
  struct Shared {
    TileSteps<Acc> steps;
    Panel<Acc, panelTokens> left, right;
  };

  SsdWork<T> work;
  /// What is multiplied, of [b, l, h, p] and [b, l, g, n].
  View<const T, 4> rows, columns;
  int64_t panelsP, panelsN;

  CP_DEVICE void operator()() const {
    int64_t index = blockX(), head = blockY(), b = blockZ();
    int64_t tile = index / (panelsP * panelsN), first = tile * panelTokens;
    int64_t p0 = index / panelsN % panelsP * panelWidth;
    int64_t n0 = index % panelsN * panelWidth;
    auto &mine = shared<Shared>();
    if (warp() == 0)
      mine.steps.form(work, b, first, work.l, head);
    barrier();
    uint32_t tokens =
        sharedLoad(Back ? &mine.steps.atFront : &mine.steps.atEnd);
    bringRows(mine.left, rows, b, first, head, p0, work.p, tokens,
              [&](int row) {
                return Back ? sharedLoad(&mine.steps.fromFront[row])
                            : sharedLoad(&mine.steps.toEnd[row]) *
                                  sharedLoad(&mine.steps.deltas[row]);
              });
    bringRows(mine.right, columns, b, first, head / (work.h / work.g), n0,
              work.n, tokens);
    barrier();
    Acc sums[8][4] = {};
    addProduct(
        sums, panelTokens,
        [&](int row, int k) { return sharedLoad(&mine.left.at[k][row]); },
        [&](int k, int column) {
          return sharedLoad(&mine.right.at[k][column]);
        });
    CP_UNROLL
    for (int i = 0; i < 8; ++i)
      CP_UNROLL
    for (int j = 0; j < 4; ++j) {
      int64_t channel = p0 + productRow(i), column = n0 + productColumn(j);
      if (channel < work.p && column < work.n)
        *at(work.after, b, tile, head, channel, column) = sums[i][j];
    }
    if (thread() == 0 && p0 == 0 && n0 == 0)
      work.decays[(b * work.segments + tile) * work.h + head] =
          sharedLoad(&mine.steps.decay);
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDTILESTATES_H
