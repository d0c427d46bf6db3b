//===- RunProgram.h - A program on its arguments ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_RUNPROGRAM_H
#define CP_TOOLS_RUNNING_RUNPROGRAM_H

#include "Inputs.h"
#include "llvm/ADT/Twine.h"

namespace cp {

/// Says on standard error what is going on, unless --quiet.
void say(const RunFlags &flags, const llvm::Twine &what);

/// A run, and what it was made of.
struct ProgramRun {
  Inputs inputs;
  RunResult result;
};

/// Gathers a program's arguments (gatherInputs) and runs it as `how` says. A
/// process of a job reads of files no more of the weights than its rank has,
/// unless whole ones are needed behind the run (`keepsWeights`, and for
/// --save-weights); where it does, their tensors in `inputs` are empty.
llvm::Expected<ProgramRun> runProgram(const Program &program,
                                      const RunFlags &flags,
                                      const RunOptions &how,
                                      bool keepsWeights = false);

} // namespace cp

#endif // CP_TOOLS_RUNNING_RUNPROGRAM_H
