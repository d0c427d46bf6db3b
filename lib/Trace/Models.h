//===- Models.h - How ids pass through the ops that we know -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRACE_MODELS_H
#define CP_LIB_TRACE_MODELS_H

#include "cp/IR/CPDialect.h"
#include "cp/Trace/OpTrace.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace cp {

/// Attaches TraceOpInterface to ops of ours and of upstream.
void registerTraceModels(mlir::DialectRegistry &registry);

// What they do, one function an op or a few; see TraceOpInterface::trace.
void traceSsd(OpTrace &trace, SsdOp op);
void traceSsdStates(OpTrace &trace, SsdStatesOp op);
void traceSsdScan(OpTrace &trace, SsdScanOp op);
llvm::Error traceScanState(OpTrace &trace, ScanStateOp op);
void traceAttention(OpTrace &trace, mlir::Operation *op);
void tracePositions(OpTrace &trace, mlir::Operation *op);
void traceSsdGrad(OpTrace &trace, SsdGradOp op);
void traceSsdGradStates(OpTrace &trace, SsdGradStatesOp op);
void traceConv1dGrad(OpTrace &trace, Conv1dGradOp op);
void traceAttentionGrad(OpTrace &trace, mlir::Operation *op);
llvm::Error traceUnslice(OpTrace &trace, UnsliceOp op);
void traceExpandShape(OpTrace &trace, mlir::tensor::ExpandShapeOp op);
void traceCollapseShape(OpTrace &trace, mlir::tensor::CollapseShapeOp op);
void traceExtractSlice(OpTrace &trace, mlir::tensor::ExtractSliceOp op);
void traceInsertSlice(OpTrace &trace, mlir::tensor::InsertSliceOp op);

/// Ops that the runtime's own operations move (TraceWorld::runs): exchanges,
/// slices, gathers, halos, repeats.
llvm::Error traceMove(OpTrace &trace, RuntimeOpInterface op);
/// One of these, which by documents moves what it would of a row that is one.
llvm::Error traceReorder(OpTrace &trace, ReorderOp op);
/// Of these, sums over ranks.
llvm::Error traceReduce(OpTrace &trace, RuntimeOpInterface op);
/// Ops that read a window of rows.
void traceWindow(OpTrace &trace, WindowOpInterface op);
/// Whatever computes by a rule of dimensions alone.
void traceCompute(OpTrace &trace);

/// For each rank the ranks with which it takes part in a collective, in order.
std::vector<std::vector<int64_t>> groupsOf(mlir::Operation *op);

} // namespace cp

#endif // CP_LIB_TRACE_MODELS_H
