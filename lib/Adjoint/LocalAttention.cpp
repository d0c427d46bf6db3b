//===- LocalAttention.cpp - Adjoints of attention of a rank ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank has its queries and sees all keys: its terms of their cotangents are
// added up over ranks.
//
//===----------------------------------------------------------------------===//

#include "Models.h"
#include "Values.h"
#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {
namespace {

/// Rows along dimension 1 of a part of the sequence and of all of it, in its
/// natural order. One axis goes after the other: the inner ones cut what the
/// outer ones have left.
class AllRows {
public:
  AllRows(AdjointContext &context, RingAttentionOp op)
      : builder(context.getBuilder()), loc(context.getLoc()),
        mesh(op.getMesh()) {
    for (auto cut : op.getCuts().getAsRange<CutAttr>())
      cuts.push_back(ArrayAttr::get(op.getContext(), Attribute(cut)));
  }

  Value gather(Value rows) {
    for (ArrayAttr cut : llvm::reverse(cuts)) {
      int64_t count = sizeOf(rows) * groupSize(mesh, axesOf(cut));
      rows = AllGatherOp::create(builder, loc, withSize(rows, count), rows,
                                 mesh, cut, 1);
    }
    return rows;
  }

  Value addAndScatter(Value terms) {
    for (ArrayAttr cut : cuts) {
      int64_t count = sizeOf(terms) / groupSize(mesh, axesOf(cut));
      terms = ReduceScatterOp::create(builder, loc, withSize(terms, count),
                                      terms, mesh, cut, 1);
    }
    return terms;
  }

private:
  static int64_t sizeOf(Value rows) {
    return cast<RankedTensorType>(rows.getType()).getDimSize(1);
  }
  static RankedTensorType withSize(Value rows, int64_t count) {
    auto type = cast<RankedTensorType>(rows.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[1] = count;
    return type.clone(shape);
  }

  OpBuilder &builder;
  Location loc;
  MeshAttr mesh;
  SmallVector<ArrayAttr> cuts;
};

/// dq, and this rank's terms of dk and dv, where `k` and `v` are all keys and
/// values.
template <typename OpTy>
AttentionGradOp createGrad(AdjointContext &context, OpTy op, Value k, Value v) {
  Value dlse = context.wideCotangent(1);
  OpBuilder &builder = context.getBuilder();
  Value positions;
  if (op.getCausal())
    positions = CutPositionsOp::create(
        builder, context.getLoc(),
        RankedTensorType::get(op.getQ().getType().getDimSize(1),
                              builder.getI64Type()),
        op.getMesh(), op.getCuts());
  return AttentionGradOp::create(
      builder, context.getLoc(), op.getQ().getType(), k.getType(), v.getType(),
      op.getQ(), k, v, op.getOut(), op.getLse(), context.cotangentOrZeros(0),
      dlse, op.getPlaces(), positions, op.getCausalAttr(), op.getScaleAttr(),
      op.getWindowAttr(), StringAttr());
}

LogicalResult attentionRows(AdjointContext &context, AttentionRowsOp op) {
  if (!context.wideCotangent(0) && !context.wideCotangent(1))
    return success();
  AttentionGradOp grad = createGrad(context, op, op.getK(), op.getV());
  for (unsigned i : {0, 1, 2})
    context.add(i, grad->getResult(i));
  return success();
}

LogicalResult ringAttention(AdjointContext &context, RingAttentionOp op) {
  if (!context.wideCotangent(0) && !context.wideCotangent(1))
    return success();
  AllRows all(context, op);
  AttentionGradOp grad =
      createGrad(context, op, all.gather(op.getK()), all.gather(op.getV()));
  context.add(0, grad.getDq());
  if (context.isWanted(1))
    context.add(1, all.addAndScatter(grad.getDk()));
  if (context.isWanted(2))
    context.add(2, all.addAndScatter(grad.getDv()));
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
