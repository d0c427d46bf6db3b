//===- fast/Portable.cpp - Fast kernels for any processor -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fast/Entries.h"

namespace {
struct Portable {
  static constexpr int bytes = 16;
  static constexpr int rows = 4;
  static constexpr bool streams = false;
  static constexpr bool fuses = false;
  template <typename Vector> static Vector inverse(Vector value) {
    return 1 / value;
  }
};
} // namespace

namespace cp::kernels::fast {
const Table &portableTable() { return Entries<Portable>::table; }
} // namespace cp::kernels::fast
