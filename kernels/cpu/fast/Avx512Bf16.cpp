//===- fast/Avx512Bf16.cpp - Products of bf16 by instruction --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fast/PairedEntries.h"

#include <cstring>
#include <immintrin.h>

using namespace cp::kernels;

namespace {
struct Avx512Bf16 {
  static constexpr int bytes = 64;
  static constexpr int rows = 8;

  /// What is too small to be normal counts as 0.
  static __m512 dot(__m512 sum, const Pair &a, __m512 b) {
    int word;
    std::memcpy(&word, &a, sizeof word);
    return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_epi32(word),
                            (__m512bh)b);
  }
  static constexpr bool streams = true;
  template <typename Vector> static void stream(void *to, Vector value) {
    _mm512_stream_si512(static_cast<__m512i *>(to), (__m512i)value);
  }
  static void finishStreams() { _mm_sfence(); }
  static __m512i narrow(__m512 first, __m512 second) {
    return (__m512i)_mm512_cvtne2ps_pbh(second, first);
  }
  static __m512 pair(__m512 even, __m512 odd) {
    const __m512i order = _mm512_set_epi16(
        31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22,
        6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return (__m512)_mm512_permutexvar_epi16(
        order, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
  }
};
} // namespace

const fast::Table &fast::avx512Bf16Table() {
  static const fast::PairedEntries<Avx512Bf16> entries(fast::avx512Table());
  return entries.table;
}
