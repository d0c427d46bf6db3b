//===- FlushToZero.h - Numbers too small to be normal -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FLUSHTOZERO_H
#define CP_KERNELS_CPU_FLUSHTOZERO_H

#include "Kernels.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace cp::kernels {

/// While it lives, subnormal numbers count as 0 on the calling thread and
/// results that would be subnormal are 0, where the processor can do that. A
/// product with one takes some processors a hundred times as long, and decays
/// make many: a scan with strong ones took seven times as long on Intel's.
class FlushToZero {
public:
  [[gnu::always_inline]] FlushToZero() : before(get()) { set(before | bits); }
  [[gnu::always_inline]] ~FlushToZero() { set(before); }
  FlushToZero(const FlushToZero &) = delete;
  FlushToZero &operator=(const FlushToZero &) = delete;

  static constexpr bool isSupported =
#if defined(__SSE2__) || defined(__aarch64__)
      true;
#else
      false;
#endif

private:
#if defined(__SSE2__)
  using Word = unsigned;
  /// Of MXCSR: results (FTZ) and operands (DAZ).
  static constexpr Word bits = 0x8040;
  [[gnu::always_inline]] static Word get() { return _mm_getcsr(); }
  [[gnu::always_inline]] static void set(Word word) { _mm_setcsr(word); }
#elif defined(__aarch64__)
  using Word = uint64_t;
  /// Of FPCR: both (FZ).
  static constexpr Word bits = Word(1) << 24;
  [[gnu::always_inline]] static Word get() {
    Word word;
    asm volatile("mrs %0, fpcr" : "=r"(word));
    return word;
  }
  [[gnu::always_inline]] static void set(Word word) {
    asm volatile("msr fpcr, %0" : : "r"(word) : "memory");
  }
#else
    using Word = unsigned;
  static constexpr Word bits = 0;
  static Word get() { return 0; }
  static void set(Word) {}
#endif

  Word before;
};

/// `kernel`, run so.
template <KernelFn kernel> const char *flushing(const Call &call) {
  FlushToZero scope;
  return kernel(call);
}

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_FLUSHTOZERO_H
