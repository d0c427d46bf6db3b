//===- fast/Avx2.cpp - Fast kernels for x86-64-v3 -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fast/Entries.h"

namespace {
struct Avx2 {
  static constexpr int bytes = 32;
  static constexpr int rows = 4;
};
} // namespace

namespace cp::kernels::fast {
const Table &avx2Table() { return Entries<Avx2>::table; }
} // namespace cp::kernels::fast
