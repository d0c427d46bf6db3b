//===- Trainer.h - A model, its data and its steps --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPTRAIN_TRAINER_H
#define CP_TOOLS_CPTRAIN_TRAINER_H

#include "TrainOptions.h"
#include "mlir/IR/BuiltinOps.h"

namespace cp {

/// Compiles a step, runs as many as are asked for, and writes what is asked
/// for.
llvm::Error trainModel(mlir::ModuleOp module, const TrainOptions &options);

} // namespace cp

#endif // CP_TOOLS_CPTRAIN_TRAINER_H
