//===- SsdGroupProducts.h - Products of tiles by a warpgroup ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What SsdTiles.h says, where four warps multiply at once. Each has 16 tokens
// of the weights and of y, whose weights stay in its registers, and 16 channels
// of the state, of which a tile's products with C read a copy in shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDGROUPPRODUCTS_H
#define CP_KERNELS_CUDA_SSDGROUPPRODUCTS_H

#include "SsdTilesThread.h"

namespace cp::kernels::cuda {

template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::passTileAsGroup(int slot,
                                                       const TilePiece &piece,
                                                       const TilePiece &next) {
  if constexpr (Outputs) {
    formOutputsAsGroup(slot, piece, next);
  } else {
    startUpdate<1>(memory.stages[slot], piece.count);
    shareTile(slot ^ 1, next);
    waitProducts<0>(state);
  }
}

/// And the state behind the tile. C B^T runs while the state in front is
/// copied, C S while inputs of the update are weighed, and the update while
/// weights are made.
template <typename Kernel>
CP_DEVICE void
SsdTilesThread<Kernel>::formOutputsAsGroup(int slot, const TilePiece &piece,
                                           const TilePiece &next) {
  const Stage &stage = memory.stages[slot];
  const Steps &steps = stage.steps[0];
  float products[8][4], y[8][4];
  beginProducts();
  CP_UNROLL
  for (int k = 0; k < N; k += 16)
    multiplyRows(products, columnsOf(stage.C, k), columnsOf(stage.B, k), k > 0);
  commitProducts<1>();
  copyState();
  beginProducts();
  CP_UNROLL
  for (int k = 0; k < N; k += 16)
    multiplyRows(y, columnsOf(stage.C, k), columnsOf(memory.made[0], k), k > 0);
  commitProducts<2>();
  shareTile(slot ^ 1, next);
  startUpdate<3>(stage, piece.count);
  uint32_t weights[4][4];
  waitProducts<2>(products);
  weigh(steps, products, weights);
  waitProducts<1>(y);
  scaleFromStart(steps, y);
  beginProducts(y, weights);
  CP_UNROLL
  for (int i = 0; i < 4; ++i)
    addProduct(y, weights[i], rowsOf(stage.x[0], i * band));
  commitProducts<2>();
  waitProducts<0>(y, state);
  bool isWhole =
      kernel.fastY && piece.count == tokens && width == Kernel::width;
  check += isWhole ? storeRows<true>(stage, piece.count, y)
                   : storeRows<false>(stage, piece.count, y);
}

/// y times what is left of the state in front.
template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::scaleFromStart(const Steps &steps,
                                                      float (&y)[8][4]) {
  CP_UNROLL
  for (int k = 0; k < 2; ++k) {
    float fromStart = exp2Fast(sharedLoad(&steps.sums[firstToken() + k * 8]));
    CP_UNROLL
    for (int j = 0; j < 8; ++j) {
      y[j][2 * k] *= fromStart;
      y[j][2 * k + 1] *= fromStart;
    }
  }
}

/// Of the state in front of the tile, for products with it.
template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::copyState() const {
  Pairs<typename Kernel::Made> pairsOfN;
  CP_UNROLL
  for (int j = 0; j < Kernel::columnTiles; ++j)
    CP_UNROLL
  for (int k = 0; k < 2; ++k)
    pairsOfN.store(memory.made[0], channels() + k * 8, j * 8,
                   packed(state[j][2 * k], state[j][2 * k + 1]));
  publish();
  barrier();
}

/// W = (C B^T) * decay * delta on and below the diagonal, packed as a.
template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::weigh(const Steps &steps,
                                             const float (&products)[8][4],
                                             uint32_t (&weights)[4][4]) const {
  float sums[2];
  CP_UNROLL
  for (int k = 0; k < 2; ++k)
    sums[k] = sharedLoad(&steps.sums[firstToken() + k * 8]);
  CP_UNROLL
  for (int j = 0; j < 8; ++j) {
    uint32_t (&to)[4] = weights[j / 2];
    if (j * 8 >= channels() + band) {
      to[j % 2 * 2] = to[j % 2 * 2 + 1] = 0;
      continue;
    }
    int s = j * 8 + r();
    float inputs[2] = {sharedLoad(&steps.inputs[s]),
                       sharedLoad(&steps.inputs[s + 1])};
    CP_UNROLL
    for (int k = 0; k < 2; ++k) {
      int t = firstToken() + k * 8;
      float first = products[j][2 * k] * exp2Fast(sums[k] + inputs[0]);
      float second = products[j][2 * k + 1] * exp2Fast(sums[k] + inputs[1]);
      to[j % 2 * 2 + k] =
          packed(s <= t ? first : 0.f, s + 1 <= t ? second : 0.f);
    }
  }
}

/// S = whole S + (to_end x)^T B, whose product is on its way: the newest of so
/// many groups.
template <typename Kernel>
template <int Groups>
CP_DEVICE void SsdTilesThread<Kernel>::startUpdate(const Stage &stage,
                                                   int count) {
  const Steps &steps = stage.steps[0];
  float last = fadeState(steps, count);
  uint32_t x[4][4];
  CP_UNROLL
  for (int i = 0; i < 4; ++i) {
    rowsOf64.loadATransposed(x[i], stage.x[0], i * band, channels());
    weighInputs(steps, last, i * band, x[i]);
  }
  beginProducts(state, x);
  CP_UNROLL
  for (int i = 0; i < 4; ++i)
    addProduct(state, x[i], rowsOf(stage.B, i * band));
  commitProducts<Groups>();
}

/// Of whole tiles no row or channel is missing, and y is stored in pairs.
template <typename Kernel>
template <bool Whole>
CP_DEVICE float
SsdTilesThread<Kernel>::storeRows(const Stage &stage, int count,
                                  const float (&y)[8][4]) const {
  float check = 0;
  CP_UNROLL
  for (int j = 0; j < 8; ++j) {
    int channel = j * 8 + r();
    float skips[2] = {sharedLoad(&memory.skips[0][channel]),
                      sharedLoad(&memory.skips[0][channel + 1])};
    CP_UNROLL
    for (int k = 0; k < 2; ++k) {
      uint32_t x = pairs.load(stage.x[0], channels() + k * 8, j * 8);
      float first = y[j][2 * k] + skips[0] * lowOf(x);
      float second = y[j][2 * k + 1] + skips[1] * highOf(x);
      BFloat16 *to =
          nextY + k * 8 * work.y.strides[1] + j * 8 * work.y.strides[3];
      check += storePair<Whole>(to, first, second, channel,
                                firstToken() + k * 8 < count);
    }
  }
  return check;
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDGROUPPRODUCTS_H
