//===- CPCollectives.cpp - Ops that move between ranks ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace cp {

std::vector<int> axisPositions(MeshAttr mesh, ArrayAttr axes) {
  std::vector<int> positions;
  for (StringAttr axis : axes.getAsRange<StringAttr>())
    positions.push_back(mesh.findAxis(axis));
  return positions;
}

int64_t groupSize(MeshAttr mesh, ArrayAttr axes) {
  int64_t size = 1;
  for (int axis : axisPositions(mesh, axes))
    size *= mesh.getSizes()[axis];
  return size;
}

//===----------------------------------------------------------------------===//
// AllToAllOp
//===----------------------------------------------------------------------===//

/// The cut of dimension `dim`, of which a rank has `part`, if one is told.
static LogicalResult verifyAllToAllCut(AllToAllOp op,
                                       std::optional<ArrayAttr> cuts, size_t i,
                                       int64_t dim, int64_t part) {
  if (!cuts)
    return success();
  ArrayAttr own = ArrayAttr::get(op.getContext(), {(*cuts)[i]});
  if (axesOf(own) != op.getAxes())
    return op.emitOpError("all_to_all_c4: with cuts the group has one axis, "
                          "that of each cut, but the axes are ")
           << op.getAxes() << " and a cut is " << (*cuts)[i];
  return verifyDivides(op, op.getMesh(), own, dim, part);
}

static LogicalResult verifyAllToAllEntry(AllToAllOp op, size_t i) {
  Value source = op.getSources()[i], result = op.getResults()[i];
  int64_t concat = op.getConcatDims()[i], split = op.getSplitDims()[i];
  if (failed(expectDim(op, "all_to_all_c2", concat, source)) ||
      failed(expectDim(op, "all_to_all_c2", split, source)))
    return failure();
  if (concat == split)
    return op.emitOpError(
               "all_to_all_c2: concat and split dimension of operand ")
           << i << " must differ, but both are " << split;
  SmallVector<int64_t> shape(shapeOf(source));
  int64_t ranks = op.getGroupSize();
  int64_t times = op.getRepeats() ? (*op.getRepeats())[i] : 1;
  int64_t unit = op.getRepeatUnits() ? (*op.getRepeatUnits())[i] : 1;
  int64_t size = shape[split];
  if (failed(multiplySize(op, "all_to_all_c3", shape[concat], ranks)) ||
      failed(multiplySize(op, "all_to_all_c3", shape[split],
                          std::max<int64_t>(times, 1))))
    return failure();
  bool known = !ShapedType::isDynamic(size);
  if (times < 1 || unit < 1 || (known && (size % unit || shape[split] % ranks)))
    return op.emitOpError("all_to_all_c3: dimension ")
           << split << " of operand " << i << ", of size " << sizeText(size)
           << ", repeated " << times << " times in units of " << unit
           << ", cannot be split over " << ranks << " ranks";
  if (known)
    shape[split] /= ranks;
  if (failed(expectReshaped(op, "all_to_all_c3", "a result", result, source,
                            shape)))
    return failure();
  if (failed(verifyAllToAllCut(op, op.getConcatCuts(), i, concat,
                               shapeOf(source)[concat])))
    return failure();
  return verifyAllToAllCut(op, op.getSplitCuts(), i, split,
                           known ? shape[split] : shapeOf(result)[split]);
}

