//===- CPOps.cpp - Verifiers and folds of the logical ops -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {

//===----------------------------------------------------------------------===//
// ReshardOp
//===----------------------------------------------------------------------===//

/// The layouts stand in the types.
static LogicalResult verifyGlobalReshard(ReshardOp op) {
  if (op.getFrom() || op.getTo())
    return op.emitOpError("reshard_c2: the types have layouts, so 'from' and "
                          "'to' must not be there; remove them");
  return expectShape(op, "reshard_c1", "the result", op.getResult(),
                     op.getSource().getType().getShape());
}

/// Finds the whole shape of which `local` is one rank's part.
static LogicalResult wholeShape(ReshardOp op, LayoutAttr layout,
                                RankedTensorType local,
                                SmallVectorImpl<int64_t> &shape) {
  shape.assign(local.getShape().begin(), local.getShape().end());
  Layout value = layout.toLayout();
  for (auto [size, cuts] : llvm::zip_equal(shape, value.dims))
    for (const Cut &cut : cuts)
      if (failed(multiplySize(op, "reshard_c5", size,
                              value.mesh.axes[cut.axis].size)))
        return failure();
  return layout.verifyEncoding(shape, local.getElementType(),
                               [&] { return op.emitOpError("reshard_c5: "); });
}

/// The layouts stand in `from` and `to`.
static LogicalResult verifyLocalReshard(ReshardOp op) {
  RankedTensorType source = op.getSource().getType();
  RankedTensorType result = op.getResult().getType();
  if (!op.getFrom() || !op.getTo() || LayoutAttr::of(source))
    return op.emitOpError(
        "reshard_c2: the result must have a layout, or 'from' "
        "and 'to' must both be there and no layout in a type");
  if (op.getFrom()->getRank() != source.getRank() ||
      op.getTo()->getRank() != result.getRank())
    return op.emitOpError(
               "reshard_c2: 'from' and 'to' must have the rank of the "
               "types, ")
           << source.getRank() << " and " << result.getRank();
  SmallVector<int64_t> before, after;
  if (failed(wholeShape(op, *op.getFrom(), source, before)) ||
      failed(wholeShape(op, *op.getTo(), result, after)))
    return failure();
  if (before != after)
    return op.emitOpError(
               "reshard_c5: the types must be parts of one shape, but "
               "are parts of ")
           << sizesText(before) << " and " << sizesText(after);
  return success();
}

LogicalResult ReshardOp::verify() {
  RankedTensorType source = getSource().getType();
  RankedTensorType result = getResult().getType();
  if (source.getElementType() != result.getElementType())
    return emitOpError("reshard_c1: element types must agree, but ")
           << source.getElementType() << " and " << result.getElementType()
           << " were found";
  if (failed(LayoutAttr::of(result) ? verifyGlobalReshard(*this)
                                    : verifyLocalReshard(*this)))
    return failure();
  LayoutAttr from = getFrom().value_or(LayoutAttr::of(source));
  LayoutAttr to = getTo().value_or(LayoutAttr::of(result));
  if (!from)
    return success();
  if (from.getMesh() != to.getMesh())
    return emitOpError("reshard_c3: both layouts must be of one mesh, but ")
           << from.getMesh() << " and " << to.getMesh() << " were found";
  for (int64_t axis : to.getPartial())
    if (!llvm::is_contained(from.getPartial(), axis))
      return emitOpError("reshard_c4: axis ")
             << to.getMesh().getNames()[axis]
             << " cannot become partial: a full value has no summands to give";
  return success();
}

OpFoldResult ReshardOp::fold(FoldAdaptor) {
  bool same = getFrom() ? getFrom() == getTo()
                        : getSource().getType() == getResult().getType();
  return same ? OpFoldResult(getSource()) : OpFoldResult();
}

void ReshardOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "resharded");
}

//===----------------------------------------------------------------------===//
// MambaMixerOp
//===----------------------------------------------------------------------===//

SmallVector<int64_t, 5> MambaMixerOp::getSectionSizes() {
  int64_t shared = getNumGroups() * getStateSize();
  return {getInnerSize(), getInnerSize(), shared, shared,
          static_cast<int64_t>(getNumHeads())};
}

