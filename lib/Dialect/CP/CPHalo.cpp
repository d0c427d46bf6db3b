//===- CPHalo.cpp - Rows of the parts before or behind ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {

HaloRows HaloOp::getRows() {
  if (std::optional<uint64_t> after = getAfter())
    return {static_cast<int64_t>(*after), /*isReverse=*/true};
  return {static_cast<int64_t>(getBefore().value_or(0)), false};
}

void HaloOp::build(OpBuilder &builder, OperationState &state, TypeRange results,
                   ValueRange sources, ValueRange initial, MeshAttr mesh,
                   ArrayAttr cuts, int64_t dim, HaloRows rows) {
  IntegerAttr count = builder.getI64IntegerAttr(rows.count), none;
  build(builder, state, results, sources, initial, mesh, cuts,
        builder.getI64IntegerAttr(dim), rows.isReverse ? none : count,
        rows.isReverse ? count : none);
}

/// One source and its result, of sequences of which a rank has so many parts.
static LogicalResult verifyHaloEntry(HaloOp op, Value source, Value result,
                                     int64_t parts) {
  int64_t dim = op.getDim();
  if (failed(expectDim(op, "halo_c2", dim, source)))
    return failure();
  SmallVector<int64_t> shape(shapeOf(source));
  int64_t rows = shape[dim];
  if (!ShapedType::isDynamic(rows) && rows % parts)
    return op.emitOpError("halo_c4: in this order a rank's rows are ")
           << parts << " parts of one size, but there are " << rows
           << "; use another length or number of ranks";
  shape[dim] = op.getRows().count;
  if (failed(multiplySize(op, "halo_c4", shape[dim], parts)))
    return failure();
  return expectReshaped(op, "halo_c3", "a result", result, source, shape);
}

LogicalResult HaloOp::verify() {
  if (failed(verifyGroup(*this, getMesh(), getAxes())))
    return failure();
  size_t count = getSources().size();
  if (count == 0 || getResults().size() != count ||
      (!getInitial().empty() && getInitial().size() != count))
    return emitOpError("halo_c1: there must be one result for each of the ")
           << count << " sources, and as many initial rows or none";
  if (getBefore().has_value() == getAfter().has_value())
    return emitOpError("halo_c2: there must be one of before and after, but ")
           << (getBefore() ? "both are" : "none is") << " given";
  HaloRows rows = getRows();
  FailureOr<int64_t> parts = verifyParts(*this, getMesh(), getCuts());
  if (failed(parts) ||
      failed(expectAtLeast(*this, "halo_c2",
                           rows.isReverse ? "after" : "before", rows.count, 1)))
    return failure();
  for (auto [source, result] : llvm::zip_equal(getSources(), getResults()))
    if (failed(verifyHaloEntry(*this, source, result, *parts)))
      return failure();
  for (auto [initial, source] : llvm::zip(getInitial(), getSources())) {
    SmallVector<int64_t> shape(shapeOf(source));
    shape[getDim()] = rows.count;
    Type expected = cast<RankedTensorType>(source.getType()).clone(shape);
    if (failed(expectType(*this, "halo_c3", "initial rows", initial, expected)))
      return failure();
  }
  return success();
}

void HaloOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (!getResults().empty())
    setName(getResults().front(), "halo");
}

} // namespace cp
