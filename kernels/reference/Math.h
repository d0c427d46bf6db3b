//===- reference/Math.h - Scalar functions of the plain kernels -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_REFERENCE_MATH_H
#define CP_KERNELS_REFERENCE_MATH_H

#include <cmath>

namespace cp::kernels::reference {

/// x * sigmoid(x). The exponent is never positive, so nothing overflows.
template <typename T> T silu(T x) {
  T e = std::exp(-std::fabs(x));
  return x >= T(0) ? x / (T(1) + e) : x * e / (T(1) + e);
}

/// The derivative of silu.
template <typename T> T siluSlope(T x) {
  T e = std::exp(-std::fabs(x));
  T sigmoid = (x >= T(0) ? T(1) : e) / (T(1) + e);
  // Without 1 - sigmoid, which loses what is small beside 1; 0 times infinity
  // is 0 here.
  return e > T(0) ? sigmoid + x * (e / ((T(1) + e) * (T(1) + e))) : sigmoid;
}

/// log(1 + exp(x)) without overflow, and without losing exp(x) beside 1.
template <typename T> T softplus(T x) {
  T tail = std::log1p(std::exp(-std::fabs(x)));
  return x > T(0) ? x + tail : tail;
}

} // namespace cp::kernels::reference

#endif // CP_KERNELS_REFERENCE_MATH_H
