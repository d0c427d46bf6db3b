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

/// A window of four rows, 16 bytes of channels and eight rows a thread, whose
/// window slides in registers.
template <typename T> struct Conv1dVectors {
  static constexpr int threads = 256, blocks = 2;
  static constexpr int width = vectorWidth<T>, window = 4, rows = 8;
  static constexpr int blockRows = rows * threads / warpSize;
  using Shared = Nothing;

  Conv1dArgs<T> args;

  CP_DEVICE void operator()() const {
    int64_t c = (int64_t(blockY()) * warpSize + lane()) * width;
    int64_t first = int64_t(blockX()) * blockRows + warp() * rows;
    int64_t b = blockZ();
    if (c >= args.c || first >= args.l)
      return;
    uint4 read[window - 1 + rows];
    CP_UNROLL
    for (int i = 0; i < window - 1 + rows; ++i)
      read[i] = load(b, first + i - (window - 1), c);
    float weight[width][window], bias[width];
    CP_UNROLL
    for (int i = 0; i < width; ++i) {
      CP_UNROLL
      for (int k = 0; k < window; ++k)
        weight[i][k] = widened(*at(args.weight, c + i, k));
      bias[i] = args.bias.data ? widened(*at(args.bias, c + i)) : 0;
    }
    CP_UNROLL
    for (int i = 0; i < rows; ++i) {
      int64_t t = first + i;
      if (t >= args.l)
        return;
      float sum[width];
      CP_UNROLL
      for (int j = 0; j < width; ++j)
        sum[j] = bias[j];
      int64_t before = rowsBefore(args, b, t);
      CP_UNROLL
      for (int k = 0; k < window; ++k) {
        float x[width];
        // Of another sequence not even 0 times a NaN is read.
        widen(window - 1 - k <= before ? read[i + k] : zeros(), x);
        CP_UNROLL
        for (int j = 0; j < width; ++j)
          sum[j] += weight[j][k] * x[j];
      }
      CP_UNROLL
      for (int j = 0; j < width; ++j)
        sum[j] = before < 0 ? 0 : args.silu ? siluOf(sum[j]) : sum[j];
      *reinterpret_cast<uint4 *>(at(args.y, b, t, c)) = narrow(sum);
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
