//===- Conv1d.h - Causal depthwise convolution ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_CONV1D_H
#define CP_KERNELS_CUDA_CONV1D_H

#include "Launch.h"
#include "OpArguments.h"
#include "Vectors.h"

namespace cp::kernels::cuda {

/// How many rows in front of row t it reads, of its sequence; -1 where there is
/// no token.
template <typename T>
CP_DEVICE int64_t rowsBefore(const Conv1dArgs<T> &args, int64_t b, int64_t t) {
  return args.places.data ? *at(args.places, b, t) : args.w;
}

/// A window of four rows, 16 bytes of channels and 32 rows a thread, whose
/// window slides in registers; rows are loaded four ahead of their use.
template <typename T> struct Conv1dVectors {
  static constexpr int threads = 256, blocks = 2;
  static constexpr int width = vectorWidth<T>, window = 4, rows = 32, ahead = 4;
  static constexpr int blockRows = rows * threads / warpSize;
  using Shared = Nothing;

  Conv1dArgs<T> args;
  /// Whether weight and bias can be read 16 bytes at a time.
  bool fastWeight, fastBias;

  CP_DEVICE void operator()() const {
    int64_t c = (int64_t(blockY()) * warpSize + lane()) * width;
    int64_t first = int64_t(blockX()) * blockRows + warp() * rows;
    int64_t b = blockZ();
    if (c >= args.c || first >= args.l)
      return;
    float weight[window][width], bias[width] = {};
    loadWeight(c, weight);
    if (args.bias.data)
      loadParameters(args.bias, c, fastBias, bias);
    // The three rows in front, and those that are on their way.
    float behind[window - 1][width];
    CP_UNROLL
    for (int i = 0; i < window - 1; ++i)
      widen(load(b, first + i - (window - 1), c), behind[i]);
    uint4 next[ahead];
    CP_UNROLL
    for (int i = 0; i < ahead; ++i)
      next[i] = load(b, first + i, c);
    CP_NO_UNROLL
    for (int64_t t = first; t < least(first + rows, args.l); t += ahead) {
      float now[window - 1 + ahead][width];
      CP_UNROLL
      for (int j = 0; j < width; ++j)
        CP_UNROLL
      for (int i = 0; i < window - 1; ++i)
        now[i][j] = behind[i][j];
      CP_UNROLL
      for (int i = 0; i < ahead; ++i) {
        widen(next[i], now[window - 1 + i]);
        bool isMine = t + ahead < first + rows;
        next[i] = isMine ? load(b, t + ahead + i, c) : zeros();
      }
      CP_UNROLL
      for (int i = 0; i < ahead; ++i)
        if (t + i < args.l)
          store(b, t + i, c, i, now, weight, bias);
      CP_UNROLL
      for (int j = 0; j < width; ++j)
        CP_UNROLL
      for (int i = 0; i < window - 1; ++i)
        behind[i][j] = now[ahead + i][j];
    }
  }

private:
  CP_DEVICE uint4 load(int64_t b, int64_t t, int64_t c) const {
    if (t >= args.l || (t < 0 && !args.initial.data))
      return zeros();
    const T *from = t < 0 ? at(args.initial, b, t + window - 1, c)
                          : at(args.x, b, t, c);
    return *reinterpret_cast<const uint4 *>(from);
  }

  CP_DEVICE void loadWeight(int64_t c, float (&weight)[window][width]) const {
    if (fastWeight) {
      const T *from = args.weight.data + c * window;
      CP_UNROLL
      for (int i = 0; i < window; ++i) {
        float some[width];
        widen(reinterpret_cast<const uint4 *>(from)[i], some);
        CP_UNROLL
        for (int j = 0; j < width; ++j)
          weight[j % window][(i * width + j) / window] = some[j];
      }
      return;
    }
    CP_UNROLL
    for (int i = 0; i < width; ++i)
      CP_UNROLL
    for (int k = 0; k < window; ++k)
      weight[k][i] = widened(*at(args.weight, c + i, k));
  }

  /// Row t, whose window starts with rows[first].
  CP_DEVICE void store(int64_t b, int64_t t, int64_t c, int first,
                       const float (&rows)[window - 1 + ahead][width],
                       const float (&weight)[window][width],
                       const float (&bias)[width]) const {
    float sum[width];
    CP_UNROLL
    for (int j = 0; j < width; ++j)
      sum[j] = bias[j];
    int64_t before = rowsBefore(args, b, t);
    CP_UNROLL
    for (int k = 0; k < window; ++k)
      // Of another sequence not even 0 times a NaN is added.
      if (window - 1 - k <= before)
        CP_UNROLL
    for (int j = 0; j < width; ++j)
      sum[j] += weight[k][j] * rows[first + k][j];
    CP_UNROLL
    for (int j = 0; j < width; ++j)
      sum[j] = before < 0 ? 0 : args.silu ? siluOf(sum[j]) : sum[j];
    storeOnce(reinterpret_cast<uint4 *>(at(args.y, b, t, c)), narrow(sum));
  }
};

/// Any window and any strides, an element a thread.
template <typename T> struct Conv1dPlain {
  static constexpr int threads = 256, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  Conv1dArgs<T> args;

  CP_DEVICE void operator()() const {
    int64_t element = int64_t(blockX()) * threads + thread(), b = blockZ();
    if (element >= args.l * args.c)
      return;
    int64_t t = element / args.c, c = element % args.c;
    int64_t before = rowsBefore(args, b, t);
    if (before < 0) {
      *at(args.y, b, t, c) = narrowed<T>(0);
      return;
    }
    Acc sum = args.bias.data ? Acc(widened(*at(args.bias, c))) : Acc(0);
    for (int64_t k = 0; k < args.w; ++k) {
      int64_t back = args.w - 1 - k;
      Acc x = back <= before ? rowAt(b, t - back, c) : Acc(0);
      sum += Acc(widened(*at(args.weight, c, k))) * x;
    }
    *at(args.y, b, t, c) = narrowed<T>(args.silu ? siluOf(sum) : sum);
  }

private:
  CP_DEVICE Acc rowAt(int64_t b, int64_t t, int64_t c) const {
    if (t >= 0)
      return widened(*at(args.x, b, t, c));
    return args.initial.data
               ? Acc(widened(*at(args.initial, b, t + args.w - 1, c)))
               : Acc(0);
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_CONV1D_H
