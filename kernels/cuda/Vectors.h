//===- Vectors.h - 16 bytes of a row at a time ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_VECTORS_H
#define CP_KERNELS_CUDA_VECTORS_H

#include "Device.h"

namespace cp::kernels::cuda {

/// As many elements as fill 16 bytes.
template <typename T> constexpr int vectorWidth = 16 / int(sizeof(T));

/// The numbers of what was loaded as one.
CP_DEVICE void widen(const uint4 &from, float (&to)[8]) {
  const uint32_t pairs[] = {from.x, from.y, from.z, from.w};
  CP_UNROLL
  for (int i = 0; i < 4; ++i) {
    to[2 * i] = lowOf(pairs[i]);
    to[2 * i + 1] = highOf(pairs[i]);
  }
}
CP_DEVICE void widen(const uint4 &from, float (&to)[4]) {
  to[0] = floatOf(from.x);
  to[1] = floatOf(from.y);
  to[2] = floatOf(from.z);
  to[3] = floatOf(from.w);
}
CP_DEVICE uint4 narrow(const float (&from)[8]) {
  uint4 to;
  to.x = packed(from[0], from[1]);
  to.y = packed(from[2], from[3]);
  to.z = packed(from[4], from[5]);
  to.w = packed(from[6], from[7]);
  return to;
}
CP_DEVICE uint4 narrow(const float (&from)[4]) {
  uint4 to;
  to.x = bitsOf(from[0]);
  to.y = bitsOf(from[1]);
  to.z = bitsOf(from[2]);
  to.w = bitsOf(from[3]);
  return to;
}
CP_DEVICE uint4 zeros() {
  uint4 none;
  none.x = none.y = none.z = none.w = 0;
  return none;
}

/// x * sigmoid(x). The exponent is never positive, so nothing overflows.
CP_DEVICE float siluOf(float x) {
  float e = exp2Fast((x < 0 ? x : -x) * 1.4426950408889634f);
  return divideFast(x >= 0 ? x : x * e, 1 + e);
}
CP_DEVICE double siluOf(double x) {
  double e = exp(x < 0 ? x : -x);
  return (x >= 0 ? x : x * e) / (1 + e);
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_VECTORS_H
