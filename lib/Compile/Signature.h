//===- Signature.h - What an entry function takes and gives -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_COMPILE_SIGNATURE_H
#define CP_LIB_COMPILE_SIGNATURE_H

#include "cp/Compile/Compile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cp {

/// The entry function: the one named, or the only public one.
llvm::Expected<mlir::func::FuncOp> findEntry(mlir::ModuleOp module,
                                             llvm::StringRef name);

/// The stage of a function, by its `cp.view`.
Stage stageOf(mlir::func::FuncOp function);

/// The mesh that the function's layouts and ops are on, if it names one. Of
/// several, between which a global program has bridges, that which has the
/// common parts of their axes; an error if there is none, or a program of one
/// rank names two.
llvm::Expected<std::optional<Mesh>> meshOf(mlir::func::FuncOp function);

struct Signature {
  std::vector<TensorSpec> arguments, results;
};

/// The signature of a local (or never sharded) function: its types are those of
/// one rank's part, its `cp.layout` attributes say of what. Tensors without one
/// are whole on every rank.
llvm::Expected<Signature> signatureOf(mlir::func::FuncOp function,
                                      const Mesh &mesh);

} // namespace cp

#endif // CP_LIB_COMPILE_SIGNATURE_H
