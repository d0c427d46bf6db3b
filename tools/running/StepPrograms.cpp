//===- StepPrograms.cpp - The programs of a step ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepPrograms.h"

#include "Inputs.h"

#include "cp/Transforms/Update.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace cp {

llvm::Expected<StepPrograms>
StepPrograms::of(std::vector<std::unique_ptr<Program>> programs) {
  StepPrograms step;
  step.programs = std::move(programs);
  llvm::StringSet<> known;
  for (const auto &program : step.programs)
    for (const TensorSpec &spec : program->arguments())
      if (known.insert(spec.name).second)
        step.arguments.push_back(spec);
  llvm::ArrayRef<TensorSpec> results = step.last().results();
  if (hasName(step.arguments, "labels") &&
      hasName(step.arguments, update::rate) && hasName(results, "loss") &&
      hasName(results, update::gradNorm))
    return step;
  return llvm::createStringError(
      "the program makes no step of an optimizer: it takes no labels and rate, "
      "or gives no loss and grad_norm; compile it by cp-compile --optimizer");
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
