//===- UnifyMeshes.h - One mesh for all layouts of a function --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_UNIFYMESHES_H
#define CP_LIB_TRANSFORMS_UNIFYMESHES_H

#include "cp/Transforms/Sharding.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace cp {

/// Writes all layouts of a function down on one mesh: their own where there is
/// but one, else that whose axes are the common parts of all. With `sharding`,
/// that is one of them, comes first, and is written down anew too. Fails after
/// an error where meshes have no common parts, or a cut cannot be made by them.
llvm::LogicalResult unifyMeshes(mlir::FunctionOpInterface function,
                                Sharding *sharding = nullptr);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_UNIFYMESHES_H
