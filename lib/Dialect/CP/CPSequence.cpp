//===- CPSequence.cpp - How our ops depend along the sequence ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {

bool canRunByDefault(Operation *op, ArrayRef<Cut> cuts) {
  return isa<PlacedOpInterface>(op) || partsPerRank(cuts.vec());
}

Value withElements(OpBuilder &builder, Location loc, Value value,
                   Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  Type wanted = type.clone(element);
  if (element.getIntOrFloatBitWidth() > type.getElementTypeBitWidth())
    return arith::ExtFOp::create(builder, loc, wanted, value);
  return arith::TruncFOp::create(builder, loc, wanted, value);
}

Value advanceByDecay(OpBuilder &builder, Location loc, ValueRange summary,
                     Value before) {
  Value decay = summary[0], state = summary[1];
  if (!before)
    return state;
  auto type = cast<RankedTensorType>(state.getType());
  before = withElements(builder, loc, before, type.getElementType());
  int64_t given = cast<RankedTensorType>(decay.getType()).getRank();
  auto missing = llvm::to_vector(llvm::seq<int64_t>(given, type.getRank()));
  if (!missing.empty()) {
    Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                          type.getElementType());
    decay = linalg::BroadcastOp::create(builder, loc, decay, empty, missing)
                ->getResult(0);
  }
  Value decayed = arith::MulFOp::create(builder, loc, decay, before);
  return arith::AddFOp::create(builder, loc, decayed, state);
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
  auto scan =
      SsdScanOp::create(builder, getLoc(), getY().getType(), state.getType(),
                        getX(), getALog(), getB(), getC(), getD(), own.kept[0],
                        own.kept[1], decay, state, initial, getChunkSizeAttr());
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
