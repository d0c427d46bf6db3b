//===- PrepareEntry.cpp - The caller owns every buffer ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentAttributes.h"
#include "ControlFlow.h"

#include "cp/IR/ShardingAdvice.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace cp {
#define GEN_PASS_DEF_PREPAREENTRY
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

struct PrepareEntry : impl::PrepareEntryBase<PrepareEntry> {
  void runOnOperation() override {
    FunctionOpInterface function = getOperation();
    if (function.isExternal() || !function.isPublic())
      return;
    if (!llvm::hasSingleElement(function.getFunctionBody())) {
      function->emitOpError("must have one block to be an entry point");
      return signalPassFailure();
    }
    if (failed(refuseControlFlow(function, "entry_c1")) ||
        failed(refuseUnlowered(function)))
      return signalPassFailure();
    Attribute no = BoolAttr::get(&getContext(), false);
    setArgumentAttrs(function,
                     bufferization::BufferizationDialect::kWritableAttrName,
                     [&](unsigned) { return no; });
    if (failed(moveResults(function)))
      signalPassFailure();
  }

private:
  /// Upstream makes no loops of these; it says so late, or not at all.
  static LogicalResult refuseUnlowered(FunctionOpInterface function) {
    for (Operation &op : function.getFunctionBody().getOps())
      if (isa<linalg::SoftmaxOp, linalg::WinogradFilterTransformOp,
              linalg::WinogradInputTransformOp,
              linalg::WinogradOutputTransformOp, tensor::GatherOp,
              tensor::ScatterOp>(op))
        return op.emitOpError("entry_c2: has no form as a call or a loop; ")
               << shardingAdvice(op.getName().getStringRef());
    return success();
  }

  static LogicalResult moveResults(FunctionOpInterface function) {
    Block &body = function.getFunctionBody().front();
    Operation *terminator = body.getTerminator();
    OpBuilder builder(terminator);
    BitVector all(function.getNumResults(), true);
    for (Value result : terminator->getOperands()) {
      auto tensor = dyn_cast<RankedTensorType>(result.getType());
      if (!tensor || !tensor.hasStaticShape())
        return function->emitOpError("must return tensors of known sizes, but "
                                     "returns ")
               << result.getType();
      auto memref = MemRefType::get(tensor.getShape(), tensor.getElementType());
      unsigned index = function.getNumArguments();
      if (failed(function.insertArgument(index, memref, {}, function.getLoc())))
        return failure();
      bufferization::MaterializeInDestinationOp::create(
          builder, terminator->getLoc(), TypeRange(), result,
          function.getArgument(index), /*restrict=*/true, /*writable=*/true);
    }
    terminator->setOperands({});
    return function.eraseResults(all);
  }
};

} // namespace
} // namespace cp
