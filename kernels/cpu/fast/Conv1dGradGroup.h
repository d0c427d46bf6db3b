//===- fast/Conv1dGradGroup.h - Tokens of an adjoint together ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_CONV1DGRADGROUP_H
#define CP_KERNELS_CPU_FAST_CONV1DGRADGROUP_H

#include "fast/VecMath.h"

namespace cp::kernels::fast {

/// Tokens that follow each other and read all of their window of `Width` rows:
/// what they pass to rows and weights is summed in registers. Row Width - 1 + i
/// is that of token i.
template <typename Isa, typename T, int Width> struct Conv1dGradGroup {
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using Type = typename V::Type;
  static constexpr int together = V::together;
  static constexpr int numRows = Width - 1 + together;

  const T *rows[numRows], *dy[together];
  /// What is fetched meanwhile: the same of the group behind.
  const T *nextRows[together], *nextDy[together];
  /// The cotangents of the first Width - 1 rows so far; those of the last ones,
  /// to which the group behind adds; and where those of the others go.
  const Acc *before[Width - 1];
  Acc *pending[Width - 1];
  T *to[together];
  /// [Width][ld] for the weights, and a row for the bias.
  Acc *sums;
  const Acc *weights, *bias;
  int64_t ld;
  bool silu;

  /// The channels [begin, end); results that are streamed go past the caches.
  void run(int64_t begin, int64_t end, bool isStreamed) const {
    int64_t c = isStreamed ? wholeVectors<true>(begin, end)
                           : wholeVectors<false>(begin, end);
    if (int64_t left = end - c; left > 0)
      vector(
          c, [left](const T *from) { return V::loadPart(from, left); },
          [left](T *to, Type value) { V::storePart(to, value, left); });
  }

private:
  /// Returns the first channel that is left.
  template <bool Streamed>
  int64_t wholeVectors(int64_t begin, int64_t end) const {
    int64_t c = begin;
    for (; c + V::lanes <= end; c += V::lanes)
      vector(
          c, [](const T *from) { return V::load(from); },
          [](T *to, Type value) { V::template put<Streamed>(to, value); });
    return c;
  }

  /// One vector of channels of a group.
  template <typename Load, typename Store>
  [[gnu::always_inline]] void vector(int64_t c, Load load, Store store) const {
    Type inputs[numRows], factors[Width], ds[together], results[numRows];
    V::template each<numRows>([&](int i) __attribute__((always_inline)) {
      inputs[i] = load(rows[i] + c);
    });
    V::template each<Width>([&](int k) __attribute__((always_inline)) {
      factors[k] = V::load(weights + k * ld + c);
    });
    V::template each<together>([&](int i) __attribute__((always_inline)) {
      __builtin_prefetch(nextRows[i] + c);
      __builtin_prefetch(nextDy[i] + c);
      ds[i] = load(dy[i] + c);
    });
    if (silu) {
      Type slopes[together], values[together];
      V::template each<together>([&](int i) __attribute__((always_inline)) {
        slopes[i] = V::load(bias + c);
        V::template each<Width>([&](int k) __attribute__((always_inline)) {
          slopes[i] += factors[k] * inputs[i + k];
        });
      });
      VecMath<Isa, Acc>::siluSlope(slopes, values);
      V::template each<together>(
          [&](int i) __attribute__((always_inline)) { ds[i] *= slopes[i]; });
    }
    V::template each<numRows>([&](int i) __attribute__((always_inline)) {
      results[i] =
          i < Width - 1 ? V::load(before[i % (Width - 1)] + c) : Type{};
    });
    V::template each<together>([&](int i) __attribute__((always_inline)) {
      V::template each<Width>([&](int k) __attribute__((always_inline)) {
        results[i + k] += factors[k] * ds[i];
      });
    });
    V::template each<together>([&](int i) __attribute__((always_inline)) {
      store(to[i] + c, results[i]);
    });
    V::template each<Width - 1>([&](int i) __attribute__((always_inline)) {
      V::store(pending[i] + c, results[together + i]);
    });
    V::template each<Width + 1>([&](int k) __attribute__((always_inline)) {
      Type sum = V::load(sums + k * ld + c);
      V::template each<together>([&](int i) __attribute__((always_inline)) {
        sum += k < Width ? inputs[(i + k) % numRows] * ds[i] : ds[i];
      });
      V::store(sums + k * ld + c, sum);
    });
  }
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_CONV1DGRADGROUP_H
