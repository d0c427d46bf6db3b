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

/// `count` rows of a tensor `[b, l, ...]` of known sizes, `first` and those
/// behind it.
mlir::Value sliceRows(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, int64_t first, int64_t count);

/// `into` with `rows` in place of as many of its own, `at` and those behind it.
mlir::Value putRows(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value rows, mlir::Value into, int64_t at);

} // namespace cp

#endif // CP_IR_ROWSLICES_H
