//===- PrepareEntry.cpp - The caller owns every buffer ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentAttributes.h"
#include "ControlFlow.h"

#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

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
    if (failed(refuseControlFlow(function, "entry_c1")))
      return signalPassFailure();
    Attribute no = BoolAttr::get(&getContext(), false);
    setArgumentAttrs(function,
                     bufferization::BufferizationDialect::kWritableAttrName,
                     [&](unsigned) { return no; });
    if (failed(moveResults(function)))
      signalPassFailure();
  }

private:
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
