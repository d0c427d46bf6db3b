//===- StepPrograms.h - The programs of a step ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_STEPPROGRAMS_H
#define CP_TOOLS_RUNNING_STEPPROGRAMS_H

#include "cp/Execution/Memory.h"
#include "cp/Execution/Program.h"

namespace cp {

/// One program, or those for each micro-batch and for the step.
struct StepPrograms {
  /// Errors: results or arguments that are not those of a step, which are a
  /// loss, labels, and what an optimizer's step takes.
  static llvm::Expected<StepPrograms>
  of(std::vector<std::unique_ptr<Program>> programs);

  const Program &first() const { return *programs.front(); }
  const Program &last() const { return *programs.back(); }
  bool accumulate() const { return programs.size() > 1; }
  /// What all of them take.
  MemoryNeed memory() const;

  std::vector<std::unique_ptr<Program>> programs;
  /// Those of all programs, each once.
  std::vector<TensorSpec> arguments;
};

} // namespace cp

#endif // CP_TOOLS_RUNNING_STEPPROGRAMS_H
