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
/// Zeros, and for a tensor a fill with them.
mlir::Value zerosOf(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Type type);

} // namespace cp

#endif // CP_LIB_ADJOINT_VALUES_H
