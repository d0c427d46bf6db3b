//===- AttentionTilesAhead.h - Scores ahead of values -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shah et al., "FlashAttention-3" (2024), 3.2: a warpgroup forms the weights of
// a tile while its products with the values of the tile before are on their
// way. Each number is made of the same ones in the same order as in a pass that
// waits for them.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_ATTENTIONTILESAHEAD_H
#define CP_KERNELS_CUDA_ATTENTIONTILESAHEAD_H

#include "AttentionTilesThread.h"

namespace cp::kernels::cuda {

/// A stage has a tile's keys, and one tile later its values.
template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::passAhead() {
  clearSums();
  Weights weights;
  bool isPending = false;
  int tile = seek(0), slot = 0;
  fillKeys(memory.stages[0], tile);
  commitCopies();
  for (; tile < kernel.tiles.count; slot ^= 1) {
    Stage &stage = memory.stages[slot], &before = memory.stages[slot ^ 1];
    int next = seek(tile + 1);
    waitCopies<0>();
    publish();
    // The tile's keys are there and the values before them, and nobody has the
    // keys before them any more, nor the values of two tiles before.
    barrier();
    fillValues(stage, tile);
    fillKeys(before, next);
    commitCopies();
    isPending = attendAhead(stage, before, tile, isPending, weights);
    tile = next;
  }
  waitCopies<0>();
  publish();
  barrier();
  if (isPending)
    addPending(memory.stages[slot ^ 1], weights);
}

/// What is on its way is so in code without branches, or `ptxas` would wait for
/// each product.
template <typename Kernel>
CP_DEVICE bool
AttentionTilesThread<Kernel>::attendAhead(const Stage &stage,
                                          const Stage &before, int tile,
                                          bool isPending, Weights &weights) {
  Sight sight = sightOf(tile);
  if (sight == Sight::None) {
    if (isPending)
      addPending(before, weights);
    return false;
  }
  Scores s = {};
  if (isPending) {
    startScores(stage, s);
    commitProducts<1>();
    startValues(before, weights);
    commitProducts<2>();
    waitProducts<1>(s[0]);
    makeWeights<true>(stage, sight, s, weights);
  } else {
    multiplyKeysAsGroup(stage, s);
    makeWeights<false>(stage, sight, s, weights);
  }
  return true;
}

template <typename Kernel>
template <bool Waits>
CP_DEVICE void AttentionTilesThread<Kernel>::makeWeights(const Stage &stage,
                                                         Sight sight, Scores &s,
                                                         Weights &weights) {
  scaleScores(s);
  if (sight == Sight::Part) {
    keepBranch();
    mask(stage, 0, false, s);
  }
  float kept[height][2];
  bool isHigher = formWeights(s, kept);
  if constexpr (Waits)
    waitProductsBehind<0>(sum[0][0], sum[0][1], out[0]);
  if (isHigher)
    scaleSums(kept);
  packWeights(s, weights);
}

template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::addPending(const Stage &stage,
                                                        Weights &weights) {
  startValues(stage, weights);
  commitProducts<1>();
  waitProducts<0>(out[0]);
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_ATTENTIONTILESAHEAD_H
