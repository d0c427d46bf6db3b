//===- Mamba2Importer.h - A published model as IR ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FRONTEND_MAMBA2IMPORTER_H
#define CP_FRONTEND_MAMBA2IMPORTER_H

#include "cp/Frontend/ImportOptions.h"
#include "cp/IR/CPDialect.h"
#include "cp/Model/Mamba2Config.h"
#include "cp/Model/Weights.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace cp {

/// A module with one public function `main`: token ids `[batch, sequence]`
/// (i32, named "input_ids") and each weight by its Hugging Face name, to logits
/// `[batch, sequence, vocabulary]` (named "logits"), or those of each
/// sequence's last token, `[batch, 1, vocabulary]`. Layers are `cp.mamba_mixer`
/// ops; nothing is sharded. Null after an error at `location`: a size below 1,
/// a type that is not served.
mlir::OwningOpRef<mlir::ModuleOp> importMamba2(const Mamba2Config &config,
                                               const ImportOptions &options,
                                               mlir::Location location);

} // namespace cp

#endif // CP_FRONTEND_MAMBA2IMPORTER_H
