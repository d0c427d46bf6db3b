//===- LocalAttention.cpp - Adjoints of attention of a rank ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank has its queries. Where it has all keys too, it has its terms of their
// cotangents; along a ring each rank gets the sums of its own keys'.
//
//===----------------------------------------------------------------------===//

#include "Models.h"
#include "Values.h"
#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {
namespace {

LogicalResult attentionRows(AdjointContext &context, AttentionRowsOp op) {
  Value dlse = context.wideCotangent(1);
  if (!context.wideCotangent(0) && !dlse)
    return success();
  OpBuilder &builder = context.getBuilder();
  Value positions;
  if (op.getCausal())
    positions = CutPositionsOp::create(
        builder, context.getLoc(),
        RankedTensorType::get(op.getQ().getType().getDimSize(1),
                              builder.getI64Type()),
        /*documents=*/Value(), op.getMesh(), op.getCuts());
  auto grad = AttentionGradOp::create(
      builder, context.getLoc(), op.getQ().getType(), summed(op.getK()),
      summed(op.getV()), op.getQ(), op.getK(), op.getV(), op.getOut(),
      op.getLse(), context.cotangentOrZeros(0), dlse, op.getPlaces(), positions,
      op.getCausalAttr(), op.getScaleAttr(), op.getWindowAttr(), StringAttr());
  for (unsigned i : {0, 1, 2})
    context.add(i, grad->getResult(i));
  return success();
}

LogicalResult ringAttention(AdjointContext &context, RingAttentionOp op) {
  Value dlse = context.wideCotangent(1);
  if (!context.wideCotangent(0) && !dlse)
    return success();
  auto grad = RingAttentionGradOp::create(
      context.getBuilder(), context.getLoc(), op.getQ().getType(),
      summed(op.getK()), summed(op.getV()), op.getQ(), op.getK(), op.getV(),
      op.getOut(), op.getLse(), context.cotangentOrZeros(0), dlse,
      op.getPlaces(), op.getDocuments(), op.getMesh(), op.getCuts(),
      op.getCausalAttr(), op.getScaleAttr(), op.getWindowAttr());
  for (unsigned i : {0, 1, 2})
    context.add(i, grad->getResult(i));
  return success();
}

} // namespace

void registerLocalAttentionAdjoints(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, CPDialect *) {
    attachAdjoint<AttentionRowsOp, attentionRows>(context);
    attachAdjoint<RingAttentionOp, ringAttention>(context);
  });
}

} // namespace cp
