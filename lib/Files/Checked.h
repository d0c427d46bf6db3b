//===- Checked.h - Integers that remember an overflow -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FILES_CHECKED_H
#define CP_FILES_CHECKED_H

#include <cstdint>
#include <optional>

namespace cp {

/// An int64_t whose sums and products know whether they ever left its range.
class Checked {
public:
  Checked(int64_t value) : value(value) {}

  friend Checked operator+(Checked a, Checked b) {
    Checked out(0);
    out.overflowed = __builtin_add_overflow(a.value, b.value, &out.value) ||
                     a.overflowed || b.overflowed;
    return out;
  }
  friend Checked operator*(Checked a, Checked b) {
    Checked out(0);
    out.overflowed = __builtin_mul_overflow(a.value, b.value, &out.value) ||
                     a.overflowed || b.overflowed;
    return out;
  }

  /// The value, or nothing after an overflow.
  std::optional<int64_t> get() const {
    return overflowed ? std::nullopt : std::optional<int64_t>(value);
  }

private:
  int64_t value;
  bool overflowed = false;
};

} // namespace cp

#endif // CP_FILES_CHECKED_H
