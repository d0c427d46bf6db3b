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
/// Of our own dialect: what models are made of, and what moves between ranks.
void registerModelAdjoints(mlir::DialectRegistry &registry);
void registerLocalAttentionAdjoints(mlir::DialectRegistry &registry);
void registerLocalScanAdjoints(mlir::DialectRegistry &registry);
void registerCollectiveAdjoints(mlir::DialectRegistry &registry);

/// Attaches the interface to an op by a function that builds its adjoint.
template <typename OpTy, auto function>
void attachAdjoint(mlir::MLIRContext *context) {
  struct Model : AdjointOpInterface::ExternalModel<Model, OpTy> {
    llvm::LogicalResult buildAdjoint(mlir::Operation *op,
                                     AdjointContext &adjoint) const {
      return function(adjoint, mlir::cast<OpTy>(op));
    }
  };
  OpTy::template attachInterface<Model>(*context);
}

} // namespace cp

#endif // CP_LIB_ADJOINT_MODELS_H
