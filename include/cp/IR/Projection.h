//===- Projection.h - Contractions with a weight ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_PROJECTION_H
#define CP_IR_PROJECTION_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace cp {

/// y[b, l, o] = sum_i x[b, l, i] * weight[o, i] as a `linalg.contract` into a
/// zero fill: the form in which `convert-cp-to-calls` makes it one matmul.
/// Precondition: x is `[b, l, i]` and weight `[o, i]`, of known sizes and of
/// one floating-point type.
mlir::Value createProjection(mlir::ImplicitLocOpBuilder &builder, mlir::Value x,
                             mlir::Value weight);

/// What tensor parallelism cuts of a linear layer's weight `[out, in]`: the
/// columns of `weight^T`, or its rows, which makes the result a partial sum.
enum class Parallel { Columns, Rows };

/// createProjection() marked with `cp.parallel`, plus bias `[o]` along the last
/// dimension; without one when it is null.
mlir::Value createLinear(mlir::ImplicitLocOpBuilder &builder, mlir::Value x,
                         mlir::Value weight, mlir::Value bias,
                         Parallel parallel);

} // namespace cp

#endif // CP_IR_PROJECTION_H
