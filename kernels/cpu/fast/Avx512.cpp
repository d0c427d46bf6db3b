//===- fast/Avx512.cpp - Fast kernels for x86-64-v4 -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fast/Entries.h"

#include <immintrin.h>

namespace {
struct Avx512 {
  static constexpr int bytes = 64;
  static constexpr int rows = 8;
  static constexpr bool streams = true;
  static constexpr bool fuses = true;

  template <typename Vector> static void stream(void *to, Vector value) {
    if constexpr (sizeof value == bytes)
      _mm512_stream_si512(static_cast<__m512i *>(to), (__m512i)value);
    else
      _mm256_stream_si256(static_cast<__m256i *>(to), (__m256i)value);
  }
  static void finishStreams() { _mm_sfence(); }
  /// A quotient takes as long as ten products: a step of Newton's method from
  /// 14 bits has all those of a float.
  template <typename Vector> static Vector inverse(Vector value) {
    if constexpr (sizeof value[0] != sizeof(float))
      return 1 / value;
    else {
      auto near = (Vector)_mm512_rcp14_ps((__m512)value);
      return near + near * (1 - value * near);
    }
  }
};
} // namespace

namespace cp::kernels::fast {
const Table &avx512Table() { return Entries<Avx512>::table; }
} // namespace cp::kernels::fast
