//===- CPLocalOps.cpp - Verifiers of the local ops --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace cp {

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

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

static LogicalResult expectDim(Operation *op, StringRef label, int64_t dim,
                               Value tensor) {
  int64_t rank = shapeOf(tensor).size();
  if (dim >= 0 && dim < rank)
    return success();
  return op->emitOpError() << label << ": the dimension must be below " << rank
                           << ", but is " << dim;
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
// HaloOp
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// One dimension, one group
//===----------------------------------------------------------------------===//

/// The result must be the source with `dim` multiplied (`grows`) or divided by
/// the size of the group.
template <typename OpTy>
static LogicalResult verifyDimOp(OpTy op, StringRef name, bool grows) {
  if (failed(verifyGroup(op, op.getMesh(), op.getAxes())) ||
      failed(expectDim(op, (name + "_c1").str(), op.getDim(), op.getSource())))
    return failure();
  SmallVector<int64_t> shape(shapeOf(op.getSource()));
  int64_t &size = shape[op.getDim()], ranks = op.getGroupSize();
  std::string label = (name + "_c2").str();
  if (!grows && failed(expectDivides(op, label, "the group's size", ranks,
                                     "the dimension", size)))
    return failure();
  if (grows && failed(multiplySize(op, label, size, ranks)))
    return failure();
  if (!grows && !ShapedType::isDynamic(size))
    size /= ranks;
  if (failed(expectReshaped(op, label, "the result", op.getResult(),
                            op.getSource(), shape)))
    return failure();
  if (failed(verifyOneOrder(op, op.getMesh(), op.getCuts())))
    return failure();
  // Of a slice from a known dimension to one that is not, the part is known.
  Value part = grows ? op.getSource() : op.getResult();
  int64_t known =
      grows || ShapedType::isDynamic(size) ? shapeOf(part)[op.getDim()] : size;
  return verifyDivides(op, op.getMesh(), op.getCuts(), op.getDim(), known);
}

LogicalResult AllGatherOp::verify() {
  return verifyDimOp(*this, "all_gather", /*grows=*/true);
}
LogicalResult SliceOp::verify() {
  return verifyDimOp(*this, "slice", /*grows=*/false);
}
LogicalResult ReduceScatterOp::verify() {
  return verifyDimOp(*this, "reduce_scatter", /*grows=*/false);
}
LogicalResult AllReduceOp::verify() {
  return verifyGroup(*this, getMesh(), getAxes());
}
LogicalResult ShiftOp::verify() {
  return verifyGroup(*this, getMesh(), getAxes());
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
  return success();
}

//===----------------------------------------------------------------------===//
// CallOp
//===----------------------------------------------------------------------===//

bool CallOp::accumulates() {
  auto flag = dyn_cast_if_present<BoolAttr>(getConfig().find("accumulate"));
  return flag && flag.getValue();
}

/// Whether an integer or bool fits in a word of the runtime's tables.
static bool isWord(Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && (number.getType().isIndex() ||
                    (number.getType().isSignlessInteger() &&
                     number.getType().getIntOrFloatBitWidth() <= 64));
}

LogicalResult CallOp::verify() {
  auto tensor = llvm::IsaPred<RankedTensorType>;
  auto memref = llvm::IsaPred<MemRefType>;
  bool tensors = llvm::all_of(getOuts().getTypes(), tensor);
  bool memrefs = llvm::all_of(getOuts().getTypes(), memref);
  if (getOuts().empty() || (!tensors && !memrefs))
    return emitOpError(
        "call_c1: there must be outs, all tensors or all memrefs");
  for (Type type : getIns().getTypes())
    if (tensors ? !tensor(type) : !memref(type))
      return emitOpError(
                 "call_c1: ins must be tensors or memrefs, as outs are, "
                 "but ")
             << type << " was found";
  if (tensors ? getResultTypes() != getOuts().getTypes() : getNumResults() != 0)
    return emitOpError("call_c2: there must be ")
           << (tensors ? "one result of the type of each out" : "no results");
  for (NamedAttribute attribute : getConfig().getEntries())
    if (!isWord(attribute.getValue()) &&
        !isa<FloatAttr, DenseI64ArrayAttr>(attribute.getValue()))
      return emitOpError("call_c3: attribute ")
             << attribute.getName()
             << " must be a bool, a signless integer of at most 64 bits, a "
                "float or an array of i64, but is "
             << attribute.getValue();
  int64_t before = -1;
  auto numIns = static_cast<int64_t>(getIns().size());
  for (int64_t place : getAbsent().value_or(ArrayRef<int64_t>())) {
    int64_t end = numIns + static_cast<int64_t>(getAbsent()->size());
    if (place <= before || place >= end)
      return emitOpError("call_c5: places of inputs that are left out must be "
                         "from 0 to ")
             << end - 1 << ", each once and in their order, but are "
             << getAbsentAttr();
    before = place;
  }
  if (getSymbol().ends_with("_with"))
    return emitOpError("call_c4: the symbol must not end in \"_with\", but is ")
           << getSymbolAttr()
           << "; leave that off, and name the function by `with`";
  if (std::optional<StringRef> callback = getCallback();
      callback && (callback->empty() || callback->ends_with("_with")))
    return emitOpError("call_c4: the function's symbol must be an operation's, "
                       "not empty and without \"_with\" at its end, but is ")
           << getCallbackAttr();
  return success();
}

void CallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  effects.emplace_back(MemoryEffects::Read::get(),
                       CommunicationResource::get());
  for (OpOperand &operand : getInsMutable())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
  for (OpOperand &operand : getOutsMutable()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (accumulates())
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
    effects.emplace_back(MemoryEffects::Write::get(), &operand,
                         SideEffects::DefaultResource::get());
  }
}

} // namespace cp

#define GET_OP_CLASSES
#include "cp/IR/CPOps.cpp.inc"
