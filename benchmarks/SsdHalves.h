//===- SsdHalves.h - A scan as two ranks compute it -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_BENCHMARKS_SSDHALVES_H
#define CP_BENCHMARKS_SSDHALVES_H

#include "KernelCase.h"

namespace cp::bench {

/// What `ssdCase` made, as two ranks compute it that hold half of the sequence
/// each: ssd_states of both, then ssd_scan of each from the state that precedes
/// it.
class SsdHalves {
public:
  explicit SsdHalves(const KernelCase &ssd);

  /// All four calls, one after the other, with the states that handOver() left.
  /// Null, or what a kernel says.
  const char *run() const;
  /// Runs the states and hands them to the scans: once, before run().
  const char *handOver();
  /// Both halves of y, and the last state, to the outs of the whole.
  void store(KernelCase &ssd) const;

private:
  struct Part {
    KernelCase states, scan;
  };
  static Part makePart(const KernelCase &ssd, int64_t first, int64_t rows);

  Part parts[2];
};

/// The same once, from making it to storing its results.
const char *runInHalves(KernelCase &ssd);

} // namespace cp::bench

#endif // CP_BENCHMARKS_SSDHALVES_H
