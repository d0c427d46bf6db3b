//===- CPScanState.cpp - Summaries of scans over ranks ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {

LogicalResult CombineAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  StringRef symbol, int64_t batchDims) {
  if (symbol.empty())
    return emitError() << "combine_c1: the symbol is empty; name the runtime's "
                          "function that combines two summaries";
  if (symbol.ends_with("_with"))
    return emitError()
           << "combine_c1: the symbol must not end in \"_with\", but "
              "is \""
           << symbol << "\"; name the function otherwise";
  if (batchDims < 0)
    return emitError() << "combine_c1: batch_dims must be at least 0, but is "
                       << batchDims;
  return success();
}

//===----------------------------------------------------------------------===//
// The text: the types of a summary, and of a total if there is one
//===----------------------------------------------------------------------===//

ParseResult parseScanTypes(OpAsmParser &parser, SmallVectorImpl<Type> &summary,
                           SmallVectorImpl<Type> &sums) {
  if (parser.parseTypeList(summary))
    return failure();
  llvm::append_range(sums, summary);
  if (succeeded(parser.parseOptionalKeyword("total")))
    return parser.parseTypeList(sums);
  return success();
}

void printScanTypes(OpAsmPrinter &printer, Operation *, TypeRange summary,
                    TypeRange sums) {
  printer << summary;
  if (sums.size() > summary.size())
    printer << " total " << sums.drop_front(summary.size());
}

//===----------------------------------------------------------------------===//
// ScanStateOp
//===----------------------------------------------------------------------===//

/// The type of the whole sequence's sum, of which a rank has `parts` parts.
static Type totalType(Value summary, int64_t parts) {
  auto type = cast<RankedTensorType>(summary.getType());
  SmallVector<int64_t> shape(type.getShape());
  if (parts > 1 && !shape.empty() && !ShapedType::isDynamic(shape[0]))
    shape[0] /= parts;
  return type.clone(shape);
}

void ScanStateOp::build(OpBuilder &builder, OperationState &state,
                        ValueRange summary, bool hasTotal, MeshAttr mesh,
                        ArrayAttr cuts, ScanAlgorithm algorithm, bool reverse,
                        CombineAttr combine) {
  SmallVector<Type> sums(summary.getTypes());
  if (hasTotal) {
    int64_t parts = partsPerRank(cutsOf(mesh, cuts)).value_or(1);
    for (Value tensor : summary)
      sums.push_back(totalType(tensor, parts));
  }
  build(builder, state, sums, summary, mesh, cuts, algorithm, reverse, combine);
}

int64_t ScanStateOp::getUnitDims() {
  if (CombineAttr combine = getCombineAttr())
    return combine.getBatchDims();
  return shapeOf(getSummary().front()).size();
}

/// A decay and a state, or tensors that all count the same units.
static LogicalResult verifySummary(ScanStateOp op) {
  OperandRange summary = op.getSummary();
  CombineAttr combine = op.getCombineAttr();
  if (!combine && summary.size() != 2)
    return op.emitOpError(
               "scan_state_c2: a summary is a decay and a state, but "
               "has ")
           << summary.size()
           << " tensors; give two, or say how such summaries combine";
  if (summary.empty())
    return op.emitOpError("scan_state_c2: a summary is one tensor or more, but "
                          "there is none");
  auto dims = static_cast<size_t>(op.getUnitDims());
  ArrayRef<int64_t> first = shapeOf(summary.front());
  for (Value tensor : summary) {
    ArrayRef<int64_t> shape = shapeOf(tensor);
    if (shape.size() >= dims && first.size() >= dims &&
        shape.take_front(dims) == first.take_front(dims))
      continue;
    InFlightDiagnostic error = op.emitOpError("scan_state_c2: ");
    if (combine)
      error << "all tensors must begin with the same " << dims
            << " sizes, which batch_dims says";
    else
      error << "decay's sizes must be the first of state's";
    return error << ", but the types are " << summary.front().getType()
                 << " and " << tensor.getType();
  }
  return success();
}

/// The parts of a rank can be told apart.
static LogicalResult verifyTurns(ScanStateOp op, int64_t parts) {
  ArrayRef<int64_t> first = shapeOf(op.getSummary().front());
  if (parts == 1 || (op.getUnitDims() > 0 && (ShapedType::isDynamic(first[0]) ||
                                              first[0] % parts == 0)))
    return success();
  return op.emitOpError("scan_state_c3: in this order dimension 0 holds the "
                        "summaries of ")
         << parts << " parts in turn and must be a multiple of it, but "
         << (op.getCombine() ? "the first tensor is " : "decay is ")
         << op.getSummary().front().getType()
         << (op.getCombine() && op.getUnitDims() == 0
                 ? " and dimension 0 is none of batch_dims"
                 : "");
}

static LogicalResult verifySums(ScanStateOp op, int64_t parts) {
  size_t count = op.getSummary().size();
  if (op.getSums().size() < count)
    return op.emitOpError("scan_state_c1: there must be a result for each of "
                          "the ")
           << count << " tensors of a summary, but there are "
           << op.getSums().size();
  for (auto [sum, tensor] : llvm::zip_equal(op.getPrefix(), op.getSummary()))
    if (failed(
            expectType(op, "scan_state_c1", "a result", sum, tensor.getType())))
      return failure();
  ResultRange total = op.getTotal();
  if (!total.empty() && total.size() != count)
    return op.emitOpError("scan_state_c4: a total is ")
           << (op.getCombine() ? "of as many tensors as a summary"
                               : "a decay and a state")
           << ", but has " << total.size() << " tensors; give " << count
           << ", or none";
  for (auto [sum, tensor] : llvm::zip(total, op.getSummary()))
    if (failed(expectType(op, "scan_state_c4", "the total", sum,
                          totalType(tensor, parts))))
      return failure();
  return success();
}

LogicalResult ScanStateOp::verify() {
  if (failed(verifyGroup(*this, getMesh(), getAxes())) ||
      failed(expectOneElementType(*this, "scan_state_c1")) ||
      failed(verifySummary(*this)))
    return failure();
  FailureOr<int64_t> parts = verifyParts(*this, getMesh(), getCuts());
  if (failed(parts) || failed(verifyTurns(*this, *parts)))
    return failure();
  return verifySums(*this, *parts);
}

void ScanStateOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (getCombine())
    setName(getPrefix().front(), "prefix");
  else if (getPrefix().size() == 2) {
    setName(getPrefix()[0], "prefix_decay");
    setName(getPrefix()[1], "prefix_state");
  }
  if (!getTotal().empty())
    setName(getTotal().front(), "total");
}

//===----------------------------------------------------------------------===//
// What it becomes
//===----------------------------------------------------------------------===//

StringRef ScanStateOp::getRuntimeCallback() {
  return getCombine() ? getCombineAttr().getSymbol() : StringRef();
}

} // namespace cp
