//===- ModuleState.h - How far a module has come ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_COMPILE_MODULESTATE_H
#define CP_COMPILE_MODULESTATE_H

#include "cp/Execution/Program.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace cp {

/// What a module is before it is compiled.
struct ModuleState {
  Stage stage = Stage::Global;
  /// The mesh that its layouts and ops are on, if they name one.
  std::optional<Mesh> mesh;
};

/// The state of the function `entry` (empty: the only public one). Errors: no
/// such function, or several; meshes without common parts; the program of one
/// rank on two meshes.
llvm::Expected<ModuleState> stateOf(mlir::ModuleOp module,
                                    llvm::StringRef entry);

} // namespace cp

#endif // CP_COMPILE_MODULESTATE_H
