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

/// Reads ins, writes outs in place. What is asked of each operand and each
/// result is answered without a look at the others: the sum of a model's
/// gradients has thousands, and the ways that hold for any op would go through
/// all of them for each.
struct CallModel : DstBufferizableOpInterfaceExternalModel<CallModel, CallOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    auto call = cast<CallOp>(op);
    return !isOut(call, operand) || call.accumulates();
  }

  bool bufferizesToMemoryWrite(Operation *op, OpOperand &operand,
                               const AnalysisState &) const {
    return isOut(cast<CallOp>(op), operand);
  }

  bool bufferizesToElementwiseAccess(Operation *op, const AnalysisState &,
                                     ArrayRef<OpOperand *>) const {
    return cast<CallOp>(op).getElementwise();
  }

  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand,
                                      const AnalysisState &) const {
    auto call = cast<CallOp>(op);
    if (!isOut(call, operand) || call.getNumResults() == 0)
      return {};
    unsigned number = operand.getOperandNumber() - firstOut(call);
    return {{op->getResult(number), BufferRelation::Equivalent}};
  }

  AliasingOpOperandList getAliasingOpOperands(Operation *op, Value value,
                                              const AnalysisState &) const {
    unsigned number = cast<OpResult>(value).getResultNumber();
    OpOperand &out = op->getOpOperand(firstOut(cast<CallOp>(op)) + number);
    return {{&out, BufferRelation::Equivalent}};
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
                   call.getCallbackAttr(), call.getElementwise());
    replaceOpWithBufferizedValues(rewriter, op, outs);
    return success();
  }

private:
  /// Outs are the last operands.
  static unsigned firstOut(CallOp call) {
    return call.getODSOperandIndexAndLength(1).first;
  }
  static bool isOut(CallOp call, OpOperand &operand) {
    return operand.getOperandNumber() >= firstOut(call);
  }
};

} // namespace

void registerBufferizationModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, CPDialect *) {
    CallOp::attachInterface<CallModel>(*context);
  });
}

} // namespace cp
