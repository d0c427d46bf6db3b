//===- Memory.h - What a run takes, and what there is -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_EXECUTION_MEMORY_H
#define CP_EXECUTION_MEMORY_H

#include "cp/Execution/Program.h"

#include <optional>
#include <string>

namespace cp {

/// Bytes by what they hold. Sums saturate.
struct MemoryUse {
  /// The arena that the compiler has planned.
  int64_t program = 0;
  int64_t weights = 0;
  /// What an optimizer keeps of them, and sums over micro-batches.
  int64_t state = 0;
  int64_t inputs = 0, outputs = 0;
  /// What a check takes beside them; not part of a program's own need.
  int64_t check = 0;

  int64_t total() const;
};
MemoryUse operator+(const MemoryUse &a, const MemoryUse &b);

/// What a program takes while it runs.
struct MemoryNeed {
  /// What each rank works on: its arena, its parts of arguments and results.
  MemoryUse rank;
  /// What the process holds for all ranks: whole arguments and results once,
  /// and each rank's parts of those that are cut or updated. The compiler's own
  /// memory, code and what collectives and kernels work with are not counted.
  MemoryUse process;
};
MemoryNeed memoryNeed(const Program &program);
/// The same from its parts.
MemoryNeed memoryNeed(llvm::ArrayRef<TensorSpec> arguments,
                      llvm::ArrayRef<TensorSpec> results, int64_t arenaBytes,
                      int64_t ranks);

/// The bytes that this process may still take, as the system says: the least of
/// what the machine has available and what the limits of its control groups
/// leave. Nothing where neither is known. `root` is the folder of /proc and
/// /sys (for tests; "" is the machine's own).
std::optional<int64_t> availableMemory(const std::string &root = "");

/// The largest size that this process has had in memory so far; 0 if unknown.
int64_t peakResidentBytes();

/// Fails when `needed` bytes are more than `available`, and says what takes
/// them.
llvm::Error checkFits(const MemoryUse &needed, int64_t available);

/// "1.5 GiB", "24.0 MiB", "12 bytes".
std::string bytesText(int64_t bytes);
/// "program 3.5 MiB, weights 1.0 MiB, ...", all parts of it.
std::string partsText(const MemoryUse &use);

} // namespace cp

#endif // CP_EXECUTION_MEMORY_H
