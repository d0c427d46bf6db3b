//===- fast/Avx2.cpp - Fast kernels for x86-64-v3 -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fast/Entries.h"

#include <immintrin.h>

namespace {
struct Avx2 {
  static constexpr int bytes = 32;
  static constexpr int rows = 4;
  static constexpr bool streams = true;
  static constexpr bool fuses = true;

  template <typename Vector> static void stream(void *to, Vector value) {
    if constexpr (sizeof value == bytes)
      _mm256_stream_si256(static_cast<__m256i *>(to), (__m256i)value);
    else
      _mm_stream_si128(static_cast<__m128i *>(to), (__m128i)value);
  }
  static void finishStreams() { _mm_sfence(); }
  template <typename Vector> static Vector inverse(Vector value) {
    return 1 / value;
  }
};
} // namespace

namespace cp::kernels::fast {
const Table &avx2Table() { return Entries<Avx2>::table; }
} // namespace cp::kernels::fast
