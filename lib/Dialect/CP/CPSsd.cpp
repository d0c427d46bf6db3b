//===- CPSsd.cpp - The Mamba-2 scan and its halves --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FitHeads.h"
#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace cp {

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
      failed(expectShape(*this, "ssd_c8", "places", getPlaces(),
                         {batch, length})) ||
      failed(expectGoesOn(*this, "ssd_c9", getInitial(), getPlaces())) ||
      failed(expectOneElementType(*this, "ssd_c6")) ||
      failed(expectAtLeast(*this, "ssd_c7", "chunk_size", getChunkSize(), 1)))
    return failure();
  return expectStepLimits(*this, "ssd_c7", getDtMin(), getDtMax());
}

void SsdOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getY(), "y");
  setName(getFinalState(), "final_state");
}

FailureOr<ShardingRule> SsdOp::getShardingRule() {
  std::string text = "b l (g q) p; b l (g q); (g q); b l g .; b l g .";
  if (getD())
    text += shapeOf(getD()).size() == 1 ? "; (g q)" : "; (g q) p";
  if (getDtBias())
    text += "; (g q)";
  if (getInitial())
    text += "; b (g q) p .";
  if (getPlaces())
    text += "; b l";
  return ShardingRule::parse(text + " -> b l (g q) p; b (g q) p .", *this);
}

//===----------------------------------------------------------------------===//
// A scan
//===----------------------------------------------------------------------===//

ScanSummary SsdOp::summarize(OpBuilder &builder) {
  ArrayRef<int64_t> x = shapeOf(getX()), b = shapeOf(getB());
  // Whatever the activations are.
  Type element = sumsOf(getX().getType().getElementType());
  auto tensor = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, element);
  };
  int64_t chunks = llvm::divideCeil(x[1], getChunkSize());
  auto states = SsdStatesOp::create(
      builder, getLoc(),
      TypeRange{tensor({x[0], x[2]}), tensor({x[0], x[2], x[3], b[3]}),
                tensor({x[0], chunks, x[2], x[3], b[3]}),
                tensor({x[0], x[1], x[2]})},
      getX(), getDt(), getALog(), getB(), getDtBias(), getPlaces(),
      getChunkSizeAttr(), getDtMinAttr(), getDtMaxAttr());
  return {{states.getDecay(), states.getState()},
          {states.getChunkStates(), states.getDelta()}};
}

SmallVector<Value> SsdOp::apply(OpBuilder &builder, const ScanSummary &own,
                                const ScanSummary &prefix) {
  Value decay = prefix.values[0], state = prefix.values[1];
  Type element = getElementTypeOrSelf(state.getType());
  // The incoming state is made of it and of summaries.
  Value initial = getInitial();
  if (initial)
    initial = withElements(builder, initial.getLoc(), initial, element);
  auto scan = SsdScanOp::create(
      builder, getLoc(), getY().getType(), state.getType(), getX(), getALog(),
      getB(), getC(), getD(), own.kept[0], own.kept[1], decay, state, initial,
      getPlaces(), getChunkSizeAttr());
  return {scan.getY(), Value()};
}

Value SsdOp::advance(OpBuilder &builder, ValueRange summary, Value before) {
  return advanceByDecay(builder, getLoc(), summary, before,
                        /*mayStart=*/static_cast<bool>(getPlaces()));
}

Value SsdOp::getInitialState() { return getInitial(); }

std::optional<ScanAlgorithm> SsdOp::getScanAlgorithm() {
  return getAlgorithm();
}

void SsdOp::setScanAlgorithm(ScanAlgorithm algorithm) {
  setAlgorithm(algorithm);
}

LogicalResult SsdOp::prepareHiddenCut(OpBuilder &builder, int64_t parts) {
  HeadTensors tensors;
  tensors.heads = {
      {&getXMutable(), 2}, {&getDtMutable(), 2}, {&getALogMutable(), 0}};
  for (const MutableOperandRange &optional :
       {getDMutable(), getDtBiasMutable()})
    if (!optional.empty())
      tensors.heads.push_back({&optional[0], 0});
  if (!getInitialMutable().empty())
    tensors.heads.push_back({&getInitialMutable()[0], 1});
  tensors.groups = {{&getBMutable(), 2}, {&getCMutable(), 2}};
  tensors.results = {{cast<OpResult>(getY()), 2},
                     {cast<OpResult>(getFinalState()), 1}};
  tensors.otherwise = "mixer=sequence";
  return fitHeads(*this, builder, parts, tensors);
}

//===----------------------------------------------------------------------===//
// The halves
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
      failed(expectShape(*this, "ssd_states_c3", "places", getPlaces(),
                         {batch, length})) ||
      failed(
          expectShape(*this, c1, "B", getB(), {batch, length, b[2], b[3]})) ||
      failed(expectGroups(*this, c1, b[2], heads)) ||
      failed(expectShape(*this, c2, "decay", getDecay(), {batch, heads})) ||
      failed(expectShape(*this, c2, "state", getState(),
                         {batch, heads, x[3], b[3]})) ||
      failed(expectShape(*this, c2, "chunk states", getChunkStates(),
                         {batch, chunks, heads, x[3], b[3]})))
    return failure();
  return expectShape(*this, c2, "delta", getDelta(), {batch, length, heads});
}

void SsdStatesOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getDecay(), "decay");
  setName(getState(), "state");
  setName(getChunkStates(), "chunk_states");
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
      failed(expectShape(*this, c1, "A_log", getALog(), {heads})) ||
      failed(
          expectShape(*this, c1, "B", getB(), {batch, length, b[2], b[3]})) ||
      failed(expectType(*this, c1, "C", getC(), getB().getType())) ||
      failed(expectGroups(*this, c1, b[2], heads)) ||
      failed(expectSkip(*this, c1, getD(), heads, x[3])) ||
      failed(expectShape(*this, c2, "chunk states", getChunkStates(),
                         {batch, chunks, heads, x[3], b[3]})) ||
      failed(expectShape(*this, c2, "delta", getDelta(),
                         {batch, length, heads})) ||
      failed(expectShape(*this, c2, "the prefix decay", getPrefixDecay(),
                         {batch, heads})) ||
      failed(expectShape(*this, c2, "the prefix state", getPrefixState(),
                         state)) ||
      failed(
          expectShape(*this, c2, "the initial state", getInitial(), state)) ||
      failed(expectShape(*this, "ssd_scan_c3", "places", getPlaces(),
                         {batch, length})))
    return failure();
  return expectShape(*this, c2, "the final state", getFinalState(), state);
}

void SsdScanOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getY(), "y");
  setName(getFinalState(), "final_state");
}

} // namespace cp
