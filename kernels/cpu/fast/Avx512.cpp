//===- fast/Avx512.cpp - Fast kernels for x86-64-v4 -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fast/Entries.h"

namespace {
struct Avx512 {
  static constexpr int bytes = 64;
  static constexpr int rows = 8;
};
} // namespace

namespace cp::kernels::fast {
const Table &avx512Table() { return Entries<Avx512>::table; }
} // namespace cp::kernels::fast
