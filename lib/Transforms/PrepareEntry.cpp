//===- PrepareEntry.cpp - The caller owns every buffer ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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
    protectArguments(function);
    if (failed(moveResults(function)))
      signalPassFailure();
  }

private:
  /// All at once: the list of a model's arguments is long, and each new one
  /// lives as long as the context.
  static void protectArguments(FunctionOpInterface function) {
    MLIRContext *context = function.getContext();
    SmallVector<DictionaryAttr> attributes;
    function.getAllArgAttrs(attributes);
    for (DictionaryAttr &ofOne : attributes) {
      NamedAttrList list(ofOne);
      list.set(bufferization::BufferizationDialect::kWritableAttrName,
               BoolAttr::get(context, false));
      ofOne = list.getDictionary(context);
    }
    function.setAllArgAttrs(attributes);
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
