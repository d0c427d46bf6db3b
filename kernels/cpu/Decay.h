//===- Decay.h - The rate at which a head's state fades ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_DECAY_H
#define CP_KERNELS_CPU_DECAY_H

#include <cmath>
#include <limits>

namespace cp::kernels {

/// -exp(A_log), the log decay of a step of size 1. In double whatever the type
/// of the tensors is: exp(90) is more than any float, and sums of log decays
/// are exponentiated. Never infinite, so that a step of 0 fades nothing; NaN
/// for NaN.
[[gnu::always_inline]] static inline double decayRate(double aLog) {
  constexpr double most = std::numeric_limits<double>::max();
  double rate = std::exp(aLog);
  return rate > most ? -most : -rate;
}

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_DECAY_H
