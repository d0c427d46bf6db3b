//===- NestedFunctions.h - Functions that no pass sees ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_NESTEDFUNCTIONS_H
#define CP_LIB_TRANSFORMS_NESTEDFUNCTIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace cp {

/// Refuses a module whose only functions are of modules within it: passes over
/// its functions would do nothing, and say so to nobody. `label` begins what is
/// said.
mlir::LogicalResult expectFunctions(mlir::ModuleOp module,
                                    llvm::StringRef label = "");

} // namespace cp

#endif // CP_LIB_TRANSFORMS_NESTEDFUNCTIONS_H