LogicalResult AllToAllOp::verify() {
  if (failed(verifyGroup(*this, getMesh(), getAxes())))
    return failure();
  size_t count = getSources().size();
  auto fits = [&](auto array) { return !array || array->size() == count; };
  if (count == 0 || getResults().size() != count ||
      getConcatDims().size() != count || getSplitDims().size() != count ||
      !fits(getConcatCuts()) || !fits(getSplitCuts()) || !fits(getRepeats()) ||
      !fits(getRepeatUnits()))
    return emitOpError("all_to_all_c1: results and arrays must have one entry "
                       "for each of the ")
           << count << " operands, and there must be one";
  for (size_t i = 0; i < count; ++i)
    if (failed(verifyAllToAllEntry(*this, i)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// One dimension, one group
//===----------------------------------------------------------------------===//

/// One tensor of an op whose result is its source with dimension `dim`
/// multiplied (`grows`) or divided by the size of the group. `name` is the
/// op's, for labels.
template <typename OpTy>
static LogicalResult verifyDim(OpTy op, StringRef name, bool grows,
                               Value source, Value result) {
  if (failed(expectDim(op, (name + "_c1").str(), op.getDim(), source)))
    return failure();
  SmallVector<int64_t> shape(shapeOf(source));
  int64_t &size = shape[op.getDim()], ranks = op.getGroupSize();
  std::string label = (name + "_c2").str();
  if (!grows && failed(expectDivides(op, label, "the group's size", ranks,
                                     "the dimension", size)))
    return failure();
  if (grows && failed(multiplySize(op, label, size, ranks)))
    return failure();
  if (!grows && !ShapedType::isDynamic(size))
    size /= ranks;
  if (failed(expectReshaped(op, label, "the result", result, source, shape)))
    return failure();
  if (failed(verifyOneOrder(op, op.getMesh(), op.getCuts())))
    return failure();
  // Of a slice from a known dimension to one that is not, the part is known.
  Value part = grows ? source : result;
  int64_t known =
      grows || ShapedType::isDynamic(size) ? shapeOf(part)[op.getDim()] : size;
  return verifyDivides(op, op.getMesh(), op.getCuts(), op.getDim(), known);
}

/// The same for an op of one tensor.
template <typename OpTy>
static LogicalResult verifyDimOp(OpTy op, StringRef name, bool grows) {
  if (failed(verifyGroup(op, op.getMesh(), op.getAxes())))
    return failure();
  return verifyDim(op, name, grows, op.getSource(), op.getResult());
}

/// The same for one of several.
template <typename OpTy>
static LogicalResult verifyDimExchange(OpTy op, StringRef name, bool grows) {
  if (failed(verifyGroup(op, op.getMesh(), op.getAxes())))
    return failure();
  if (op.getSources().empty() ||
      op.getSources().size() != op.getResults().size())
    return op.emitOpError(name)
           << "_c1: must have as many results as sources, one or more, but has "
           << op.getResults().size() << " of " << op.getSources().size();
  for (auto [source, result] : llvm::zip(op.getSources(), op.getResults()))
    if (failed(verifyDim(op, name, grows, source, result)))
      return failure();
  return success();
}

LogicalResult AllGatherOp::verify() {
  return verifyDimExchange(*this, "all_gather", /*grows=*/true);
}
LogicalResult SliceOp::verify() {
  return verifyDimOp(*this, "slice", /*grows=*/false);
}
LogicalResult UnsliceOp::verify() {
  Type element = getElementTypeOrSelf(getSource());
  if (!isa<FloatType>(element))
    return emitOpError(
               "unslice_c3: a term of a sum must hold floats, but holds ")
           << element << "; gather it instead";
  return verifyDimOp(*this, "unslice", /*grows=*/true);
}
LogicalResult ReduceScatterOp::verify() {
  return verifyDimExchange(*this, "reduce_scatter", /*grows=*/false);
}
LogicalResult AllReduceOp::verify() {
  if (getSources().empty())
    return emitOpError("all_reduce_c1: adds one tensor or more, but has none");
  return verifyGroup(*this, getMesh(), getAxes());
}
LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location>,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getSources().getTypes());
  return success();
}
LogicalResult ShiftOp::verify() {
  return verifyGroup(*this, getMesh(), getAxes());
}

static LogicalResult verifyDocuments(ReorderOp op) {
  bool isWanted = isPerDocument(jointCut(cutsOf(op.getMesh(), op.getFrom()))) ||
                  isPerDocument(jointCut(cutsOf(op.getMesh(), op.getTo())));
  if (isWanted != static_cast<bool>(op.getDocuments()))
    return op.emitOpError("reorder_c4: ")
           << (isWanted
                   ? "an order per document takes documents, but there are "
                     "none; give the lists where documents end"
                   : "there are documents, but no order per document; leave "
                     "them out");
  if (isWanted && op.getDim() == 0)
    return op.emitOpError("reorder_c4: the first dimension must be the batch, "
                          "whose elements have documents, but it is dim");
  return expectDocuments(op, "reorder_c4", op.getDocuments(),
                         shapeOf(op.getSource())[0]);
}

LogicalResult ReorderOp::verify() {
  if (failed(verifyGroup(*this, getMesh(), getAxes())) ||
      failed(expectDim(*this, "reorder_c1", getDim(), getSource())))
    return failure();
  if (axesOf(getTo()) != getAxes())
    return emitOpError("reorder_c2: both cuts must be over the same axes, but "
                       "are over ")
           << getAxes() << " and " << axesOf(getTo());
  int64_t size = shapeOf(getSource())[getDim()];
  for (ArrayAttr cuts : {getFrom(), getTo()})
    if (failed(verifyOneOrder(*this, getMesh(), cuts)) ||
        failed(verifyDivides(*this, getMesh(), cuts, getDim(), size)))
      return failure();
  if (samePlaces(jointCut(cutsOf(getMesh(), getFrom())),
                 jointCut(cutsOf(getMesh(), getTo()))))
    return emitOpError("reorder_c3: the orders before and after must differ; "
                       "name at least one that is not contiguous");
  return verifyDocuments(*this);
}

} // namespace cp
