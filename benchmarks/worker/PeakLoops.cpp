//===- PeakLoops.cpp - What a processor does at most ----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PeakLoops.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cp::bench {
namespace {

/// Enough for four cycles of latency and two units, with room to spare.
constexpr int chains = 12;
/// Multiply-adds of each chain in a round.
constexpr int depth = 8;

/// For processors that have no loop of their own: what the compiler makes of
/// it.
float portableLoop(int64_t rounds) {
  constexpr int lanes = 8;
  float sums[chains * lanes] = {};
  for (int64_t round = 0; round < rounds * depth; ++round)
    for (float &sum : sums)
      sum = sum * 0.999f + 0.5f;
  float total = 0;
  for (float sum : sums)
    total += sum;
  return total;
}

void plainCopy(void *to, const void *from, size_t bytes) {
  std::memcpy(to, from, bytes);
}

#if defined(__x86_64__)

[[gnu::target("avx2,fma")]] float avx2Loop(int64_t rounds) {
  __m256 sums[chains], factor = _mm256_set1_ps(0.999f),
                       term = _mm256_set1_ps(0.5f);
  for (__m256 &sum : sums)
    sum = _mm256_setzero_ps();
  for (int64_t round = 0; round < rounds; ++round)
    for (int step = 0; step < depth; ++step)
      for (__m256 &sum : sums)
        sum = _mm256_fmadd_ps(sum, factor, term);
  for (int i = 1; i < chains; ++i)
    sums[0] = _mm256_add_ps(sums[0], sums[i]);
  return _mm256_cvtss_f32(sums[0]);
}

[[gnu::target("avx512f")]] float avx512Loop(int64_t rounds) {
  __m512 sums[chains], factor = _mm512_set1_ps(0.999f),
                       term = _mm512_set1_ps(0.5f);
  for (__m512 &sum : sums)
    sum = _mm512_setzero_ps();
  for (int64_t round = 0; round < rounds; ++round)
    for (int step = 0; step < depth; ++step)
      for (__m512 &sum : sums)
        sum = _mm512_fmadd_ps(sum, factor, term);
  for (int i = 1; i < chains; ++i)
    sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

[[gnu::target("avx512f,avx512bf16")]] float dotLoop(int64_t rounds) {
  __m512 sums[chains];
  for (__m512 &sum : sums)
    sum = _mm512_setzero_ps();
  // 2^-7, twice in each word.
  auto factor = (__m512bh)_mm512_set1_epi32(0x3c003c00);
  for (int64_t round = 0; round < rounds; ++round)
    for (int step = 0; step < depth; ++step)
      for (__m512 &sum : sums)
        sum = _mm512_dpbf16_ps(sum, factor, factor);
  for (int i = 1; i < chains; ++i)
    sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

void streamCopy(void *to, const void *from, size_t bytes) {
  auto *target = static_cast<__m128i *>(to);
  const auto *source = static_cast<const __m128i *>(from);
  for (size_t i = 0; i < bytes / 16; i += 4)
    for (size_t part = 0; part < 4; ++part)
      _mm_stream_si128(target + i + part, _mm_load_si128(source + i + part));
  _mm_sfence();
}

[[gnu::target("avx512f")]] void wideStreamCopy(void *to, const void *from,
                                               size_t bytes) {
  auto *target = static_cast<__m512i *>(to);
  const auto *source = static_cast<const __m512i *>(from);
  for (size_t i = 0; i < bytes / 64; ++i)
    _mm512_stream_si512(target + i, _mm512_load_si512(source + i));
  _mm_sfence();
}

#endif

constexpr double operationsOf(int lanes) {
  return 2.0 * chains * depth * lanes;
}

} // namespace

std::vector<PeakLoop> peakLoops() {
  std::vector<PeakLoop> loops = {
      {"portable", false, portableLoop, operationsOf(8)}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    loops.push_back({"avx2", false, avx2Loop, operationsOf(8)});
  if (__builtin_cpu_supports("avx512f"))
    loops.push_back({"avx512", false, avx512Loop, operationsOf(16)});
  if (__builtin_cpu_supports("avx512bf16"))
    loops.push_back({"avx512_bf16", true, dotLoop, operationsOf(32)});
#endif
  return loops;
}

std::vector<CopyFn> copyLoops() {
  std::vector<CopyFn> loops = {plainCopy};
#if defined(__x86_64__)
  loops.push_back(streamCopy);
  if (__builtin_cpu_supports("avx512f"))
    loops.push_back(wideStreamCopy);
#endif
  return loops;
}

} // namespace cp::bench
