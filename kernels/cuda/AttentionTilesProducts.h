//===- AttentionTilesProducts.h - Products of attention ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_ATTENTIONTILESPRODUCTS_H
#define CP_KERNELS_CUDA_ATTENTIONTILESPRODUCTS_H

#include "AttentionTilesThread.h"

namespace cp::kernels::cuda {

template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::multiplyKeys(const Stage &stage,
                                                          int from,
                                                          Scores &s) const {
  // More would keep more of where fragments lie in registers.
  const int width = isWide ? int(args.d) : D;
  CP_UNROLL_TWICE
  for (int k = 0; k < width; k += band) {
    uint32_t a[height][4];
    CP_UNROLL
    for (int i = 0; i < height; ++i)
      rowsOfQ.loadA(a[i], memory.q, (warp() * height + i) * band, k);
    CP_UNROLL
    for (int j = 0; j < step / band; ++j) {
      uint32_t b[4];
      rowsOfKeys.loadBTransposed(b, stage.K, from + j * band, k);
      CP_UNROLL
      for (int i = 0; i < height; ++i) {
        multiply(s[i][2 * j], a[i], b[0], b[1]);
        multiply(s[i][2 * j + 1], a[i], b[2], b[3]);
      }
    }
  }
}

/// Times log2 e.
template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::formScores(const Stage &stage,
                                                        int from,
                                                        Scores &s) const {
  if constexpr (isOfWarpgroup)
    multiplyKeysAsGroup(stage, s);
  else
    multiplyKeys(stage, from, s);
  scaleScores(s);
}

template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::scaleScores(Scores &s) const {
  auto factor = float(args.scale * log2e);
  CP_UNROLL
  for (int i = 0; i < height; ++i)
    CP_UNROLL
  for (int j = 0; j < step / 8; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    s[i][j][k] *= factor;
}

template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::addValues(const Stage &stage,
                                                       int from,
                                                       const Scores &s) {
  CP_UNROLL
  for (int k = 0; k < step / band; ++k) {
    uint32_t weights[height][4];
    CP_UNROLL
    for (int i = 0; i < height; ++i)
      packAsA(s[i], k, weights[i]);
    CP_UNROLL
    for (int j = 0; j < D / band; ++j) {
      // Not one by one, so that loads are on their way.
      if (isWide && j % 4 == 0 && j * band >= args.dv)
        break;
      uint32_t values[4];
      rowsOfKeys.loadB(values, stage.V, from + k * band, j * band);
      CP_UNROLL
      for (int i = 0; i < height; ++i) {
        multiply(out[i][2 * j], weights[i], values[0], values[1]);
        multiply(out[i][2 * j + 1], weights[i], values[2], values[3]);
      }
    }
  }
}

/// Products of all of a tile's keys, which are no group yet.
template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::startScores(const Stage &stage,
                                                         Scores &s) const {
  beginProducts(s[0]);
  CP_UNROLL
  for (int k = 0; k < D; k += band)
    multiplyRows(s[0], columnsOf(memory.q, k, warp() / 4 * 64),
                 columnsOf(stage.K, k), k > 0);
}

template <typename Kernel>
CP_DEVICE void
AttentionTilesThread<Kernel>::multiplyKeysAsGroup(const Stage &stage,
                                                  Scores &s) const {
  startScores(stage, s);
  commitProducts<1>();
  waitProducts<0>(s[0]);
}

template <typename Kernel>
CP_DEVICE void
AttentionTilesThread<Kernel>::packWeights(const Scores &s,
                                          Weights &weights) const {
  CP_UNROLL
  for (int k = 0; k < step / band; ++k)
    packAsA(s[0], k, weights[k]);
}

/// The same with a tile's values.
template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::startValues(const Stage &stage,
                                                         Weights &weights) {
  beginProducts(out[0], weights);
  CP_UNROLL
  for (int k = 0; k < step / band; ++k)
    addProduct(out[0], weights[k], rowsOf(stage.V, k * band));
}

template <typename Kernel>
CP_DEVICE void
AttentionTilesThread<Kernel>::addValuesAsGroup(const Stage &stage,
                                               const Scores &s) {
  Weights weights;
  packWeights(s, weights);
  addPending(stage, weights);
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_ATTENTIONTILESPRODUCTS_H
