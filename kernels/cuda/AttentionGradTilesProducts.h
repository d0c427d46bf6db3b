//===- AttentionGradTilesProducts.h - Its products --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_ATTENTIONGRADTILESPRODUCTS_H
#define CP_KERNELS_CUDA_ATTENTIONGRADTILESPRODUCTS_H

#include "AttentionGradTilesThread.h"

namespace cp::kernels::cuda {

template <typename Kernel>
CP_DEVICE void AttentionGradTilesThread<Kernel>::add(const Stage &stage,
                                                     bool isMasked) {
  if constexpr (isOfWarpgroup) {
    addAsGroup(stage, isMasked);
  } else {
    CP_NO_UNROLL
    for (int from = 0; from < keyTile; from += step) {
      Products s = {}, d = {};
      formProducts(memory.own.first, stage.first, from, args.d, s);
      formProducts(memory.own.second, stage.second, from, args.e, d);
      formPairs(stage, from, isMasked, s, d);
      if constexpr (OfKeys)
        addRows(s, stage.second, from, args.e, ofSecond);
      addRows(d, stage.first, from, args.d, ofFirst);
    }
  }
}

template <typename Kernel>
CP_DEVICE void AttentionGradTilesThread<Kernel>::formProducts(
    const TileOf &own, const TileOf &other, int from, int64_t width,
    Products &to) const {
  const int end = isWide ? int(width) : D;
  // More would keep more of where fragments lie in registers.
  CP_UNROLL_TWICE
  for (int k = 0; k < end; k += band) {
    uint32_t a[4];
    fragments.loadA(a, own, strip() * band, k);
    CP_UNROLL
    for (int j = 0; j < step / band; ++j) {
      uint32_t b[4];
      fragments.loadBTransposed(b, other, from + j * band, k);
      multiply(to[2 * j], a, b[0], b[1]);
      multiply(to[2 * j + 1], a, b[2], b[3]);
    }
  }
}

/// s becomes weights, and d the cotangents of products.
template <typename Kernel>
CP_DEVICE void
AttentionGradTilesThread<Kernel>::formPairs(const Stage &stage, int from,
                                            bool isMasked, Products &s,
                                            Products &d) const {
  auto factor = float(args.scale * log2e);
  CP_UNROLL
  for (int k = 0; k < step / 4; ++k)
    CP_UNROLL
  for (int j = 0; j < 2; ++j) {
    int row = rowOf(j), column = from + k / 2 * 8 + r() + k % 2;
    int query = OfKeys ? column : row;
    float lse = sharedLoad(&queriesOf(stage).lse[query]);
    float inner = sharedLoad(&queriesOf(stage).inner[query]);
    float &weight = s[k / 2][2 * j + k % 2], &dWeight = d[k / 2][2 * j + k % 2];
    weight = exp2Fast(weight * factor - lse * float(log2e));
    dWeight = weight * (dWeight - inner);
  }
  if (!isMasked)
    return;
  keepBranch();
  CP_UNROLL
  for (int k = 0; k < step / 4; ++k)
    CP_UNROLL
  for (int j = 0; j < 2; ++j) {
    bool seen = sees(stage, rowOf(j), from + k / 2 * 8 + r() + k % 2);
    float &weight = s[k / 2][2 * j + k % 2], &dWeight = d[k / 2][2 * j + k % 2];
    weight = seen ? weight : 0;
    dWeight = seen ? dWeight : 0;
  }
}

template <typename Kernel>
CP_DEVICE void
AttentionGradTilesThread<Kernel>::addRows(const Products &factors,
                                          const TileOf &other, int from,
                                          int64_t width, Sums &to) const {
  CP_UNROLL
  for (int k = 0; k < step / band; ++k) {
    uint32_t a[4];
    packAsA(factors, k, a);
    CP_UNROLL
    for (int j = 0; j < share / band; ++j) {
      int channel = firstOfShare() + j * band;
      // Not one by one, so that loads are on their way.
      if (isWide && j % 4 == 0 && channel >= width)
        break;
      uint32_t b[4];
      fragments.loadB(b, other, from + k * band, channel);
      multiply(to[2 * j], a, b[0], b[1]);
      multiply(to[2 * j + 1], a, b[2], b[3]);
    }
  }
}

template <typename Kernel>
CP_DEVICE void AttentionGradTilesThread<Kernel>::addAsGroup(const Stage &stage,
                                                            bool isMasked) {
  Products s, d;
  beginProducts();
  startProducts(memory.own.first, stage.first, s);
  startProducts(memory.own.second, stage.second, d);
  commitProducts<1>();
  waitProducts<0>(s, d);
  formPairs(stage, 0, isMasked, s, d);
  uint32_t weights[4][4], factors[4][4];
  CP_UNROLL
  for (int k = 0; k < 4; ++k) {
    packAsA(s, k, weights[k]);
    packAsA(d, k, factors[k]);
  }
  // Of queries the registers of dv are nobody's.
  if constexpr (OfKeys) {
    beginProducts(weights, factors, ofFirst, ofSecond);
    startSums(weights, stage.second, ofSecond);
  } else {
    beginProducts(factors, ofFirst);
  }
  startSums(factors, stage.first, ofFirst);
  commitProducts<1>();
  if constexpr (OfKeys)
    waitProducts<0>(ofFirst, ofSecond);
  else
    waitProducts<0>(ofFirst);
}

template <typename Kernel>
CP_DEVICE void AttentionGradTilesThread<Kernel>::startProducts(
    const TileOf &own, const TileOf &other, Products &to) {
  CP_UNROLL
  for (int k = 0; k < D; k += band)
    multiplyRows(to, columnsOf(own, k), columnsOf(other, k), k > 0);
}

template <typename Kernel>
CP_DEVICE void
AttentionGradTilesThread<Kernel>::startSums(const uint32_t (&factors)[4][4],
                                            const TileOf &other, Sums &to) {
  CP_UNROLL
  for (int k = 0; k < 4; ++k)
    addProduct(to, factors[k], rowsOf(other, k * band));
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_ATTENTIONGRADTILESPRODUCTS_H
