//===- Checkpoint.h - A run that can go on ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder step-N for each: model.safetensors, which transformers loads, and
// optimizer.safetensors with what the optimizer keeps and the numbers of steps.
// All tensors are whole, so that any number of ranks goes on. A folder is there
// when all of it is.
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_CHECKPOINT_H
#define CP_TOOLS_RUNNING_CHECKPOINT_H

#include "ResultNumbers.h"
#include "cp/Execution/Session.h"
#include "cp/Files/TensorView.h"

#include <string>
#include <vector>

namespace cp {

/// Where a run stands.
struct Progress {
  /// Steps made, those included that changed nothing, and those that did.
  int64_t steps = 0, taken = 0;
  /// Batches that were read of the data, and digestOf the last one; empty where
  /// nobody knows.
  int64_t batches = 0;
  std::string lastBatch;
};

/// Writes the parameters under their names, and of which step they are. All
/// processes of a job call it, and one `writes`, which is given what is not
/// finite.
llvm::Expected<std::vector<NotFiniteResult>>
writeWeights(const std::string &path, const Progress &progress,
             llvm::ArrayRef<TensorSpec> arguments, const Session &session,
             bool writes);

/// Writes `folder`/step-N. Errors name the file; other checkpoints stay whole.
/// One of the same step is replaced if it is among `found`, what there was when
/// the run began (claimCheckpoints); a run that is killed between two renames
/// leaves that as .step-N.old. Any other is another run's, and an error. As
/// writeWeights otherwise.
llvm::Expected<std::vector<NotFiniteResult>>
writeCheckpoint(const std::string &folder, const Progress &progress,
                llvm::ArrayRef<int64_t> found,
                llvm::ArrayRef<TensorSpec> arguments, const Session &session,
                bool writes);

/// An error where a tensor of the checkpoint that `label` names is not finite:
/// a run that goes on from there gives nothing.
llvm::Error checkFinite(llvm::StringRef label, TensorSpec spec,
                        const TensorView &view);

/// Sets all that the optimizer keeps. Errors: names, types or shapes that are
/// not the program's; what is not finite.
llvm::Expected<Progress> readOptimizer(const std::string &checkpoint,
                                       llvm::ArrayRef<TensorSpec> arguments,
                                       Session &session);

/// Makes the folder of checkpoints and looks whether files can be written
/// there.
llvm::Error checkCheckpoints(const std::string &folder);

/// Puts in order what runs have left there that were killed: a checkpoint that
/// was about to be replaced is in its place again, and what was half written is
/// gone. To be called when nothing else refuses the run. Gives the steps that
/// are there then. Errors, with the folder as it was: a step that `isDue` is
/// there of a run that this one does not go on with, which `resumed`, a
/// checkpoint or empty, says.
llvm::Expected<std::vector<int64_t>>
claimCheckpoints(const std::string &folder, const std::string &resumed,
                 llvm::function_ref<bool(int64_t)> isDue);

/// An error where `folder` is no checkpoint, which names the last one in it.
llvm::Error checkResumed(const std::string &folder);

/// The files of a checkpoint.
std::vector<std::string> filesOfCheckpoint(const std::string &checkpoint);
/// The file of a checkpoint that --weights would take.
std::string weightsOfCheckpoint(const std::string &checkpoint);

} // namespace cp

#endif // CP_TOOLS_RUNNING_CHECKPOINT_H
