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

int64_t groupSize(MeshAttr mesh, ArrayAttr axes) {
  Mesh value = mesh.toMesh();
  int64_t size = 1;
  for (StringAttr axis : axes.getAsRange<StringAttr>())
    size *= value.axes[value.findAxis(axis.getValue())].size;
  return size;
}

static LogicalResult verifyGroup(Operation *op, MeshAttr mesh, ArrayAttr axes) {
  if (axes.empty())
    return op->emitOpError("group_c1: at least one axis must be named");
  Mesh value = mesh.toMesh();
  llvm::SmallDenseSet<Attribute> seen;
  for (StringAttr axis : axes.getAsRange<StringAttr>()) {
    if (value.findAxis(axis.getValue()) < 0)
      return op->emitOpError("group_c1: ") << mesh << " has no axis " << axis;
    if (!seen.insert(axis).second)
      return op->emitOpError("group_c1: axis ") << axis << " is named twice";
  }
  return success();
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
           << split << " of operand " << i << ", of size " << size
           << ", repeated " << times << " times in units of " << unit
           << ", cannot be split over " << ranks << " ranks";
  if (known)
    shape[split] /= ranks;
  return expectReshaped(op, "all_to_all_c3", "a result", result, source, shape);
}

LogicalResult AllToAllOp::verify() {
  if (failed(verifyGroup(*this, getMesh(), getAxes())))
    return failure();
  size_t count = getSources().size();
  auto fits = [&](auto array) { return !array || array->size() == count; };
  if (count == 0 || getResults().size() != count ||
      getConcatDims().size() != count || getSplitDims().size() != count ||
      !fits(getConcatZigzag()) || !fits(getSplitZigzag()) ||
      !fits(getRepeats()) || !fits(getRepeatUnits()))
    return emitOpError("all_to_all_c1: results and arrays must have one entry "
                       "for each of the ")
           << count << " operands, and there must be one";
  for (size_t i = 0; i < count; ++i)
    if (failed(verifyAllToAllEntry(*this, i)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// HaloOp, ScanStateOp
//===----------------------------------------------------------------------===//

LogicalResult HaloOp::verify() {
  if (failed(verifyGroup(*this, getMesh(), getAxes())))
    return failure();
  size_t count = getSources().size();
  if (count == 0 || getResults().size() != count ||
      (!getInitial().empty() && getInitial().size() != count))
    return emitOpError("halo_c1: there must be one result for each of the ")
           << count << " sources, and as many initial rows or none";
  int64_t dim = getDim(), before = getBefore();
  if (failed(expectAtLeast(*this, "halo_c2", "before", before, 1)))
    return failure();
  for (auto [source, result] : llvm::zip_equal(getSources(), getResults())) {
    if (failed(expectDim(*this, "halo_c2", dim, source)))
      return failure();
    SmallVector<int64_t> shape(shapeOf(source));
    if (!ShapedType::isDynamic(shape[dim]) && before > shape[dim])
      return emitOpError("halo_c2: a halo of ")
             << before << " rows is longer than a rank's " << shape[dim]
             << " rows; use fewer ranks or a longer sequence";
    shape[dim] = before;
    if (failed(expectReshaped(*this, "halo_c3", "a result", result, source,
                              shape)))
      return failure();
  }
  for (auto [initial, result] : llvm::zip(getInitial(), getResults()))
    if (failed(expectType(*this, "halo_c3", "initial rows", initial,
                          result.getType())))
      return failure();
  return success();
}

void HaloOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (!getResults().empty())
    setName(getResults().front(), "halo");
}

LogicalResult ScanStateOp::verify() {
  if (failed(verifyGroup(*this, getMesh(), getAxes())) ||
      failed(expectOneElementType(*this, "scan_state_c1")))
    return failure();
  ArrayRef<int64_t> decay = shapeOf(getDecay()), state = shapeOf(getState());
  if (decay.size() > state.size() || decay != state.take_front(decay.size()))
    return emitOpError("scan_state_c2: decay's sizes must be the first of "
                       "state's, but the types are ")
           << getDecay().getType() << " and " << getState().getType();
  return success();
}

void ScanStateOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getPrefixDecay(), "prefix_decay");
  setName(getPrefixState(), "prefix_state");
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
  return expectReshaped(op, label, "the result", op.getResult(), op.getSource(),
                        shape);
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
  return expectDivides(*this, "reorder_c1", "2", 2, "the dimension",
                       shapeOf(getSource())[getDim()]);
}

