//===- ModuleState.cpp - How far a module has come ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Compile/ModuleState.h"

#include "Signature.h"

namespace cp {

llvm::Expected<ModuleState> stateOf(mlir::ModuleOp module,
                                    llvm::StringRef entry) {
  llvm::Expected<mlir::func::FuncOp> function = findEntry(module, entry);
  if (!function)
    return function.takeError();
  llvm::Expected<std::optional<Mesh>> mesh = meshOf(*function);
  if (!mesh)
    return mesh.takeError();
  return ModuleState{stageOf(*function), *mesh};
}

} // namespace cp
