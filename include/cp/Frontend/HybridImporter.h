//===- HybridImporter.h - A published hybrid as IR --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FRONTEND_HYBRIDIMPORTER_H
#define CP_FRONTEND_HYBRIDIMPORTER_H

#include "cp/Frontend/ImportOptions.h"
#include "cp/Model/HFConfig.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace cp {

/// A module with one public function `main`, in the form of importMamba2().
/// Layers are `cp.mamba_mixer` and `cp.attention_block` ops; an MLP is its
/// contractions and one op between them. Null after an error at `location`.
mlir::OwningOpRef<mlir::ModuleOp> importHybrid(const HybridConfig &config,
                                               const ImportOptions &options,
                                               mlir::Location location);

/// importMamba2() or importHybrid().
mlir::OwningOpRef<mlir::ModuleOp> importModel(const ModelConfig &config,
                                              const ImportOptions &options,
                                              mlir::Location location);

} // namespace cp

#endif // CP_FRONTEND_HYBRIDIMPORTER_H
