//===- TrainModel.h - Training of a module ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPTRAIN_TRAINMODEL_H
#define CP_TOOLS_CPTRAIN_TRAINMODEL_H

#include "TrainOptions.h"
#include "mlir/IR/BuiltinOps.h"

namespace cp {

/// Compiles a step, and trains (trainSteps); or, with --explain, prints what
/// was decided.
llvm::Error trainModel(mlir::ModuleOp module, const TrainOptions &options);

} // namespace cp

#endif // CP_TOOLS_CPTRAIN_TRAINMODEL_H
