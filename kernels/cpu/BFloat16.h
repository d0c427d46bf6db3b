//===- BFloat16.h - The upper half of a float -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_BFLOAT16_H
#define CP_KERNELS_CPU_BFLOAT16_H

#include <cstdint>
#include <cstring>

namespace cp::kernels {

/// Storage only: one sign bit, eight bits of exponent and seven of mantissa, as
/// in the upper half of an IEEE float. It widens by itself, so arithmetic runs
/// in float, and narrows only where that is written out: to the nearest value,
/// of two to the even one; what is beyond the range becomes infinite, and NaN
/// stays NaN with its sign.
///
/// Always inlined: see View.
struct BFloat16 {
  uint16_t bits;

  BFloat16() = default;
  [[gnu::always_inline]] explicit BFloat16(float value) : bits(narrow(value)) {}
  [[gnu::always_inline]] operator float() const {
    uint32_t wide = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }

private:
  [[gnu::always_inline]] static uint16_t narrow(float value) {
    uint32_t wide;
    std::memcpy(&wide, &value, sizeof wide);
    // Just under half a unit, and the last bit kept decides the tie. A NaN gets
    // its quiet bit: the payload may be all in the half that goes.
    uint32_t rounded = (wide + 0x7fff + (wide >> 16 & 1)) >> 16;
    bool isNaN = (wide & 0x7fffffff) > 0x7f800000;
    return uint16_t(isNaN ? wide >> 16 | 0x40 : rounded);
  }
};

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_BFLOAT16_H
