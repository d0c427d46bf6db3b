//===- Processors.h - What ranks of a machine share -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_RUNTIME_PROCESSORS_H
#define CP_RUNTIME_PROCESSORS_H

#include <algorithm>
#include <cstdint>
#include <sched.h>
#include <thread>

namespace cp {

struct Processors {
  /// The machine's, and those that this process may run on: all, or what a
  /// container, `taskset`, `mpirun --bind-to` or srun leaves it.
  int64_t all, allowed;

  static Processors ofThisProcess() {
    int64_t all = std::max<int64_t>(std::thread::hardware_concurrency(), 1);
    cpu_set_t set;
    // There are more than a set takes, or nobody knows.
    if (::sched_getaffinity(0, sizeof set, &set) != 0)
      return {all, all};
    return {all, std::min<int64_t>(all, CPU_COUNT(&set))};
  }

  /// Threads for each of `ranks` of one process, 1 at least.
  int64_t shareInProcess(int64_t ranks) const {
    return std::max<int64_t>(allowed / ranks, 1);
  }
  /// Threads for a process that is one of `ranks` on this machine, 1 at least.
  /// A launcher may have given each processors of its own, or none: it has its
  /// share, and no more than it may run on.
  int64_t shareInJob(int64_t ranks) const {
    return std::max<int64_t>(std::min(allowed, all / ranks), 1);
  }
};

} // namespace cp

#endif // CP_RUNTIME_PROCESSORS_H
