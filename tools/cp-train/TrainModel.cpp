//===- TrainModel.cpp - Training of a module --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainModel.h"

#include "Explain.h"
#include "Requests.h"
#include "Trainer.h"
#include "cp/Compile/Decisions.h"
#include "llvm/Support/raw_ostream.h"

namespace cp {

static llvm::Expected<StepPrograms> compileStep(mlir::ModuleOp module,
                                                const CompileOptions &options) {
  auto programs = compileSteps(module, options);
  if (!programs)
    return programs.takeError();
  return StepPrograms::of(std::move(*programs));
}

/// Compiles, and prints what was decided.
static llvm::Error explain(mlir::ModuleOp module,
                           const CompileOptions &compile) {
  auto recorder = DecisionRecorder::attach(*module.getContext());
  if (!recorder)
    return recorder.takeError();
  llvm::Expected<StepPrograms> programs = compileStep(module, compile);
  if (!programs)
    return programs.takeError();
  printDecisions((*recorder)->decisions(), programs->first().mesh().numRanks(),
                 programs->memory(), llvm::outs());
  return llvm::Error::success();
}

llvm::Error trainModel(mlir::ModuleOp module, const TrainOptions &options) {
  if (llvm::Error error = checkTrainOptions(options))
    return error;
  llvm::Expected<CompileOptions> compile = compileOptions(module, options.run);
  if (!compile)
    return compile.takeError();
  compile->update = options.optimizer.update;
  compile->memory = options.optimizer.memory;
  compile->overlap = options.overlap;
  if (options.run.explain)
    return explain(module, *compile);
  llvm::Expected<StepPrograms> programs = compileStep(module, *compile);
  if (!programs)
    return programs.takeError();
  return trainSteps(*programs, options.run, options);
}

} // namespace cp
