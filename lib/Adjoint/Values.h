//===- Values.h - Values that adjoints are made of --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of scalars and of tensors alike: ops of arith and math work on each element.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_ADJOINT_VALUES_H
#define CP_LIB_ADJOINT_VALUES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

namespace cp {

/// A constant, in every element.
mlir::Value constantOf(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Type type, double value);
/// A tensor of which nothing is known, and with the layout of its type.
mlir::Value emptyOf(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::RankedTensorType type);
/// Zeros, and for a tensor a fill with them.
mlir::Value zerosOf(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Type type);

/// The tensor, each element multiplied by that of `factor`, whose dimensions
/// are the first of the tensor's.
mlir::Value scaled(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value, mlir::Value factor);
/// The products' sum over all but the first `kept` dimensions.
mlir::Value innerProduct(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value a, mlir::Value b, int64_t kept);
/// The type of a sum of such elements.
mlir::RankedTensorType summed(mlir::Value value);
/// The sum over dimension `dim` of a tensor, of the type `summed`.
mlir::Value sumOver(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value value, int64_t dim);
/// The adjoint of cp.repeat: the sum of the `times` copies of each run of
/// `unit` elements of a dimension.
mlir::Value sumOfRepeats(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, int64_t dim, int64_t times,
                         int64_t unit);

} // namespace cp

#endif // CP_LIB_ADJOINT_VALUES_H
