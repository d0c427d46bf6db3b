//===- Timing.h - Seconds of one call ---------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_BENCHMARKS_WORKER_TIMING_H
#define CP_BENCHMARKS_WORKER_TIMING_H

#include <algorithm>
#include <chrono>
#include <vector>

namespace cp::bench {

inline double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The median; of an even number the upper one. Precondition: not empty.
inline double medianOf(std::vector<double> values) {
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Calls once to warm up, then for a twentieth of a second, at least once: the
/// median seconds of a call. The peers' side does the same.
template <typename Fn> double secondsOf(Fn &&call) {
  call();
  std::vector<double> seconds;
  double start = now(), last = start;
  while (seconds.empty() || last - start < 0.05) {
    call();
    double time = now();
    seconds.push_back(time - last);
    last = time;
  }
  return medianOf(std::move(seconds));
}

} // namespace cp::bench

#endif // CP_BENCHMARKS_WORKER_TIMING_H
