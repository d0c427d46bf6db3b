//===- Saturating.h - Sizes that may be too large ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LAYOUT_SATURATING_H
#define CP_LAYOUT_SATURATING_H

#include <cstdint>
#include <limits>

namespace cp {

/// For numbers of at least 0: the largest int64_t where the result does not
/// fit.
inline int64_t addSaturating(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum)
             ? std::numeric_limits<int64_t>::max()
             : sum;
}
inline int64_t multiplySaturating(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product)
             ? std::numeric_limits<int64_t>::max()
             : product;
}

} // namespace cp

#endif // CP_LAYOUT_SATURATING_H
