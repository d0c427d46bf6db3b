//===- fast/Pair.h - Two neighbours along k in one word ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_PAIR_H
#define CP_KERNELS_CPU_FAST_PAIR_H

#include "Elements.h"

namespace cp::kernels {

/// What instructions that multiply bf16 take in each 32-bit lane. Where k lies
/// without gaps in memory, two elements already are a pair.
struct Pair {
  BFloat16 even, odd;

  Pair() = default;
  [[gnu::always_inline]] explicit Pair(int value)
      : even(float(value)), odd(float(value)) {}
};
template <> struct Element<Pair> {
  using Accumulator = float;
};

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_FAST_PAIR_H
