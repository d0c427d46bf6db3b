//===- Materializer.cpp - Values in the layouts they are used in ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Materializer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {

bool isTensor(Value value) { return isa<RankedTensorType>(value.getType()); }

void setLayout(Value value, LayoutAttr layout) {
  auto type = cast<RankedTensorType>(value.getType());
  value.setType(type.cloneWithEncoding(layout));
}

bool isFree(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue()) ||
           !isa<ElementsAttr>(constant.getValue());
  if (op->hasTrait<OpTrait::ConstantLike>() ||
      isa<tensor::EmptyOp, PositionsOp>(op))
    return true;
  auto fill = dyn_cast<linalg::FillOp>(op);
  return fill && !LayoutAttr::of(fill.getOutputs()[0].getType());
}

bool isFreeZero(Value value) {
  Operation *op = value.getDefiningOp();
  auto rules = dyn_cast_if_present<ShardingRuleOpInterface>(op);
  if (!rules || !isFree(op))
    return false;
  FailureOr<ShardingRule> rule = rules.getShardingRule();
  return succeeded(rule) && rule->isZero;
}

/// Of a list for each row of a tensor that lies so: whole, where its row is.
static LayoutAttr ofRows(LayoutAttr rows) {
  Layout layout = rows.toLayout();
  layout.dims.resize(1);
  layout.dims.resize(2);
  return LayoutAttr::get(rows.getContext(), layout);
}

Value Materializer::adopt(Value value, LayoutAttr want) {
  Operation *op = value.getDefiningOp();
  if (!op || !isFree(op)) {
    setLayout(value, want);
    return value;
  }
  if (!value.hasOneUse()) {
    OpBuilder builder(op);
    op = builder.clone(*op);
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    OpOperand &out = fill.getDpsInitsMutable()[0];
    out.set(adopt(out.get(), want));
  }
  if (auto positions = dyn_cast<PositionsOp>(op);
      positions && positions.getDocuments())
    materialize(positions.getDocumentsMutable()[0], ofRows(want));
  setLayout(op->getResult(0), want);
  // A constant's value has its type.
  if (auto rules = dyn_cast<ShardingRuleOpInterface>(op))
    rules.localizeSizes();
  return op->getResult(0);
}

Value Materializer::recompute(Value value, LayoutAttr want) {
  Operation *op = value.getDefiningOp();
  if (!op || !op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() != 1)
    return nullptr;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Operation *clone = builder.clone(*op);
  for (OpOperand &operand : clone->getOpOperands())
    if (isTensor(operand.get()))
      materialize(operand, want);
  setLayout(clone->getResult(0), want);
  return clone->getResult(0);
}

/// Truth values stay on their ranks: no exchange packs bits.
static bool canTravel(Type type) {
  return !cast<RankedTensorType>(type).getElementType().isInteger(1);
}

void Materializer::materialize(OpOperand &operand, LayoutAttr want,
                               Operation *late) {
  Value value = operand.get();
  LayoutAttr have = LayoutAttr::of(value.getType());
  if (!have)
    return operand.set(adopt(value, want));
  if (have == want)
    return;
  Value other = known.lookup({value, want});
  if (!other && !canTravel(value.getType()))
    other = recompute(value, want);
  if (!other) {
    OpBuilder builder(value.getContext());
    if (late)
      builder.setInsertionPoint(late);
    else
      builder.setInsertionPointAfterValue(value);
    auto type = cast<RankedTensorType>(value.getType()).cloneWithEncoding(want);
    other = ReshardOp::create(builder, operand.getOwner()->getLoc(), type,
                              value, LayoutAttr(), LayoutAttr());
  }
  known[{value, want}] = other;
  operand.set(other);
}

} // namespace cp
