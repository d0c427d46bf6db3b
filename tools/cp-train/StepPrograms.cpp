//===- StepPrograms.cpp - The programs of a step ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepPrograms.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace cp {

llvm::Expected<StepPrograms>
StepPrograms::compile(mlir::ModuleOp module, const CompileOptions &options) {
  StepPrograms step;
  if (llvm::Error error = compileSteps(module, options).moveInto(step.programs))
    return error;
  llvm::StringSet<> known;
  for (const auto &program : step.programs)
    for (const TensorSpec &spec : program->arguments())
      if (known.insert(spec.name).second)
        step.arguments.push_back(spec);
  return step;
}

MemoryNeed StepPrograms::memory() const {
  std::vector<TensorSpec> results;
  int64_t arena = 0;
  for (const auto &program : programs) {
    llvm::append_range(results, program->results());
    // Ranks work on one arena, with one program after the other.
    arena = std::max(arena, program->arenaBytes());
  }
  return memoryNeed(arguments, results, arena, first().mesh().numRanks());
}

} // namespace cp
