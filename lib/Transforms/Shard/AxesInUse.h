//===- AxesInUse.h - The mesh axes that a function uses ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_AXESINUSE_H
#define CP_LIB_TRANSFORMS_AXESINUSE_H

#include "cp/IR/CPDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace cp {

/// The mesh that a function's layouts and ops are on, in whatever view; the
/// first one if it names several, null if it names none.
MeshAttr meshOf(mlir::FunctionOpInterface function);

/// The axes of `mesh` of more than one rank over which no tensor of a global
/// function is cut or a partial sum: along these, all ranks do the same work.
llvm::SmallVector<Mesh::Axis> unusedAxes(mlir::FunctionOpInterface function,
                                         const Mesh &mesh);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_AXESINUSE_H
