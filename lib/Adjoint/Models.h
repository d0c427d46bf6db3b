//===- Models.h - Adjoints by family of ops ---------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_ADJOINT_MODELS_H
#define CP_LIB_ADJOINT_MODELS_H

#include "cp/Adjoint/Adjoint.h"
#include "mlir/IR/DialectRegistry.h"

namespace cp {

/// Of arith and math.
void registerScalarAdjoints(mlir::DialectRegistry &registry);
/// Of linalg.
void registerStructuredAdjoints(mlir::DialectRegistry &registry);
/// Of tensor.
void registerShapeAdjoints(mlir::DialectRegistry &registry);
/// Of our own dialect.
void registerModelAdjoints(mlir::DialectRegistry &registry);

} // namespace cp

#endif // CP_LIB_ADJOINT_MODELS_H
