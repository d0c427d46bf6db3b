//===- Models.cpp - How ids pass through the ops that we know ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Models.h"

using namespace mlir;

namespace cp {
namespace {

/// The interface of an op, by a function.
template <typename OpTy, auto function>
struct Model : TraceOpInterface::ExternalModel<Model<OpTy, function>, OpTy> {
  llvm::Error trace(Operation *op, OpTrace &trace) const {
    using Result = decltype(function(trace, cast<OpTy>(op)));
    if constexpr (std::is_void_v<Result>) {
      function(trace, cast<OpTy>(op));
      return llvm::Error::success();
    } else {
      return function(trace, cast<OpTy>(op));
    }
  }
};

/// Results without ids: any element may stand there.
void traceEmpty(OpTrace &trace, tensor::EmptyOp) { trace.result(0); }

template <typename OpTy, auto function> void attach(MLIRContext *context) {
  OpTy::template attachInterface<Model<OpTy, function>>(*context);
}

} // namespace

void registerTraceModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, CPDialect *) {
    attach<SsdOp, traceSsd>(context);
    attach<SsdStatesOp, traceSsdStates>(context);
    attach<SsdScanOp, traceSsdScan>(context);
    attach<ScanStateOp, traceScanState>(context);
    attach<AttentionOp, traceAttention>(context);
    attach<AttentionRowsOp, traceAttention>(context);
    attach<RingAttentionOp, traceAttention>(context);
    attach<SsdGradOp, traceSsdGrad>(context);
    attach<SsdGradStatesOp, traceSsdGradStates>(context);
    attach<Conv1dGradOp, traceConv1dGrad>(context);
    attach<AttentionGradOp, traceAttentionGrad>(context);
    attach<RingAttentionGradOp, traceAttentionGrad>(context);
    attach<UnsliceOp, traceUnslice>(context);
    attach<ReorderOp, traceReorder>(context);
    attach<PositionsOp, tracePositions>(context);
    attach<CutPositionsOp, tracePositions>(context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attach<tensor::EmptyOp, traceEmpty>(context);
    attach<tensor::ExpandShapeOp, traceExpandShape>(context);
    attach<tensor::CollapseShapeOp, traceCollapseShape>(context);
    attach<tensor::ExtractSliceOp, traceExtractSlice>(context);
    attach<tensor::InsertSliceOp, traceInsertSlice>(context);
  });
}

} // namespace cp
