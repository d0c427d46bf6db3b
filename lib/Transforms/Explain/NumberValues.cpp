//===- NumberValues.cpp - Numbers for the ops that compute ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace cp {
#define GEN_PASS_DEF_NUMBERVALUES
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// Ops that make no number of their own.
bool isTrivial(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         isa<tensor::EmptyOp, linalg::FillOp, tensor::ExpandShapeOp,
             tensor::CollapseShapeOp, tensor::ExtractSliceOp, RepeatOp,
             ReshardOp>(op);
}

struct NumberValues : impl::NumberValuesBase<NumberValues> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function.isPublic() || function.isExternal())
      return;
    int64_t number = 0;
    Builder builder(&getContext());
    for (Block &block : function.getBody())
      for (Operation &op : block)
        if (!isTrivial(&op) &&
            llvm::any_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>))
          op.setAttr(numberAttr, builder.getI64IntegerAttr(number++));
  }
};

} // namespace
} // namespace cp
