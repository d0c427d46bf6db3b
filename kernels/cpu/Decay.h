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

/// The decay of tokens among which a sequence starts: -0. Nothing of a state
/// passes it, be it infinite or NaN. One that is 0 by rounding is a factor as
/// any other, so that parts of a sequence have a NaN wherever the whole has
/// one.
template <typename T> constexpr T startDecay = -T(0);

template <typename T> [[gnu::always_inline]] inline bool isStart(T decay) {
  return decay == T(0) && std::signbit(decay);
}

/// What a decay leaves of a state, and a summand.
template <typename T>
[[gnu::always_inline]] inline T decayed(T decay, T state, T summand) {
  return isStart(decay) ? summand : decay * state + summand;
}

/// The decay of tokens that follow each other.
template <typename T>
[[gnu::always_inline]] inline T joinedDecay(T left, T right) {
  return isStart(left) || isStart(right) ? startDecay<T> : left * right;
}

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_DECAY_H
