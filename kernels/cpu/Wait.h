//===- Wait.h - Waiting for another thread ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_WAIT_H
#define CP_KERNELS_CPU_WAIT_H

#include <chrono>

namespace cp::kernels {

/// Tells the processor that this thread waits for another.
inline void pauseProcessor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// Looks again and again whether `isOver()`; the last answer. For at most
/// `time`, which starts after the first microseconds: a clock takes as long.
template <typename IsOver>
inline bool spin(std::chrono::microseconds time, IsOver isOver) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < 64; ++i) {
    if (isOver())
      return true;
    pauseProcessor();
  }
  Clock::time_point end = Clock::now() + time;
  do {
    for (int i = 0; i < 16; ++i) {
      if (isOver())
        return true;
      pauseProcessor();
    }
  } while (Clock::now() < end);
  return false;
}

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_WAIT_H
