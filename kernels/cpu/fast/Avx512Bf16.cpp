//===- fast/Avx512Bf16.cpp - Products of bf16 by instruction --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fast/Matmul.h"
#include "fast/Table.h"

#include <cstring>
#include <immintrin.h>

using namespace cp::kernels;

namespace {
struct Avx512Bf16 {
  static constexpr int bytes = 64;
  static constexpr int rows = 8;

  /// sum + a.even * b.even + a.odd * b.odd in each lane, each step rounded to
  /// f32; what is too small to be normal counts as 0.
  static __m512 dot(__m512 sum, const Pair &a, __m512 b) {
    int word;
    std::memcpy(&word, &a, sizeof word);
    return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_epi32(word),
                            (__m512bh)b);
  }
};

/// The table for AVX-512 with another matmul.
struct Entries {
  fast::Table table;

  Entries() {
    std::memcpy(table, fast::avx512Table(), sizeof table);
    for (KernelEntry &entry : table)
      if (entry.dtype == DType::BF16 && std::strcmp(entry.op, "matmul") == 0)
        entry.fn = fast::Matmul<Avx512Bf16, BFloat16, Pair>::run;
  }
};
} // namespace

const fast::Table &fast::avx512Bf16Table() {
  static const Entries entries;
  return entries.table;
}
