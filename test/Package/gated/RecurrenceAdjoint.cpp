//===- RecurrenceAdjoint.cpp - The recurrence's derivative ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On whole tensors, where nobody knows of ranks:
//   dx_t = dh_t + gate_{t+1} dx_{t+1}, a recurrence the other way,
//   dgate_t = dx_t h_{t-1}, and dinitial = gate_0 dx_0.
// It is cut as its ops are: shifts are windows, the recurrence is a scan.
//
//===----------------------------------------------------------------------===//

#include "Gated.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace gated {

namespace {
class RecurrenceAdjoint {
public:
  RecurrenceAdjoint(cp::AdjointContext &context, RecurrenceOp op)
      : context(context), op(op), b(context.getBuilder()),
        loc(context.getLoc()) {}

  void build() {
    Value dh = context.cotangent();
    if (!dh)
      return;
    bool isReverse = op.getReverse();
    Value gates = shifted(op.getGate(), Value(), !isReverse);
    auto back = RecurrenceOp::create(b, loc, dh.getType(), gates, dh, Value(),
                                     unitIf(!isReverse));
    if (std::optional<cp::ScanAlgorithm> scan = op.getScanAlgorithm())
      back.setScanAlgorithm(*scan);
    Value dx = back.getH();
    context.add(1, dx);
    if (context.isWanted(0))
      context.add(0, arith::MulFOp::create(b, loc, dx, before(isReverse)));
    if (op.getInitial() && context.isWanted(2))
      context.add(2, atEdge(arith::MulFOp::create(b, loc, op.getGate(), dx)));
  }

private:
  UnitAttr unitIf(bool condition) {
    return condition ? b.getUnitAttr() : UnitAttr();
  }

  Value shifted(Value value, Value initial, bool isReverse) {
    return ShiftOp::create(b, loc, value.getType(), value, initial,
                           unitIf(isReverse));
  }

  /// h of the token before each.
  Value before(bool isReverse) {
    Value initial = op.getInitial();
    if (initial) {
      auto type = cast<RankedTensorType>(initial.getType());
      initial = tensor::ExpandShapeOp::create(
          b, loc,
          RankedTensorType::get({type.getDimSize(0), 1, type.getDimSize(1)},
                                type.getElementType()),
          initial, ArrayRef<ReassociationIndices>{{0, 1}, {2}});
    }
    return shifted(op.getH(), initial, isReverse);
  }

  /// The row of the first token, as a sum over all of which one counts: ranks
  /// then have terms of it, and none needs all rows.
  Value atEdge(Value rows) {
    auto type = cast<RankedTensorType>(rows.getType());
    int64_t length = type.getDimSize(1);
    Value places = cp::PositionsOp::create(
        b, loc, RankedTensorType::get({length}, b.getI64Type()));
    Value zero = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(0));
    auto result = RankedTensorType::get(
        {type.getDimSize(0), type.getDimSize(2)}, type.getElementType());
    Value empty = tensor::EmptyOp::create(b, loc, result.getShape(),
                                          result.getElementType());
    Value zeros = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
    auto dims = [&](ArrayRef<unsigned> list) {
      SmallVector<AffineExpr> exprs;
      for (unsigned dim : list)
        exprs.push_back(b.getAffineDimExpr(dim));
      return AffineMap::get(3, 0, exprs, b.getContext());
    };
    AffineMap maps[] = {dims({0, 1, 2}), dims({1}), dims({0, 2})};
    utils::IteratorType loops[] = {utils::IteratorType::parallel,
                                   utils::IteratorType::reduction,
                                   utils::IteratorType::parallel};
    int64_t edge = op.getReverse() ? length - 1 : 0;
    return linalg::GenericOp::create(
               b, loc, result, ValueRange{rows, places}, zeros, maps, loops,
               [&](OpBuilder &body, Location at, ValueRange in) {
                 Value first = arith::ConstantOp::create(
                     body, at, body.getI64IntegerAttr(edge));
                 Value none = arith::ConstantOp::create(
                     body, at, body.getF64FloatAttr(0));
                 Value isFirst = arith::CmpIOp::create(
                     body, at, arith::CmpIPredicate::eq, in[1], first);
                 Value term =
                     arith::SelectOp::create(body, at, isFirst, in[0], none);
                 Value sum = arith::AddFOp::create(body, at, in[2], term);
                 linalg::YieldOp::create(body, at, sum);
               })
        .getResult(0);
  }

  cp::AdjointContext &context;
  RecurrenceOp op;
  OpBuilder &b;
  Location loc;
};
} // namespace

LogicalResult RecurrenceOp::buildAdjoint(cp::AdjointContext &context) {
  RecurrenceAdjoint(context, *this).build();
  return success();
}

} // namespace gated
