//===- ModelOps.cpp - Adjoints of our own ops -----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Models.h"
#include "Values.h"
#include "cp/IR/CPDialect.h"
#include "cp/IR/RowSlices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {
namespace {

LogicalResult stop(AdjointContext &, StopGradientOp) { return success(); }

LogicalResult embedding(AdjointContext &context, EmbeddingOp op) {
  Value cotangent = context.cotangent();
  if (!cotangent || !context.isWanted(1))
    return success();
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  RankedTensorType type = summed(op.getTable());
  Value gradient =
      EmbeddingGradOp::create(builder, loc, type, op.getIds(), cotangent);
  if (std::optional<int64_t> padding = op.getPaddingIdx()) {
    auto list = [&](int64_t row, int64_t column) {
      return getAsIndexOpFoldResult(builder.getContext(), {row, column});
    };
    Type row =
        RankedTensorType::get({1, type.getDimSize(1)}, type.getElementType());
    gradient = tensor::InsertSliceOp::create(
        builder, loc, zerosOf(builder, loc, row), gradient, list(*padding, 0),
        list(1, type.getDimSize(1)), list(1, 1));
  }
  context.add(1, gradient);
  return success();
}

/// Back by the same angles: a rotation's adjoint is its inverse.
LogicalResult rotary(AdjointContext &context, RotaryOp op) {
  Value cotangent = context.cotangent();
  if (!cotangent || !context.isWanted(0))
    return success();
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  auto positions = op.getPositions().getType();
  Value zero = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(positions, builder.getI64IntegerAttr(0)));
  Value back = arith::SubIOp::create(builder, loc, zero, op.getPositions());
  context.add(0, RotaryOp::create(builder, loc, op.getType(), cotangent, back,
                                  op.getThetaAttr(), op.getDimsAttr()));
  return success();
}

/// Each run of elements was read `times` times.
LogicalResult repeat(AdjointContext &context, RepeatOp op) {
  Value cotangent = context.cotangent();
  if (cotangent && context.isWanted(0))
    context.add(0, sumOfRepeats(context.getBuilder(), context.getLoc(),
                                cotangent, static_cast<int64_t>(op.getDim()),
                                static_cast<int64_t>(op.getTimes()),
                                static_cast<int64_t>(op.getUnit())));
  return success();
}

LogicalResult rmsNorm(AdjointContext &context, RmsNormOp op) {
  Value cotangent = context.cotangent();
  if (!cotangent)
    return success();
  OpBuilder &builder = context.getBuilder();
  RankedTensorType type = op.getX().getType();
  RankedTensorType weight =
      type.clone(type.getShape().back()).clone(sumsOf(type.getElementType()));
  auto grad = RmsNormGradOp::create(
      builder, context.getLoc(), type, weight,
      op.getGate() ? op.getGate().getType() : Type(), op.getX(), cotangent,
      op.getWeight(), op.getGate(), op.getEpsAttr(), op.getGroupsAttr(),
      op.getGateFirstAttr());
  context.add(0, grad.getDx());
  unsigned next = 1;
  if (op.getWeight())
    context.add(next++, grad.getDweight());
  if (op.getGate())
    context.add(next, grad.getDgate());
  return success();
}

/// The gradient op is cut as its op is, where that says so itself.
void keepStrategy(Operation *op, Operation *grad) {
  if (Attribute strategy = op->getAttr("strategy"))
    grad->setAttr("strategy", strategy);
}

LogicalResult conv1d(AdjointContext &context, Conv1dOp op) {
  Value cotangent = context.cotangent();
  if (!cotangent)
    return success();
  OpBuilder &builder = context.getBuilder();
  RankedTensorType type = op.getX().getType();
  RankedTensorType weight = summed(op.getWeight());
  ArrayRef<int64_t> x = type.getShape();
  auto grad = Conv1dGradOp::create(
      builder, context.getLoc(), type, weight, weight.clone(x[2]),
      type.clone({x[0], weight.getShape()[1] - 1, x[2]}), op.getX(),
      op.getWeight(), cotangent, op.getBias(), op.getInitial(), op.getPlaces(),
      op.getSiluAttr());
  keepStrategy(op, grad);
  context.add(0, grad.getDx());
  context.add(1, grad.getDweight());
  unsigned next = 2;
  if (op.getBias())
    context.add(next++, grad.getDbias());
  if (op.getInitial())
    context.add(next, grad.getDinitial());
  return success();
}

/// The last rows of `cotangent` `[b, l, ...]`, or the first ones, with zeros
/// before or behind them where there are fewer than `rows` has.
Value endOf(OpBuilder &builder, Location loc, Value cotangent,
            RankedTensorType rows, bool isLast) {
  auto type = cast<RankedTensorType>(cotangent.getType());
  int64_t length = type.getDimSize(1), n = rows.getDimSize(1),
          count = std::min(length, n);
  Value end =
      sliceRows(builder, loc, cotangent, isLast ? length - count : 0, count);
  if (count == n)
    return end;
  Value zeros = zerosOf(builder, loc, type.clone(rows.getShape()));
  return putRows(builder, loc, end, zeros, isLast ? n - count : 0);
}

