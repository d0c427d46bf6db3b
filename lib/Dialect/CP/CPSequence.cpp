//===- CPSequence.cpp - How our ops depend along the sequence ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace cp {

bool canRunByDefault(Operation *op, ArrayRef<Cut> cuts) {
  return isa<PlacedOpInterface>(op) || partsPerRank(cuts.vec());
}

LogicalResult repeatSharedGroups(Operation *op, OpBuilder &builder,
                                 int64_t parts, int64_t heads,
                                 ArrayRef<OpOperand *> operands,
                                 StringRef otherwise) {
  constexpr int64_t dim = 2;
  int64_t groups = shapeOf(operands.front()->get())[dim];
  if (heads % parts)
    return op->emitOpError("hidden_c1: the number of heads (")
           << heads << ") must be a multiple of the number of ranks (" << parts
           << "); use fewer ranks, or " << otherwise;
  if (groups % parts == 0)
    return success();
  if (parts % groups)
    return op->emitOpError("hidden_c2: of the number of groups (")
           << groups << ") and the number of ranks (" << parts
           << ") one must be a multiple of the other; use another number of "
              "ranks, or "
           << otherwise;
  for (OpOperand *operand : operands) {
    auto type = cast<RankedTensorType>(operand->get().getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = parts;
    operand->set(RepeatOp::create(
        builder, op->getLoc(),
        RankedTensorType::get(shape, type.getElementType(), type.getEncoding()),
        operand->get(), dim, /*unit=*/1, /*times=*/parts / groups));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Conv1dOp: a window
//===----------------------------------------------------------------------===//

int64_t Conv1dOp::getWindowRows() { return shapeOf(getWeight())[1] - 1; }
Value Conv1dOp::getInitialRows() { return getInitial(); }
void Conv1dOp::setInitialRows(Value rows) { getInitialMutable().assign(rows); }

//===----------------------------------------------------------------------===//
// SsdOp: a scan
//===----------------------------------------------------------------------===//

/// Summaries are kept in f32 or better, whatever the activations are.
static Type summaryType(Type element) {
  return element.isF64() ? element : Float32Type::get(element.getContext());
}

ScanSummary SsdOp::summarize(OpBuilder &builder) {
  ArrayRef<int64_t> x = shapeOf(getX()), b = shapeOf(getB());
  Type element = summaryType(getX().getType().getElementType());
  auto tensor = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, element);
  };
  int64_t chunks = llvm::divideCeil(x[1], getChunkSize());
  auto states = SsdStatesOp::create(
      builder, getLoc(),
      TypeRange{tensor({x[0], x[2]}), tensor({x[0], x[2], x[3], b[3]}),
                tensor({x[0], chunks, x[2], x[3], b[3]}),
                tensor({x[0], x[1], x[2]})},
      getX(), getDt(), getALog(), getB(), getDtBias(), getChunkSizeAttr(),
      getDtMinAttr(), getDtMaxAttr());
  return {states.getDecay(),
          states.getState(),
          {states.getChunkStates(), states.getDelta()}};
}

/// The incoming state is made of it and of summaries.
static Value asSummary(OpBuilder &builder, Value initial) {
  if (!initial)
    return initial;
  auto type = cast<RankedTensorType>(initial.getType());
  Type element = summaryType(type.getElementType());
  if (element == type.getElementType())
    return initial;
  return arith::ExtFOp::create(builder, initial.getLoc(),
                               type.clone(type.getShape(), element), initial);
}

SmallVector<Value> SsdOp::apply(OpBuilder &builder, const ScanSummary &own,
                                const ScanSummary &prefix) {
  auto scan = SsdScanOp::create(
      builder, getLoc(), getY().getType(), own.state.getType(), getX(),
      getALog(), getB(), getC(), getD(), own.kept[0], own.kept[1], prefix.decay,
      prefix.state, asSummary(builder, getInitial()), getChunkSizeAttr());
  return {scan.getY(), Value()};
}

Value SsdOp::getInitialState() { return getInitial(); }

std::optional<ScanAlgorithm> SsdOp::getScanAlgorithm() {
  return getAlgorithm();
}

void SsdOp::setScanAlgorithm(ScanAlgorithm algorithm) {
  setAlgorithm(algorithm);
}

LogicalResult SsdOp::prepareHiddenCut(OpBuilder &builder, int64_t parts) {
  return repeatSharedGroups(*this, builder, parts, shapeOf(getX())[2],
                            {&getBMutable(), &getCMutable()}, "mixer=sequence");
}

} // namespace cp
