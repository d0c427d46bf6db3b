//===- KernelFunction.h - Functions of one structured op --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_KERNELFUNCTION_H
#define CP_LIB_TRANSFORMS_KERNELFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace cp {

bool isScalarConstant(mlir::Value value);

/// Copies into the body what constants it reads from outside; fails, and says
/// so, for other values from there.
mlir::LogicalResult sinkConstants(mlir::linalg::LinalgOp op);

/// A buffer of known sizes and strides that begins at `pointer`.
mlir::Value bufferAt(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value pointer, mlir::MemRefType type);

/// Fails, and says so, but for a function that takes buffers of known sizes and
/// strides and gives nothing, as those that cp-outline-kernels makes do.
mlir::LogicalResult expectKernel(mlir::func::FuncOp function);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_KERNELFUNCTION_H
