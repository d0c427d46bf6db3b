//===- ForwardPass.cpp - Which ops do not read gradients --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForwardPass.h"

#include "ArgumentAttributes.h"
#include "Differentiate/HalfFunction.h"
#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {

SmallVector<Value> readsOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (isa<AllReduceOp>(op))
    return {op->getOperand(cast<OpResult>(value).getResultNumber())};
  return readsOf(op);
}

void addSlice(Value value, llvm::DenseSet<Value> &slice) {
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (slice.insert(next).second)
      llvm::append_range(work, readsOf(next));
  }
}

bool isBackward(Operation *op, const llvm::DenseSet<Operation *> &forward) {
  return !forward.contains(op) && !isa<AllReduceOp>(op) &&
         !op->hasTrait<OpTrait::IsTerminator>();
}

/// Values that are gradients: results that say so, and what updates read. Sums
/// of a loss or a count over micro-batches are none.
static llvm::DenseSet<Value> gradientsOf(func::FuncOp function) {
  llvm::DenseSet<Value> gradients;
  ArgumentNames names(function);
  Block &block = function.getBody().front();
  for (OpOperand &operand : block.getTerminator()->getOpOperands())
    if (function.getResultAttr(operand.getOperandNumber(), gradientAttr))
      gradients.insert(operand.get());
  for (Operation &op : block) {
    auto update = dyn_cast<UpdateOpInterface>(op);
    auto param =
        update ? dyn_cast<BlockArgument>(update.getParam()) : BlockArgument();
    if (!param)
      continue;
    auto of = function.getArgAttrOfType<StringAttr>(param.getArgNumber(),
                                                    accumulatesAttr);
    if (!of || names.find(of))
      gradients.insert(update.getGrad());
  }
  return gradients;
}

llvm::DenseSet<Value> forwardValues(func::FuncOp function) {
  llvm::DenseSet<Value> gradients = gradientsOf(function), forward;
  Operation *end = function.getBody().front().getTerminator();
  for (OpOperand &operand : end->getOpOperands()) {
    if (function.getResultAttr(operand.getOperandNumber(), gradientAttr))
      continue;
    // Of hundreds of updates each would be the slice of the whole step.
    auto update = operand.get().getDefiningOp<UpdateOpInterface>();
    if (update && gradients.contains(update.getGrad()))
      continue;
    llvm::DenseSet<Value> slice;
    addSlice(operand.get(), slice);
    if (llvm::none_of(gradients,
                      [&](Value value) { return slice.contains(value); }))
      forward.insert(slice.begin(), slice.end());
  }
  return forward;
}

} // namespace cp
