//===- LocalScan.cpp - Adjoints of a rank's part of a scan ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two halves of a scan are one scan each, and have its adjoint: the second
// that of `cp.ssd` from the incoming state on, with no cotangent of the final
// state; the first that of the final state, and of nothing else.
//
//===----------------------------------------------------------------------===//

#include "Models.h"
#include "Values.h"
#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {
namespace {

/// What the adjoint of a scan over the tokens of an `ssd_states` is built with.
struct Scan {
  Value x, B, C, dy, D, initial, dstate;
};

SsdGradOp createGrad(AdjointContext &context, SsdStatesOp of,
                     const Scan &scan) {
  RankedTensorType heads = summed(of.getALog());
  RankedTensorType sums = summed(of.getState());
  auto x = cast<RankedTensorType>(scan.x.getType());
  auto b = cast<RankedTensorType>(scan.B.getType());
  ArrayRef<int64_t> sizes = x.getShape();
  return SsdGradOp::create(
      context.getBuilder(), context.getLoc(), x, of.getDt().getType(), heads, b,
      b, heads.clone({sizes[2], sizes[3]}), heads,
      sums.clone({sizes[0], sizes[2], sizes[3], b.getShape()[3]}), scan.x,
      of.getDt(), of.getALog(), scan.B, scan.C, scan.dy, scan.D, of.getDtBias(),
      scan.initial, scan.dstate, of.getPlaces(), ScanAlgorithmAttr(),
      of.getChunkSizeAttr(), of.getDtMinAttr(), of.getDtMaxAttr());
}

/// To what the steps are made of.
void addSteps(AdjointContext &context, SsdStatesOp of, SsdGradOp grad) {
  context.addTo(of.getDt(), grad.getDdt());
  context.addTo(of.getALog(), grad.getDALog());
  if (of.getDtBias())
    context.addTo(of.getDtBias(), grad.getDdtBias());
}

LogicalResult ssdScan(AdjointContext &context, SsdScanOp op) {
  Value dy = context.cotangent(0), dfinal = context.wideCotangent(1);
  if (!dy && !dfinal)
    return success();
  auto states = op.getDelta().getDefiningOp<SsdStatesOp>();
  if (!states || op.getChunkStates().getDefiningOp() != states)
    return op.emitOpError("differentiate_c3: what is kept must come from one "
                          "cp.ssd_states, of whose tokens the derivative is; "
                          "give it both results of one");
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  Value decay = op.getPrefixDecay(), state = op.getPrefixState();
  Value before = advanceByDecay(builder, loc, {decay, state}, op.getInitial(),
                                static_cast<bool>(op.getPlaces()));
  SsdGradOp grad =
      createGrad(context, states,
                 {op.getX(), op.getB(), op.getC(), context.cotangentOrZeros(0),
                  op.getD(), before, dfinal});
  addSteps(context, states, grad);
  context.addTo(op.getX(), grad.getDx());
  context.addTo(op.getB(), grad.getDB());
  context.addTo(op.getC(), grad.getDC());
  if (op.getD())
    context.addTo(op.getD(),
                  cast<RankedTensorType>(op.getD().getType()).getRank() == 2
                      ? Value(grad.getDD())
                      : sumOver(builder, loc, grad.getDD(), 1));
  Value dbefore = grad.getDinitial();
  context.addTo(state, dbefore);
  if (op.getInitial()) {
    context.addTo(decay, innerProduct(builder, loc, dbefore, op.getInitial(),
                                      /*kept=*/2));
    context.addTo(op.getInitial(), scaled(builder, loc, dbefore, decay));
  }
  return success();
}

/// The final state of zeros, and of a state 1 into which nothing comes: so much
/// is left of it.
LogicalResult ssdStates(AdjointContext &context, SsdStatesOp op) {
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  RankedTensorType x = op.getX().getType(), b = op.getB().getType();
  if (Value dstate = context.wideCotangent(1)) {
    SsdGradOp grad =
        createGrad(context, op,
                   {op.getX(), op.getB(), zerosOf(builder, loc, b),
                    zerosOf(builder, loc, x), Value(), Value(), dstate});
    addSteps(context, op, grad);
    context.addTo(op.getX(), grad.getDx());
    context.addTo(op.getB(), grad.getDB());
  }
  if (Value ddecay = context.wideCotangent(0)) {
    ArrayRef<int64_t> sizes = x.getShape();
    auto decay = cast<RankedTensorType>(ddecay.getType());
    RankedTensorType one = decay.clone({sizes[0], sizes[2], 1, 1});
    Value tokens =
        zerosOf(builder, loc, x.clone({sizes[0], sizes[1], sizes[2], 1}));
    SmallVector<ReassociationIndices> dims = {{0}, {1, 2, 3}};
    Value dstate =
        tensor::ExpandShapeOp::create(builder, loc, one, ddecay, dims);
    addSteps(context, op,
             createGrad(context, op,
                        {tokens, tokens, tokens, tokens, Value(),
                         constantOf(builder, loc, one, 1.0), dstate}));
  }
  return success();
}

} // namespace

void registerLocalScanAdjoints(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, CPDialect *) {
    attachAdjoint<SsdScanOp, ssdScan>(context);
    attachAdjoint<SsdStatesOp, ssdStates>(context);
  });
}

} // namespace cp
