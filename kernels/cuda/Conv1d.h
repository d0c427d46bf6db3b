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

#include <type_traits>

namespace cp::kernels::cuda {

/// How many rows in front of row t it reads, of its sequence; -1 where there is
/// no token.
template <typename T>
CP_DEVICE int64_t rowsBefore(const Conv1dArgs<T> &args, int64_t b, int64_t t) {
  return args.places.data ? *at(args.places, b, t) : args.w;
}

/// A window of four rows, 16 bytes of channels and 32 rows a thread, whose
/// window slides in registers; rows are loaded four ahead of their use.
template <typename T, bool Silu, bool Places> struct Conv1dVectors {
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
    float bias[width] = {};
    Weight weight[window];
    loadWeight(c, weight);
    if (args.bias.data)
      loadParameters(args.bias, c, fastBias, bias);
    // The rows in front, and those that are on their way.
    float now[window - 1 + ahead][width];
    CP_UNROLL
    for (int i = 0; i < window - 1; ++i)
      widen(loadInFront(b, first + i - (window - 1), c), now[ahead + i]);
    const T *from = at(args.x, b, first, c);
    T *to = at(args.y, b, first, c);
    int left = int(least(rows, args.l - first));
    uint4 next[ahead];
    load(from, left, next);
    CP_NO_UNROLL
    for (int t = 0; t < left; t += ahead) {
      CP_UNROLL
      for (int i = 0; i < window - 1; ++i)
        CP_UNROLL
      for (int j = 0; j < width; ++j)
        now[i][j] = now[ahead + i][j];
      CP_UNROLL
      for (int i = 0; i < ahead; ++i)
        widen(next[i], now[window - 1 + i]);
      from += ahead * args.x.strides[1];
      load(from, left - t - ahead, next);
      CP_UNROLL
      for (int i = 0; i < ahead; ++i) {
        if (t + i < left)
          store(to, Places ? *at(args.places, b, first + t + i) : window, i,
                now, weight, bias);
        to += args.y.strides[1];
      }
    }
  }

private:
  /// A row of the weight: with places, which take registers, as it is stored.
  using Weight = std::conditional_t<Places, uint4, float[width]>;

  CP_DEVICE static void keep(const float (&from)[width], uint4 &to) {
    to = narrow(from);
  }
  CP_DEVICE static void keep(const float (&from)[width], float (&to)[width]) {
    CP_UNROLL
    for (int i = 0; i < width; ++i)
      to[i] = from[i];
  }
  CP_DEVICE static void recall(const uint4 &from, float (&to)[width]) {
    widen(again(from), to);
  }
  CP_DEVICE static void recall(const float (&from)[width], float (&to)[width]) {
    keep(from, to);
  }

  CP_DEVICE uint4 loadInFront(int64_t b, int64_t t, int64_t c) const {
    if (t < 0 && !args.initial.data)
      return zeros();
    return *reinterpret_cast<const uint4 *>(
        t < 0 ? at(args.initial, b, t + window - 1, c) : at(args.x, b, t, c));
  }

  /// The next rows of which `left` are there.
  CP_DEVICE void load(const T *from, int left, uint4 (&next)[ahead]) const {
    CP_UNROLL
    for (int i = 0; i < ahead; ++i) {
      next[i] = i < left ? *reinterpret_cast<const uint4 *>(from) : zeros();
      from += args.x.strides[1];
    }
  }

  CP_DEVICE void loadWeight(int64_t c, Weight (&to)[window]) const {
    float weight[window][width];
    loadWide(c, weight);
    CP_UNROLL
    for (int k = 0; k < window; ++k)
      keep(weight[k], to[k]);
  }
  CP_DEVICE void loadWide(int64_t c, float (&weight)[window][width]) const {
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

  /// A row whose window starts with rows[first], and which may look at `before`
  /// of them in front of itself.
  CP_DEVICE static void store(T *to, int64_t before, int first,
                              const float (&rows)[window - 1 + ahead][width],
                              const Weight (&weights)[window],
                              const float (&bias)[width]) {
    float sum[width];
    CP_UNROLL
    for (int j = 0; j < width; ++j)
      sum[j] = bias[j];
    CP_UNROLL
    for (int k = 0; k < window; ++k) {
      // Of another sequence not even 0 times a NaN is added.
      if (Places && window - 1 - k > before)
        continue;
      float weight[width];
      recall(weights[k], weight);
      CP_UNROLL
      for (int j = 0; j < width; ++j)
        sum[j] += weight[j] * rows[first + k][j];
    }
    CP_UNROLL
    for (int j = 0; j < width; ++j) {
      if (Silu)
        sum[j] = siluFor<T>(sum[j]);
      if (Places && before < 0)
        sum[j] = 0;
    }
    storeOnce(reinterpret_cast<uint4 *>(to), narrow(sum));
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
