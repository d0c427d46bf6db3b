//===- SsdTilesProducts.h - Products of tiles -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDTILESPRODUCTS_H
#define CP_KERNELS_CUDA_SSDTILESPRODUCTS_H

#include "SsdTilesThread.h"

namespace cp::kernels::cuda {

template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::formWeights(const Stage &stage,
                                                   int count) const {
  CP_NO_UNROLL
  for (int i = warp(); i < 10; i += 4 * Heads)
    if (int row = rowOfBlock(i) * band; row < count)
      formBlock(stage, row, columnOfBlock(i) * band);
}

template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::formBlock(const Stage &stage, int row,
                                                 int column) const {
  // In two sums each, which do not wait for each other.
  float products[2][4] = {}, others[2][4] = {};
  uint32_t a[2][4], b[2][4];
  auto load = [&](int k) {
    rowsOfN.loadA(a[k % 2], stage.C, row, k * band);
    rowsOfN.loadBTransposed(b[k % 2], stage.B, column, k * band);
  };
  load(0);
  CP_UNROLL
  for (int k = 0; k < Kernel::columnPairs; ++k) {
    if (k + 1 < Kernel::columnPairs)
      load(k + 1);
    auto &sums = k % 2 ? others : products;
    multiply(sums[0], a[k % 2], b[k % 2][0], b[k % 2][1]);
    multiply(sums[1], a[k % 2], b[k % 2][2], b[k % 2][3]);
  }
  CP_UNROLL
  for (int i = 0; i < 8; ++i)
    products[i / 4][i % 4] += others[i / 4][i % 4];
  CP_UNROLL
  for (int i = 0; i < Heads; ++i) {
    const Steps &steps = stage.steps[i];
    // Read before anything is stored, so that each is read once.
    float sums[2], inputs[4];
    CP_UNROLL
    for (int j = 0; j < 2; ++j)
      sums[j] = sharedLoad(&steps.sums[row + q() + j * 8]);
    CP_UNROLL
    for (int j = 0; j < 4; ++j)
      inputs[j] = sharedLoad(&steps.inputs[column + r() + j / 2 * 8 + j % 2]);
    CP_UNROLL
    for (int j = 0; j < 4; ++j) {
      int t = row + q() + j / 2 * 8, s = column + r() + j % 2 * 8;
      float weights[2];
      CP_UNROLL
      for (int k = 0; k < 2; ++k) {
        weights[k] = products[j % 2][j / 2 * 2 + k] *
                     exp2Fast(sums[j / 2] + inputs[j % 2 * 2 + k]);
        if (row == column)
          weights[k] = s + k <= t ? weights[k] : 0;
      }
      pairs.store(memory.made[i], row + j / 2 * 8, column + j % 2 * 8,
                  packed(weights[0], weights[1]));
    }
  }
}

template <typename Kernel>
CP_DEVICE void
SsdTilesThread<Kernel>::formRows(const Stage &stage, int top, int count,
                                 float (&y)[height][2][4]) const {
  // Fragments are loaded one step ahead of their use.
  uint32_t c[2][height][4];
  auto load = [&](int k) {
    CP_UNROLL
    for (int row = 0; row < height; ++row)
      rowsOfN.loadA(c[k % 2][row], stage.C, (top + row) * band, k * band);
  };
  load(0);
  CP_UNROLL
  for (int k = 0; k < Kernel::columnPairs; ++k) {
    if (k + 1 < Kernel::columnPairs)
      load(k + 1);
    uint32_t states[4];
    CP_UNROLL
    for (int j = 0; j < 4; ++j) {
      const float *from = state[2 * k + j % 2] + j / 2 * 2;
      states[j] = packed(from[0], from[1]);
    }
    CP_UNROLL
    for (int row = 0; row < height; ++row) {
      multiply(y[row][0], c[k % 2][row], states[0], states[1]);
      multiply(y[row][1], c[k % 2][row], states[2], states[3]);
    }
  }
  CP_UNROLL
  for (int row = 0; row < height; ++row)
    CP_UNROLL
  for (int j = 0; j < 2; ++j) {
    float fromStart = exp2Fast(
        sharedLoad(&stage.steps[own()].sums[(top + row) * band + q() + j * 8]));
    CP_UNROLL
    for (int k = 0; k < 4; ++k)
      y[row][k / 2][2 * j + k % 2] *= fromStart;
  }
  // Behind the last token there is nothing; of a block above the diagonal the
  // weights are zeros.
  int last = top + height < (count + band - 1) / band
                 ? top + height
                 : (count + band - 1) / band;
  CP_NO_UNROLL
  for (int column = 0; column < last; ++column) {
    uint32_t x[4], w[height][4];
    rowsOf64.loadB(x, stage.x[own()], column * band, channels());
    CP_UNROLL
    for (int row = 0; row < height; ++row)
      rowsOf64.loadA(w[row], memory.made[own()], (top + row) * band,
                     column * band);
    CP_UNROLL
    for (int row = 0; row < height; ++row) {
      multiply(y[row][0], w[row], x[0], x[1]);
      multiply(y[row][1], w[row], x[2], x[3]);
    }
  }
}

template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::formOutputs(const Stage &stage,
                                                   const TilePiece &piece) {
  bool isWhole =
      kernel.fastY && piece.count == tokens && width == Kernel::width;
  CP_NO_UNROLL
  for (int top = 0; top < tokens / band; top += height) {
    if (top * band >= piece.count)
      break;
    float y[height][2][4] = {};
    formRows(stage, top, piece.count, y);
    check += isWhole ? storeRows<true>(stage, piece.count, top, y)
                     : storeRows<false>(stage, piece.count, top, y);
  }
}

/// Two channels of a token, where they are there. Returns 0 times each.
template <typename Kernel>
template <bool Whole>
CP_DEVICE float SsdTilesThread<Kernel>::storePair(BFloat16 *to, float first,
                                                  float second, int channel,
                                                  bool isToken) const {
  if (Whole) {
    *reinterpret_cast<uint32_t *>(to) = packed(first, second);
    return 0 * first + 0 * second;
  }
  float check = 0;
  if (isToken)
    for (int i = 0; i < 2; ++i)
      if (channel + i < width) {
        check += 0 * (i ? second : first);
        to[i * work.y.strides[3]] = narrowed<BFloat16>(i ? second : first);
      }
  return check;
}

/// Of whole tiles no row or channel is missing, and y is stored in pairs.
template <typename Kernel>
template <bool Whole>
CP_DEVICE float
SsdTilesThread<Kernel>::storeRows(const Stage &stage, int count, int top,
                                  const float (&y)[height][2][4]) const {
  float check = 0;
  CP_UNROLL
  for (int k = 0; k < 2; ++k) {
    int channel = channels() + k * 8 + r();
    const float *skip = &memory.skips[own()][channel];
    float skips[2] = {sharedLoad(skip), sharedLoad(skip + 1)};
    BFloat16 *to =
        nextY + top * band * work.y.strides[1] + k * 8 * work.y.strides[3];
    uint32_t x[2 * height];
    CP_UNROLL
    for (int row = 0; row < 2 * height; ++row)
      x[row] =
          pairs.load(stage.x[own()], top * band + row * 8, channels() + k * 8);
    CP_UNROLL
    for (int row = 0; row < 2 * height; ++row) {
      const float *of = &y[row / 2][k][row % 2 * 2];
      float first = of[0] + skips[0] * lowOf(x[row]);
      float second = of[1] + skips[1] * highOf(x[row]);
      check += storePair<Whole>(to, first, second, channel,
                                top * band + q() + row * 8 < count);
      to += 8 * work.y.strides[1];
    }
  }
  return check;
}

/// What is left of the state behind a tile; returns the logarithm of how much.
template <typename Kernel>
CP_DEVICE float SsdTilesThread<Kernel>::fadeState(const Steps &steps,
                                                  int count) {
  float last = sharedLoad(&steps.sums[count - 1]);
  float whole = exp2Fast(last);
  CP_UNROLL
  for (int j = 0; j < Kernel::columnTiles; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    state[j][k] *= whole;
  return last;
}

/// Of 16 tokens x^T, as a, times what is left of each at the tile's end.
template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::weighInputs(const Steps &steps,
                                                   float last, int row,
                                                   uint32_t (&x)[4]) const {
  CP_UNROLL
  for (int j = 0; j < 2; ++j) {
    const float *inputs = &steps.inputs[row + r() + j * 8];
    float first = exp2Fast(last + sharedLoad(inputs));
    float second = exp2Fast(last + sharedLoad(inputs + 1));
    CP_UNROLL
    for (int k = 2 * j; k < 2 * j + 2; ++k)
      x[k] = packed(lowOf(x[k]) * first, highOf(x[k]) * second);
  }
}

template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::update(const Stage &stage, int count) {
  const Steps &steps = stage.steps[own()];
  float last = fadeState(steps, count);
  CP_NO_UNROLL
  for (int row = 0; row < count; row += band) {
    uint32_t x[4], b[2][4];
    // Of so many states nothing is left for places.
    const Fragments<TileOfN> rows = N > 128 ? rowsOfN.again() : rowsOfN;
    rowsOf64.loadATransposed(x, stage.x[own()], row, channels());
    rows.loadB(b[0], stage.B, row, 0);
    weighInputs(steps, last, row, x);
    CP_UNROLL
    for (int column = 0; column < Kernel::columnPairs; ++column) {
      if (column + 1 < Kernel::columnPairs)
        rows.loadB(b[(column + 1) % 2], stage.B, row, (column + 1) * band);
      multiply(state[2 * column], x, b[column % 2][0], b[column % 2][1]);
      multiply(state[2 * column + 1], x, b[column % 2][2], b[column % 2][3]);
    }
  }
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDTILESPRODUCTS_H
