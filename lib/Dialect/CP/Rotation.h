//===- Rotation.h - What may be rotated -------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_DIALECT_ROTATION_H
#define CP_LIB_DIALECT_ROTATION_H

#include "cp/IR/CPDialect.h"

namespace cp {

/// Fails with `label` unless theta is a number above 0.
llvm::LogicalResult verifyTheta(mlir::Operation *op, llvm::StringRef label,
                                const llvm::APFloat &theta);

/// Fails with `label` unless `dims`, or all of them, are an even number of the
/// `channels` of a head (which may be dynamic), and at least 2.
llvm::LogicalResult verifyRotatedDims(mlir::Operation *op,
                                      llvm::StringRef label,
                                      std::optional<int64_t> dims,
                                      int64_t channels);

} // namespace cp

#endif // CP_LIB_DIALECT_ROTATION_H
