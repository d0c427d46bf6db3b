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

/// Whether rows of a view can be read 16 bytes at a time.
template <typename T, int Rank>
bool isVectorised(const View<T, Rank> &view, int64_t width) {
  constexpr int64_t step = vectorWidth<T>;
  bool fits = reinterpret_cast<uintptr_t>(view.data) % 16 == 0 &&
              width % step == 0 && view.strides[Rank - 1] == 1;
  for (int i = 0; i + 1 < Rank; ++i)
    fits = fits && view.strides[i] % step == 0;
  return fits;
}

/// Whether rows of bf16 can be stored two at a time, so that both are there or
/// neither is.
inline bool isPaired(const View<BFloat16, 4> &view, int64_t width) {
  const int64_t *strides = view.strides;
  return reinterpret_cast<uintptr_t>(view.data) % 4 == 0 && strides[3] == 1 &&
         (strides[0] | strides[1] | strides[2] | width) % 2 == 0;
}

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

/// `count` numbers of a vector of parameters, as many as fill 16 bytes; 16
/// bytes at a time where `isFast`.
template <typename T, int Width>
CP_DEVICE void loadParameters(const View<const T, 1> &from, int64_t first,
                              bool isFast, float (&to)[Width]) {
  if (isFast) {
    widen(*reinterpret_cast<const uint4 *>(from.data + first), to);
    return;
  }
  CP_UNROLL
  for (int i = 0; i < Width; ++i)
    to[i] = widened(*at(from, first + i));
}

/// x * sigmoid(x), to a few units in the last place. The exponent is never
/// positive, so nothing overflows.
template <typename Acc> CP_DEVICE Acc siluOf(Acc x) {
  Acc e = exponential(x < 0 ? x : -x);
  return (x >= 0 ? x : x * e) / (1 + e);
}
/// The derivative of siluOf. Where x is large, 1 - sigmoid would lose what is
/// small beside 1; below, what rounding has added to sigmoid it takes away
/// again. 0 times infinity is 0 here.
template <typename Acc> CP_DEVICE Acc siluSlopeOf(Acc x) {
  Acc e = exponential(x < 0 ? x : -x),
      sigmoid = (x >= 0 ? Acc(1) : e) / (1 + e);
  Acc other = x > Acc(2.5) ? e * sigmoid : 1 - sigmoid;
  return e > 0 ? sigmoid + x * sigmoid * other : sigmoid;
}
/// siluOf for what is rounded to T.
template <typename T> CP_DEVICE float siluFor(float x) {
  if constexpr (sizeof(T) == sizeof(float))
    return siluOf(x);
  // Where the exponential is infinite this is -0, which is nearer than bf16 is.
  return x * reciprocalFast(1 + exp2Fast(x * -1.4426950408889634f));
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_VECTORS_H
