//===- ReadModel.h - The model of the command line --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPTRAIN_READMODEL_H
#define CP_TOOLS_CPTRAIN_READMODEL_H

#include "TrainOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

namespace cp {

/// Reads a module, or a config.json, of which it makes one. `sources` gets the
/// text, for diagnostics, which say what is wrong with it.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
readModel(const TrainOptions &options, mlir::MLIRContext &context,
          llvm::SourceMgr &sources);

} // namespace cp

#endif // CP_TOOLS_CPTRAIN_READMODEL_H