//===----------------------------------------------------------------------===//
// The halves of a scan
//===----------------------------------------------------------------------===//

static int64_t chunkCount(int64_t length, int64_t chunkSize) {
  return ShapedType::isDynamic(length)
             ? length
             : static_cast<int64_t>(llvm::divideCeil(length, chunkSize));
}

LogicalResult SsdStatesOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), b = shapeOf(getB());
  int64_t batch = x[0], length = x[1], heads = x[2];
  if (failed(expectAtLeast(*this, "ssd_states_c2", "chunk_size", getChunkSize(),
                           1)) ||
      failed(expectStepLimits(*this, "ssd_states_c2", getDtMin(), getDtMax())))
    return failure();
  int64_t chunks = chunkCount(length, getChunkSize());
  StringRef c1 = "ssd_states_c1", c2 = "ssd_states_c2";
  if (failed(expectShape(*this, c1, "dt", getDt(), {batch, length, heads})) ||
      failed(expectShape(*this, c1, "A_log", getALog(), {heads})) ||
      failed(expectShape(*this, c1, "dt_bias", getDtBias(), {heads})) ||
      failed(
          expectShape(*this, c1, "B", getB(), {batch, length, b[2], b[3]})) ||
      failed(expectGroups(*this, c1, b[2], heads)) ||
      failed(expectShape(*this, c2, "decay", getDecay(), {batch, heads})) ||
      failed(expectShape(*this, c2, "state", getState(),
                         {batch, heads, x[3], b[3]})) ||
      failed(expectShape(*this, c2, "chunk states", getChunkStates(),
                         {batch, chunks, heads, x[3], b[3]})) ||
      failed(expectShape(*this, c2, "log decay", getLogDecay(),
                         {batch, length, heads})))
    return failure();
  return expectShape(*this, c2, "delta", getDelta(), {batch, length, heads});
}

void SsdStatesOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getDecay(), "decay");
  setName(getState(), "state");
  setName(getChunkStates(), "chunk_states");
  setName(getLogDecay(), "log_decay");
  setName(getDelta(), "delta");
}

LogicalResult SsdScanOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), b = shapeOf(getB());
  int64_t batch = x[0], length = x[1], heads = x[2];
  SmallVector<int64_t> state = {batch, heads, x[3], b[3]};
  StringRef c1 = "ssd_scan_c1", c2 = "ssd_scan_c2";
  if (failed(expectAtLeast(*this, c2, "chunk_size", getChunkSize(), 1)))
    return failure();
  int64_t chunks = chunkCount(length, getChunkSize());
  if (failed(expectType(*this, c1, "y", getY(), getX().getType())) ||
      failed(
          expectShape(*this, c1, "B", getB(), {batch, length, b[2], b[3]})) ||
      failed(expectType(*this, c1, "C", getC(), getB().getType())) ||
      failed(expectGroups(*this, c1, b[2], heads)) ||
      failed(expectSkip(*this, c1, getD(), heads, x[3])) ||
      failed(expectShape(*this, c2, "chunk states", getChunkStates(),
                         {batch, chunks, heads, x[3], b[3]})) ||
      failed(expectShape(*this, c2, "log decay", getLogDecay(),
                         {batch, length, heads})) ||
      failed(expectShape(*this, c2, "delta", getDelta(),
                         {batch, length, heads})) ||
      failed(expectShape(*this, c2, "the prefix decay", getPrefixDecay(),
                         {batch, heads})) ||
      failed(expectShape(*this, c2, "the prefix state", getPrefixState(),
                         state)) ||
      failed(expectShape(*this, c2, "the initial state", getInitial(), state)))
    return failure();
  return expectShape(*this, c2, "the final state", getFinalState(), state);
}

void SsdScanOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getY(), "y");
  setName(getFinalState(), "final_state");
}

//===----------------------------------------------------------------------===//
// CallOp
//===----------------------------------------------------------------------===//

bool CallOp::accumulates() {
  auto flag = getConfig().getAs<BoolAttr>("accumulate");
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
  for (NamedAttribute attribute : getConfig())
    if (!isWord(attribute.getValue()) &&
        !isa<FloatAttr, DenseI64ArrayAttr>(attribute.getValue()))
      return emitOpError("call_c3: attribute ")
             << attribute.getName()
             << " must be a bool, a signless integer of at most 64 bits, a "
                "float or an array of i64, but is "
             << attribute.getValue();
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
