//===- ForwardPass.h - Which ops do not read gradients ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_FORWARDPASS_H
#define CP_LIB_TRANSFORMS_FORWARDPASS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace cp {

/// What a value is made of: of a sum of several tensors over ranks, its own
/// alone.
llvm::SmallVector<mlir::Value> readsOf(mlir::Value value);

/// Adds all values that `value` is made of, itself among them.
void addSlice(mlir::Value value, llvm::DenseSet<mlir::Value> &slice);

/// Whether an op is of the backward pass, given those of the forward pass. What
/// returns values, or sums them over ranks with others, is of neither.
bool isBackward(mlir::Operation *op,
                const llvm::DenseSet<mlir::Operation *> &forward);

/// The values that the results are made of which no gradient goes into: the
/// loss, counts and outputs of a model, and not norms of gradients, what is
/// updated by them or they themselves. Of a function of one block.
llvm::DenseSet<mlir::Value> forwardValues(mlir::func::FuncOp function);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_FORWARDPASS_H