static LogicalResult verifyMixerSizes(MambaMixerOp op) {
  std::pair<StringRef, int64_t> sizes[] = {
      {"num_heads", op.getNumHeads()},   {"head_dim", op.getHeadDim()},
      {"num_groups", op.getNumGroups()}, {"state_size", op.getStateSize()},
      {"chunk_size", op.getChunkSize()}, {"norm_groups", op.getNormGroups()}};
  constexpr int64_t most = int64_t(1) << 24;
  for (auto [name, size] : sizes)
    if (size < 1 || size > most)
      return op.emitOpError("mixer_c2: ") << name << " must be between 1 and "
                                          << most << ", but is " << size;
  if (failed(expectDivides(op, "mixer_c2", "num_groups", op.getNumGroups(),
                           "num_heads", op.getNumHeads())))
    return failure();
  return expectDivides(op, "mixer_c2", "norm_groups", op.getNormGroups(),
                       "num_heads * head_dim", op.getInnerSize());
}

LogicalResult MambaMixerOp::verify() {
  if (failed(expectType(*this, "mixer_c1", "the result", getResult(),
                        getU().getType())) ||
      failed(verifyMixerSizes(*this)))
    return failure();
  int64_t width = shapeOf(getU())[2], inner = getInnerSize();
  SmallVector<int64_t, 5> sections = getSectionSizes();
  int64_t rows = 0;
  for (int64_t size : sections)
    rows += size;
  int64_t channels = inner + 2 * sections[2];
  int64_t window = shapeOf(getConvWeight())[1];
  if (!ShapedType::isDynamic(window) &&
      failed(expectAtLeast(*this, "mixer_c3", "the window", window, 1)))
    return failure();
  std::tuple<StringRef, Value, SmallVector<int64_t>> shapes[] = {
      {"in_proj", getInProj(), {rows, width}},
      {"in_proj bias", getInProjBias(), {rows}},
      {"conv weight", getConvWeight(), {channels, window}},
      {"conv bias", getConvBias(), {channels}},
      {"dt_bias", getDtBias(), {sections[4]}},
      {"A_log", getALog(), {sections[4]}},
      {"norm", getNormWeight(), {inner}},
      {"out_proj", getOutProj(), {width, inner}},
      {"out_proj bias", getOutProjBias(), {width}}};
  for (auto &[what, value, shape] : shapes)
    if (failed(expectShape(*this, "mixer_c3", what, value, shape)))
      return failure();
  if (failed(
          expectSkip(*this, "mixer_c3", getD(), getNumHeads(), getHeadDim())) ||
      failed(expectStepLimits(*this, "mixer_c5", getDtMin(), getDtMax())))
    return failure();
  return expectOneElementType(*this, "mixer_c4");
}

//===----------------------------------------------------------------------===//
// Conv1dOp
//===----------------------------------------------------------------------===//

LogicalResult Conv1dOp::verify() {
  if (failed(expectType(*this, "conv1d_c1", "the result", getResult(),
                        getX().getType())))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX());
  int64_t width = shapeOf(getWeight())[1];
  bool known = !ShapedType::isDynamic(width);
  int64_t before = known ? width - 1 : ShapedType::kDynamic;
  if (failed(expectShape(*this, "conv1d_c2", "the weight", getWeight(),
                         {x[2], width})) ||
      (known &&
       failed(expectAtLeast(*this, "conv1d_c2", "the window", width, 1))) ||
      failed(expectShape(*this, "conv1d_c2", "the bias", getBias(), {x[2]})) ||
      failed(expectShape(*this, "conv1d_c3", "initial", getInitial(),
                         {x[0], before, x[2]})))
    return failure();
  return expectOneElementType(*this, "conv1d_c4");
}

//===----------------------------------------------------------------------===//
// SsdOp
//===----------------------------------------------------------------------===//

