//===- CPGradPlaced.cpp - Adjoints on a cut sequence ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a rank read of its neighbours in the forward pass it reads again, by the
// same ops, which become one (cse); their cotangents go back by the same ops
// in the other direction: a halo behind for a halo before, a scan in reverse.
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {

/// Strings of neighbours, one on each rank.
static bool isContiguous(ArrayRef<Cut> cuts) {
  return partsPerRank(cuts.vec()) == 1;
}

//===----------------------------------------------------------------------===//
// conv1d_grad
//===----------------------------------------------------------------------===//

namespace {
/// Rows along dimension 1 of `[b, l, c]`.
class Rows {
public:
  Rows(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  /// `into` with `count` rows of `from`, its `first` and those behind it, added
  /// to its row `at` and those behind that.
  Value add(Value into, int64_t at, Value from, int64_t first, int64_t count) {
    Value sum = arith::AddFOp::create(builder, loc, slice(into, at, count),
                                      slice(from, first, count));
    SmallVector<OpFoldResult> offsets, sizes, strides;
    describe(sum, at, count, offsets, sizes, strides);
    return tensor::InsertSliceOp::create(builder, loc, sum, into, offsets,
                                         sizes, strides);
  }

  Value slice(Value value, int64_t first, int64_t count) {
    SmallVector<OpFoldResult> offsets, sizes, strides;
    describe(value, first, count, offsets, sizes, strides);
    return tensor::ExtractSliceOp::create(builder, loc, value, offsets, sizes,
                                          strides);
  }

private:
  void describe(Value value, int64_t first, int64_t count,
                SmallVectorImpl<OpFoldResult> &offsets,
                SmallVectorImpl<OpFoldResult> &sizes,
                SmallVectorImpl<OpFoldResult> &strides) {
    SmallVector<int64_t> shape(shapeOf(value)), zeros(shape.size(), 0),
        ones(shape.size(), 1);
    shape[1] = count;
    zeros[1] = first;
    MLIRContext *context = builder.getContext();
    offsets = getAsIndexOpFoldResult(context, zeros);
    sizes = getAsIndexOpFoldResult(context, shape);
    strides = getAsIndexOpFoldResult(context, ones);
  }

  OpBuilder &builder;
  Location loc;
};

/// A tensor like `value` with so many rows.
RankedTensorType withRows(Value value, int64_t rows) {
  SmallVector<int64_t> shape(shapeOf(value));
  shape[1] = rows;
  return cast<RankedTensorType>(value.getType()).clone(shape);
}

/// The halo of a window's `rows` rows on a sequence cut so.
struct WindowCut {
  MeshAttr mesh;
  ArrayAttr cuts;
  /// How many ranks there are, and rows on each.
  int64_t ranks, own;
  int64_t rows;

  /// How many ranks behind it a rank's rows reach.
  int64_t reach() const {
    return std::min<int64_t>(llvm::divideCeil(rows, std::max<int64_t>(own, 1)),
                             std::max<int64_t>(ranks - 1, 1));
  }
};

Value createHalo(OpBuilder &builder, Location loc, const WindowCut &cut,
                 Value source, Value initial, HaloRows rows) {
  SmallVector<Value> given;
  if (initial)
    given.push_back(initial);
  return HaloOp::create(builder, loc, TypeRange{withRows(source, rows.count)},
                        ValueRange{source}, given, cut.mesh, cut.cuts, 1, rows)
      .getResults()[0];
}

/// dx with what ranks behind this one have of its last rows. `before` are the
/// cotangents of the rows that each rank read before its own.
Value addFromBehind(OpBuilder &builder, Location loc, const WindowCut &cut,
                    Value dx, Value before) {
  int64_t reach = cut.reach();
  Value behind = createHalo(builder, loc, cut, before, Value(),
                            {reach * cut.rows, /*isReverse=*/true});
  Rows rows(builder, loc);
  for (int64_t rank = 1; rank <= reach; ++rank) {
    // Row j of that rank's is row `rank` own - rows + j of this one's.
    int64_t at = rank * cut.own - cut.rows;
    int64_t first = std::max<int64_t>(-at, 0);
    int64_t count = std::min(cut.own - at, cut.rows) - first;
    if (count > 0)
      dx = rows.add(dx, at + first, behind, (rank - 1) * cut.rows + first,
                    count);
  }
  return dx;
}

/// The cotangent of the rows before the whole sequence, on every rank: what
/// the first ranks have of them.
Value gatherInitial(OpBuilder &builder, Location loc, const WindowCut &cut,
                    Value before) {
  Value all = AllGatherOp::create(
      builder, loc, withRows(before, cut.ranks * cut.rows), before, cut.mesh,
      cut.cuts, builder.getI64IntegerAttr(1));
  Rows rows(builder, loc);
  Value sum = rows.slice(all, 0, cut.rows);
  for (int64_t rank = 1; rank < cut.ranks && rank * cut.own < cut.rows; ++rank)
    // Its row j is row j + `rank` own of them.
    sum = rows.add(sum, rank * cut.own, all, rank * cut.rows,
                   cut.rows - rank * cut.own);
  return sum;
}
} // namespace

bool Conv1dGradOp::canRunOn(ArrayRef<Cut> cuts) { return isContiguous(cuts); }

SmallVector<Value> Conv1dGradOp::place(OpBuilder &builder, MeshAttr mesh,
                                       ArrayRef<Cut> cuts) {
  ArrayAttr local = localCutsAttr(mesh, cuts);
  WindowCut cut = {mesh, local, groupSize(mesh, axesOf(local)),
                   shapeOf(getX())[1], shapeOf(getWeight())[1] - 1};
  Value initial = getInitial();
  if (cut.rows > 0)
    initial = createHalo(builder, getLoc(), cut, getX(), getInitial(),
                         {cut.rows, /*isReverse=*/false});
  auto grad = Conv1dGradOp::create(
      builder, getLoc(), getDx().getType(), getDweight().getType(),
      getDbias().getType(), getDinitial().getType(), getX(), getWeight(),
      getDy(), getBias(), initial, getPlaces(), getSiluAttr());
  Value dx = grad.getDx(), dinitial = grad.getDinitial();
  if (cut.rows > 0) {
    Value before = dinitial;
    dx = addFromBehind(builder, getLoc(), cut, dx, before);
    if (!getDinitial().use_empty())
      dinitial = gatherInitial(builder, getLoc(), cut, before);
  }
  return {dx, grad.getDweight(), grad.getDbias(), dinitial};
}

//===----------------------------------------------------------------------===//
// ssd_grad
//===----------------------------------------------------------------------===//

bool SsdGradOp::canRunOn(ArrayRef<Cut> cuts) { return isContiguous(cuts); }

/// The first half of the forward pass again, and its scan over ranks: the state
/// in front of this rank's tokens, and what these leave of one.
static std::pair<Value, Value> stateBefore(SsdGradOp op, OpBuilder &builder,
                                           MeshAttr mesh, ArrayAttr cuts,
                                           ScanAlgorithm algorithm) {
  ArrayRef<int64_t> x = shapeOf(op.getX()), b = shapeOf(op.getB());
  auto state = cast<RankedTensorType>(op.getDinitial().getType());
  auto chunks = static_cast<int64_t>(llvm::divideCeil(x[1], op.getChunkSize()));
  auto states = SsdStatesOp::create(
      builder, op.getLoc(),
      TypeRange{state.clone({x[0], x[2]}), state,
                state.clone({x[0], chunks, x[2], x[3], b[3]}),
                state.clone({x[0], x[1], x[2]})},
      op.getX(), op.getDt(), op.getALog(), op.getB(), op.getDtBias(),
      op.getPlaces(), op.getChunkSizeAttr(), op.getDtMinAttr(),
      op.getDtMaxAttr());
  auto scan = ScanStateOp::create(builder, op.getLoc(),
                                  {states.getDecay(), states.getState()},
                                  /*hasTotal=*/false, mesh, cuts, algorithm,
                                  /*reverse=*/false, CombineAttr());
  Value before =
      advanceByDecay(builder, op.getLoc(), scan.getPrefix(), op.getInitial(),
                     static_cast<bool>(op.getPlaces()));
  return {before, states.getDecay()};
}

SmallVector<Value> SsdGradOp::place(OpBuilder &builder, MeshAttr mesh,
                                    ArrayRef<Cut> cuts) {
  ArrayAttr local = localCutsAttr(mesh, cuts);
  ScanAlgorithm algorithm = getAlgorithm().value_or(ScanAlgorithm::Chain);
  bool mayStart = static_cast<bool>(getPlaces());
  auto [before, decay] = stateBefore(*this, builder, mesh, local, algorithm);
  auto own = SsdGradStatesOp::create(
      builder, getLoc(), getDinitial().getType(), getDy(), getDt(), getALog(),
      getC(), getDtBias(), getPlaces(), getChunkSizeAttr(), getDtMinAttr(),
      getDtMaxAttr());
  bool wantsInitial = !getDinitial().use_empty();
  auto scan = ScanStateOp::create(builder, getLoc(), {decay, own.getDstate()},
                                  /*hasTotal=*/wantsInitial, mesh, local,
                                  algorithm, /*reverse=*/true, CombineAttr());
  Value behind = advanceByDecay(builder, getLoc(), scan.getPrefix(),
                                getDstate(), mayStart);
  auto grad = SsdGradOp::create(
      builder, getLoc(), getResultTypes(), getX(), getDt(), getALog(), getB(),
      getC(), getDy(), getD(), getDtBias(), before, behind, getPlaces(),
      getAlgorithmAttr(), getChunkSizeAttr(), getDtMinAttr(), getDtMaxAttr());
  SmallVector<Value> results(grad->getResults());
  if (wantsInitial)
    results.back() = advanceByDecay(builder, getLoc(), scan.getTotal(),
                                    getDstate(), mayStart);
  return results;
}

} // namespace cp
