//===- RunProgram.h - A program on its arguments ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_RUNPROGRAM_H
#define CP_TOOLS_RUNNING_RUNPROGRAM_H

#include "Inputs.h"
#include "ResultNumbers.h"
#include "cp/Execution/Session.h"
#include "llvm/ADT/Twine.h"

namespace cp {

/// Says on standard error what is going on, unless --quiet.
void say(const RunFlags &flags, const llvm::Twine &what);

/// A run, what it was made of, and where its tensors are.
struct ProgramRun {
  Inputs inputs;
  RunResult result;
  std::unique_ptr<Session> session;
  /// Whether weights and results are there whole.
  bool isWhole = true;
};

/// Tells other processes of an error of this one, for which they would wait,
/// and returns it.
llvm::Error tell(Session &session, llvm::Error error);

/// Gathers a program's arguments (gatherInputs) and runs it as `how` says, in a
/// session of its own.
/// Processes of a job read of files no more of the weights than their rank has,
/// and results stay with the ranks, unless both are needed whole: to be
/// checked (`checks`, and then each rank's parts come too), for rows that are
/// trimmed, and for --gradients. Where they stay their tensors in `inputs` and
/// `result` are empty.
llvm::Expected<ProgramRun>
runProgram(const Program &program, const RunFlags &flags, const RunOptions &how,
           std::unique_ptr<Session> session, bool checks = false);

/// Writes --save-weights, --outputs and --gradients of a run, whose results are
/// `outputs`, in one process of a job, and says there what they are in short.
/// All processes call it. Tries all files; errors name them.
llvm::Error saveRun(const Program &program, const RunFlags &flags,
                    const ProgramRun &run, llvm::ArrayRef<HostTensor> outputs,
                    ResultNumbers &numbers);

} // namespace cp

#endif // CP_TOOLS_RUNNING_RUNPROGRAM_H