LogicalResult SsdOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  ArrayRef<int64_t> b = shapeOf(getB());
  int64_t batch = x[0], length = x[1], heads = x[2], headDim = x[3];
  SmallVector<int64_t> state = {batch, heads, headDim, b[3]};
  if (failed(expectType(*this, "ssd_c1", "y", getY(), getX().getType())) ||
      failed(expectShape(*this, "ssd_c1", "the final state", getFinalState(),
                         state)) ||
      failed(expectShape(*this, "ssd_c2", "dt", getDt(),
                         {batch, length, heads})) ||
      failed(expectShape(*this, "ssd_c2", "A_log", getALog(), {heads})) ||
      failed(expectShape(*this, "ssd_c2", "dt_bias", getDtBias(), {heads})) ||
      failed(expectShape(*this, "ssd_c3", "B", getB(),
                         {batch, length, b[2], b[3]})) ||
      failed(expectType(*this, "ssd_c3", "C", getC(), getB().getType())) ||
      failed(expectGroups(*this, "ssd_c3", b[2], heads)) ||
      failed(expectSkip(*this, "ssd_c4", getD(), heads, headDim)) ||
      failed(expectShape(*this, "ssd_c5", "the initial state", getInitial(),
                         state)) ||
      failed(expectOneElementType(*this, "ssd_c6")) ||
      failed(expectAtLeast(*this, "ssd_c7", "chunk_size", getChunkSize(), 1)))
    return failure();
  return expectStepLimits(*this, "ssd_c7", getDtMin(), getDtMax());
}

void SsdOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getY(), "y");
  setName(getFinalState(), "final_state");
}

//===----------------------------------------------------------------------===//
// RmsNormOp, EmbeddingOp, RepeatOp
//===----------------------------------------------------------------------===//

LogicalResult RmsNormOp::verify() {
  if (getX().getType().getRank() < 1)
    return emitOpError("rms_norm_c1: x must have at least one dimension");
  Type element = getX().getType().getElementType();
  int64_t channels = getX().getType().getShape().back();
  if (failed(expectType(*this, "rms_norm_c1", "the result", getResult(),
                        getX().getType())) ||
      failed(expectType(*this, "rms_norm_c1", "the gate", getGate(),
                        getX().getType())) ||
      failed(expectShape(*this, "rms_norm_c2", "the weight", getWeight(),
                         {channels})))
    return failure();
  if (getWeight() && getWeight().getType().getElementType() != element)
    return emitOpError("rms_norm_c2: the weight must hold ")
           << element << ", but holds "
           << getWeight().getType().getElementType();
  if (failed(expectAtLeast(*this, "rms_norm_c3", "groups", getGroups(), 1)))
    return failure();
  return expectDivides(*this, "rms_norm_c3", "groups", getGroups(),
                       "the number of channels", channels);
}

LogicalResult EmbeddingOp::verify() {
  ArrayRef<int64_t> ids = shapeOf(getIds());
  if (getResult().getType().getElementType() !=
      getTable().getType().getElementType())
    return emitOpError("embedding_c1: the result must hold ")
           << getTable().getType().getElementType() << ", but holds "
           << getResult().getType().getElementType();
  return expectShape(*this, "embedding_c1", "the result", getResult(),
                     {ids[0], ids[1], shapeOf(getTable())[1]});
}

LogicalResult RepeatOp::verify() {
  SmallVector<int64_t> shape(shapeOf(getSource()));
  int64_t dim = getDim();
  if (dim < 0 || dim >= static_cast<int64_t>(shape.size()))
    return emitOpError("repeat_c1: dim must be below ")
           << shape.size() << ", but is " << dim;
  if (failed(expectAtLeast(*this, "repeat_c1", "unit", getUnit(), 1)) ||
      failed(expectAtLeast(*this, "repeat_c1", "times", getTimes(), 1)) ||
      failed(expectDivides(*this, "repeat_c1", "unit", getUnit(), "the size",
                           shape[dim])))
    return failure();
  if (failed(multiplySize(*this, "repeat_c2", shape[dim], getTimes())))
    return failure();
  return expectReshaped(*this, "repeat_c2", "the result", getResult(),
                        getSource(), shape);
}

} // namespace cp
