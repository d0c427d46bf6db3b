//===- Views.h - Other names of a tensor's buffer ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_LOWER_VIEWS_H
#define CP_LIB_TRANSFORMS_LOWER_VIEWS_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace cp {

/// What an op makes another name of what its first operand holds; null where it
/// is no view.
inline mlir::Value viewOf(mlir::Operation *op) {
  return llvm::isa<mlir::tensor::ExtractSliceOp, mlir::tensor::ExpandShapeOp,
                   mlir::tensor::CollapseShapeOp, mlir::tensor::CastOp,
                   mlir::bufferization::ToBufferOp,
                   mlir::bufferization::ToTensorOp>(op)
             ? op->getResult(0)
             : mlir::Value();
}

} // namespace cp

#endif // CP_LIB_TRANSFORMS_LOWER_VIEWS_H
