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
    separateInits(function);
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

  /// What an op writes to is its own. Of a tensor without values, or of one
  /// value, that several ops write to, each would get a copy, and bufferization
  /// would hold every one of them against every other.
  static void separateInits(FunctionOpInterface function) {
    for (Operation &op : function.getFunctionBody().front())
      if (auto writer = dyn_cast<DestinationStyleOpInterface>(op))
        for (OpOperand &init : writer.getDpsInitsMutable())
          separate(init);
      else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
        separate(insert.getDestMutable());
  }

  static void separate(OpOperand &init) {
    Operation *origin = init.get().getDefiningOp();
    if (!isa_and_present<tensor::EmptyOp, linalg::FillOp>(origin) ||
        init.get().hasOneUse())
      return;
    OpBuilder builder(init.getOwner());
    Operation *own = builder.clone(*origin);
    init.set(own->getResult(0));
    if (auto fill = dyn_cast<linalg::FillOp>(own)) {
      builder.setInsertionPoint(fill);
      separate(fill.getDpsInitsMutable()[0]);
    }
  }

  static LogicalResult moveResults(FunctionOpInterface function) {
    Block &body = function.getFunctionBody().front();
    Operation *terminator = body.getTerminator();
    SmallVector<Type> buffers;
    for (Value result : terminator->getOperands()) {
      auto tensor = dyn_cast<RankedTensorType>(result.getType());
      if (!tensor || !tensor.hasStaticShape())
        return function->emitOpError("must return tensors of known sizes, but "
                                     "returns ")
               << result.getType();
      buffers.push_back(
          MemRefType::get(tensor.getShape(), tensor.getElementType()));
    }
    // All at once: a type for each number of arguments would be kept.
    unsigned first = function.getNumArguments(), count = buffers.size();
    if (failed(function.insertArguments(
            SmallVector<unsigned>(count, first), buffers,
            SmallVector<DictionaryAttr>(count),
            SmallVector<Location>(count, function.getLoc()))))
      return failure();
    OpBuilder builder(terminator);
    for (auto [i, result] : llvm::enumerate(terminator->getOperands()))
      bufferization::MaterializeInDestinationOp::create(
          builder, terminator->getLoc(), TypeRange(), result,
          function.getArgument(first + i), /*restrict=*/true,
          /*writable=*/true);
    BitVector all(function.getNumResults(), true);
    terminator->setOperands({});
    return function.eraseResults(all);
  }
};

} // namespace
} // namespace cp
