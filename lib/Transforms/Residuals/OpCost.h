//===- OpCost.h - How long an op takes, about -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_OPCOST_H
#define CP_LIB_TRANSFORMS_OPCOST_H

#include "mlir/IR/Operation.h"

namespace cp {

/// Costs are no more than this, far above those of programs that end: bytes at
/// the highest price of a plan among them, of tensors of some GiB. A cost alone
/// does not look unlimited (MinCut).
inline constexpr int64_t mostCost = int64_t(1) << 55;
/// Nor are a tensor's bytes more than this, which no machine has; sums of a
/// program's fit 63 bits.
inline constexpr int64_t mostBytes = int64_t(1) << 47;

/// The operations of arithmetic that an op takes, where what only moves memory
/// counts as many as pass meanwhile. It orders ops, and is no time. 0 for what
/// computes nothing, such as constants, views and tensors without values.
int64_t costOf(mlir::Operation *op);

/// Whether a result has no memory of its own: a view, or a tensor without
/// values.
bool isView(mlir::Operation *op);

/// The bytes of a tensor, or 0.
int64_t bytesOf(mlir::Value value);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_OPCOST_H
