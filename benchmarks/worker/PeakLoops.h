//===- PeakLoops.h - What a processor does at most --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_BENCHMARKS_WORKER_PEAKLOOPS_H
#define CP_BENCHMARKS_WORKER_PEAKLOOPS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cp::bench {

/// A loop that keeps the multiply-add units busy: chains of dependent
/// multiply-adds in registers, as many as hide their latency.
struct PeakLoop {
  const char *instructions;
  bool isNarrow;
  /// Runs so many rounds; what it returns keeps the work from being dropped.
  float (*run)(int64_t rounds);
  /// Operations of a round: two for a multiply-add.
  double operations;
};

/// Those that this processor can run.
std::vector<PeakLoop> peakLoops();

/// A way to copy `bytes`, a multiple of 64, between buffers aligned to 64.
using CopyFn = void (*)(void *to, const void *from, size_t bytes);

/// memcpy, and where there are stores that go past the caches, a copy by these.
std::vector<CopyFn> copyLoops();

} // namespace cp::bench

#endif // CP_BENCHMARKS_WORKER_PEAKLOOPS_H