/// Back by as many tokens; what came from the rows goes to them.
LogicalResult shiftTokens(AdjointContext &context, ShiftTokensOp op) {
  Value cotangent = context.cotangent();
  if (!cotangent)
    return success();
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  auto type = cast<RankedTensorType>(cotangent.getType());
  RankedTensorType rows = op.getRows().getType();
  if (context.isWanted(0))
    context.add(0, ShiftTokensOp::create(
                       builder, loc, type, cotangent,
                       zerosOf(builder, loc, type.clone(rows.getShape())),
                       !op.getDelay()));
  if (context.isWanted(1))
    context.add(
        1, endOf(builder, loc, cotangent, rows, /*isLast=*/!op.getDelay()));
  return success();
}

LogicalResult ssd(AdjointContext &context, SsdOp op) {
  Value dstate = context.wideCotangent(1);
  if (!context.wideCotangent(0) && !dstate)
    return success();
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  Value dy = context.cotangentOrZeros(0);
  RankedTensorType heads = summed(op.getALog());
  RankedTensorType state = summed(op.getFinalState());
  if (dstate)
    dstate = withElements(builder, loc, dstate, state.getElementType());
  ArrayRef<int64_t> x = op.getX().getType().getShape();
  Value initial = op.getInitial();
  if (initial)
    initial = withElements(builder, loc, initial, state.getElementType());
  auto grad = SsdGradOp::create(
      builder, loc, op.getX().getType(), op.getDt().getType(), heads,
      op.getB().getType(), op.getC().getType(), heads.clone({x[2], x[3]}),
      heads, state, op.getX(), op.getDt(), op.getALog(), op.getB(), op.getC(),
      dy, op.getD(), op.getDtBias(), initial, dstate, op.getPlaces(),
      op.getAlgorithmAttr(), op.getChunkSizeAttr(), op.getDtMinAttr(),
      op.getDtMaxAttr());
  keepStrategy(op, grad);
  for (auto [operand, value] :
       {std::pair(0u, Value(grad.getDx())), std::pair(1u, Value(grad.getDdt())),
        std::pair(2u, Value(grad.getDALog())),
        std::pair(3u, Value(grad.getDB())), std::pair(4u, Value(grad.getDC()))})
    context.add(operand, value);
  unsigned next = 5;
  if (op.getD())
    context.add(next++, op.getD().getType().getRank() == 2
                            ? Value(grad.getDD())
                            : sumOver(builder, loc, grad.getDD(), 1));
  if (op.getDtBias())
    context.add(next++, grad.getDdtBias());
  if (op.getInitial())
    context.add(next, grad.getDinitial());
  return success();
}

LogicalResult attention(AdjointContext &context, AttentionOp op) {
  Value dlse = context.wideCotangent(1);
  if (!context.wideCotangent(0) && !dlse)
    return success();
  auto grad = AttentionGradOp::create(
      context.getBuilder(), context.getLoc(), op.getQ().getType(),
      summed(op.getK()), summed(op.getV()), op.getQ(), op.getK(), op.getV(),
      op.getOut(), op.getLse(), context.cotangentOrZeros(0), dlse,
      op.getPlaces(), /*positions=*/Value(), op.getCausalAttr(),
      op.getScaleAttr(), op.getWindowAttr(), op.getFormAttr());
  keepStrategy(op, grad);
  for (unsigned i : {0, 1, 2})
    context.add(i, grad->getResult(i));
  return success();
}

LogicalResult crossEntropy(AdjointContext &context, LinearCrossEntropyOp op) {
  Value dlse = context.wideCotangent(1);
  if (!context.wideCotangent(0) && !dlse)
    return success();
  auto grad = LinearCrossEntropyGradOp::create(
      context.getBuilder(), context.getLoc(), op.getH().getType(),
      summed(op.getWeight()), op.getH(), op.getWeight(), op.getLabels(),
      op.getRows(), op.getLse(), context.cotangentOrZeros(0), dlse,
      op.getVocabularyAttr(), op.getIgnoreIndexAttr());
  if (Attribute parallel = op->getAttr(parallelAttr))
    grad->setAttr(parallelAttr, parallel);
  context.add(0, grad.getDh());
  context.add(1, grad.getDweight());
  return success();
}

} // namespace

void registerModelAdjoints(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, CPDialect *) {
    attachAdjoint<StopGradientOp, stop>(context);
    attachAdjoint<EmbeddingOp, embedding>(context);
    attachAdjoint<RotaryOp, rotary>(context);
    attachAdjoint<RepeatOp, repeat>(context);
    attachAdjoint<RmsNormOp, rmsNorm>(context);
    attachAdjoint<Conv1dOp, conv1d>(context);
    attachAdjoint<ShiftTokensOp, shiftTokens>(context);
    attachAdjoint<SsdOp, ssd>(context);
    attachAdjoint<AttentionOp, attention>(context);
    attachAdjoint<LinearCrossEntropyOp, crossEntropy>(context);
  });
}

void registerAdjointModels(DialectRegistry &registry) {
  registerScalarAdjoints(registry);
  registerStructuredAdjoints(registry);
  registerShapeAdjoints(registry);
  registerModelAdjoints(registry);
  registerLocalAttentionAdjoints(registry);
  registerLocalScanAdjoints(registry);
  registerCollectiveAdjoints(registry);
}

} // namespace cp
