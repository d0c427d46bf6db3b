//===- SsdGradGroupProducts.h - The adjoint by a warpgroup ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDGRADGROUPPRODUCTS_H
#define CP_KERNELS_CUDA_SSDGRADGROUPPRODUCTS_H

#include "SsdGradTilesThread.h"

namespace cp::kernels::cuda {

/// All of a row's pairs are made, and those above the diagonal forgotten.
template <typename Kernel>
CP_DEVICE void SsdGradTilesThread<Kernel>::formPairsAsGroup() const {
  float products[8][4], others[8][4];
  beginProducts();
  CP_UNROLL
  for (int k = 0; k < N; k += band)
    multiplyRows(products, columnsOf(mine.C, k), columnsOf(mine.B, k), k > 0);
  CP_UNROLL
  for (int k = 0; k < width; k += band)
    multiplyRows(others, columnsOf(mine.dy, k), columnsOf(mine.x, k), k > 0);
  commitProducts<1>();
  waitProducts<0>(products, others);
  CP_UNROLL
  for (int j = 0; j < 4; ++j) {
    if (j * band > top())
      continue;
    float two[2][4], otherTwo[2][4];
    CP_UNROLL
    for (int k = 0; k < 8; ++k) {
      two[k / 4][k % 4] = products[2 * j + k / 4][k % 4];
      otherTwo[k / 4][k % 4] = others[2 * j + k / 4][k % 4];
    }
    storePairs(j * band, two, otherTwo);
  }
}

/// What is above the diagonal of the weights is nothing.
template <typename Kernel>
template <bool Transposed, typename Rows>
CP_DEVICE void SsdGradTilesThread<Kernel>::addTokensAsGroup(
    const Weights &weights, const Rows &rows, Sums<Rows::columns> &sums) const {
  Fragments<Weights> ofWeights;
  uint32_t a[4][4] = {};
  CP_UNROLL
  for (int i = 0; i < 4; ++i) {
    int row = i * band;
    if (Transposed ? row >= top() : row <= top()) {
      if (Transposed)
        ofWeights.loadATransposed(a[i], weights, row, top());
      else
        ofWeights.loadA(a[i], weights, top(), row);
    }
  }
  beginProducts(a, sums);
  CP_UNROLL
  for (int i = 0; i < 4; ++i)
    addProduct(sums, a[i], rowsOf(rows, i * band));
  commitProducts<1>();
  waitProducts<0>(sums);
}

template <typename Kernel>
CP_DEVICE void
SsdGradTilesThread<Kernel>::addStatesAsGroup(const TileOf64 &rows,
                                             SumsOfN &sums) const {
  Fragments<TileOf64> ofRows;
  uint32_t a[4][4];
  CP_UNROLL
  for (int i = 0; i < 4; ++i)
    ofRows.loadA(a[i], rows, top(), i * band);
  beginProducts(a, sums);
  CP_UNROLL
  for (int i = 0; i < 4; ++i)
    addProduct(sums, a[i], rowsOf(mine.state, i * band));
  commitProducts<1>();
  waitProducts<0>(sums);
}

template <typename Kernel>
CP_DEVICE void
SsdGradTilesThread<Kernel>::formLaterAsGroup(Sums<width> &later) const {
  beginProducts(later);
  CP_UNROLL
  for (int k = 0; k < N; k += band)
    multiplyRows(later, columnsOf(mine.B, k), columnsOf(mine.state, k), k > 0);
  commitProducts<1>();
  waitProducts<0>(later);
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDGRADGROUPPRODUCTS_H
