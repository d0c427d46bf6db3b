//===- RowSlices.h - Rows of a tensor of tokens ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_ROWSLICES_H
#define CP_IR_ROWSLICES_H

#include "mlir/IR/Builders.h"

namespace cp {

/// `count` elements of one dimension of a tensor of known sizes, `first` and
/// those behind it, with all of the others.
mlir::Value sliceAlong(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value value, int64_t dim, int64_t first,
                       int64_t count);

/// `into` with `piece`, which agrees with it but for the size of `dim`, in
/// place of as many of its own, `at` and those behind it.
mlir::Value putAlong(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value piece, mlir::Value into, int64_t dim,
                     int64_t at);

/// `count` rows of a tensor `[b, l, ...]` of known sizes, `first` and those
/// behind it.
mlir::Value sliceRows(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, int64_t first, int64_t count);

/// `into` with `rows` in place of as many of its own, `at` and those behind it.
mlir::Value putRows(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value rows, mlir::Value into, int64_t at);

} // namespace cp

#endif // CP_IR_ROWSLICES_H
