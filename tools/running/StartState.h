//===- StartState.h - What the first step of a run finds --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_STARTSTATE_H
#define CP_TOOLS_RUNNING_STARTSTATE_H

#include "TrainFlags.h"
#include "cp/Execution/Session.h"
#include "llvm/ADT/ArrayRef.h"

namespace cp {

/// Sets parameters as cp-run has them, or of the checkpoint of --resume, and
/// what goes with them: masters are parameters, moments and sums are zero (see
/// readOptimizer), and the norm of gradients has its limit. Errors: those of
/// gatherInputs; weights of a checkpoint that are not finite.
llvm::Error setStart(Session &session, llvm::ArrayRef<TensorSpec> arguments,
                     const RunFlags &run, const TrainFlags &flags);

} // namespace cp

#endif // CP_TOOLS_RUNNING_STARTSTATE_H
