//===- Trainer.h - A model, its data and its steps --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_RUNNING_TRAINER_H
#define CP_TOOLS_RUNNING_TRAINER_H

#include "StepPrograms.h"
#include "TrainFlags.h"

namespace cp {

/// Runs as many steps as are asked for, and writes what is asked for. All
/// processes of a job call it.
llvm::Error trainSteps(const StepPrograms &programs, const RunFlags &run,
                       const TrainFlags &flags);

} // namespace cp

#endif // CP_TOOLS_RUNNING_TRAINER_H
