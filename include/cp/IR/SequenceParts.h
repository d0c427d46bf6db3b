//===- SequenceParts.h - A rank's rows as two parts -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In zigzag order a rank's rows are two parts of the sequence, one behind the
// other. Seen as elements 2i and 2i + 1 of the batch they run each for itself,
// and no data moves.
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_SEQUENCEPARTS_H
#define CP_IR_SEQUENCEPARTS_H

#include "mlir/IR/Builders.h"

namespace cp {

/// x[..., b, l, ...] as x[..., 2b, l/2, ...], where `dim` is that of l, which
/// is static, even and not the first.
mlir::Value seenAsParts(mlir::OpBuilder &builder, mlir::Value value,
                        int64_t dim);

/// The other way: x[..., 2b, l/2, ...] as x[..., b, l, ...].
mlir::Value seenAsOne(mlir::OpBuilder &builder, mlir::Value value, int64_t dim);

} // namespace cp

#endif // CP_IR_SEQUENCEPARTS_H
