//===- BufferizationModels.cpp - cp.call on buffers -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace cp {
namespace {

/// Reads ins, writes outs in place.
struct CallModel : DstBufferizableOpInterfaceExternalModel<CallModel, CallOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    auto call = cast<CallOp>(op);
    return !call.isDpsInit(&operand) || call.accumulates();
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto call = cast<CallOp>(op);
    SmallVector<Value> ins, outs;
    auto collect = [&](ValueRange values, SmallVectorImpl<Value> &buffers) {
      for (Value value : values) {
        FailureOr<Value> buffer =
            isa<TensorType>(value.getType())
                ? getBuffer(rewriter, value, options, state)
                : FailureOr<Value>(value);
        if (failed(buffer))
          return failure();
        buffers.push_back(*buffer);
      }
      return success();
    };
    if (failed(collect(call.getIns(), ins)) ||
        failed(collect(call.getOuts(), outs)))
      return failure();
    CallOp::create(rewriter, op->getLoc(), TypeRange(), call.getSymbolAttr(),
                   call.getConfigAttr(), ins, outs, call.getAbsentAttr(),
                   call.getCallbackAttr());
    replaceOpWithBufferizedValues(rewriter, op, outs);
    return success();
  }
};

} // namespace

void registerBufferizationModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, CPDialect *) {
    CallOp::attachInterface<CallModel>(*context);
  });
}

} // namespace cp
