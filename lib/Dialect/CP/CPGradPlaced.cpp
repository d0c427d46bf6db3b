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
#include "cp/IR/RowSlices.h"
#include "cp/IR/SequenceParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {

namespace {
/// A rank's rows as the parts of the sequence that they are, each with a batch
/// element of its own. Null stays null.
class RankParts {
public:
  RankParts(OpBuilder &builder, ArrayRef<Cut> cuts)
      : count(*partsPerRank(cuts.vec())), builder(builder) {}

  Value split(Value rows) const {
    return rows && count > 1 ? seenAsParts(builder, rows, 1) : rows;
  }
  Value join(Value rows) const {
    return count > 1 ? seenAsOne(builder, rows, 1) : rows;
  }
  /// What an element of the batch has, for each of its parts.
  Value each(Value value) const {
    if (!value || count == 1)
      return value;
    return RepeatOp::create(builder, value.getLoc(), ofEach(value.getType()),
                            value, /*dim=*/0, /*unit=*/1, /*times=*/count);
  }
  RankedTensorType ofEach(Type type) const {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tensor.getShape());
    shape[0] *= count;
    return tensor.clone(shape);
  }

  const int64_t count;

private:
  OpBuilder &builder;
};
} // namespace

/// In strings of neighbours, few on each rank.
static bool isInParts(ArrayRef<Cut> cuts) {
  return partsPerRank(cuts.vec()).has_value();
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
    Value added = slice(from, first, count);
    Value sum =
        arith::AddFOp::create(builder, loc, slice(into, at, count), added);
    return putRows(builder, loc, sum, into, at);
  }

  Value slice(Value value, int64_t first, int64_t count) {
    return sliceRows(builder, loc, value, first, count);
  }

private:
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
  RankParts perRank;
  /// How many parts there are, and rows in each.
  int64_t parts, own;
  int64_t rows;

  /// How many parts behind it a part's rows reach.
  int64_t reach() const {
    return std::min<int64_t>(llvm::divideCeil(rows, std::max<int64_t>(own, 1)),
                             std::max<int64_t>(parts - 1, 1));
  }
};

/// The same halo where the forward pass, which is partitioned before, has made
/// it. CSE would find it, but goes through all ops between the two for each.
HaloOp sharedWithForward(HaloOp halo) {
  for (Operation *user : halo.getSources()[0].getUsers())
    if (user != halo && user->getBlock() == halo->getBlock() &&
        OperationEquivalence::isEquivalentTo(
            user, halo, OperationEquivalence::exactValueMatch,
            /*markEquivalent=*/nullptr,
            OperationEquivalence::IgnoreLocations)) {
      halo.erase();
      return cast<HaloOp>(user);
    }
  return halo;
}

/// The rows beside each part of `source`, which holds both parts of a rank.
Value createHalo(OpBuilder &builder, Location loc, const WindowCut &cut,
                 Value source, Value initial, HaloRows rows) {
  SmallVector<Value> given;
  if (initial)
    given.push_back(initial);
  auto halo = HaloOp::create(
      builder, loc, TypeRange{withRows(source, rows.count * cut.perRank.count)},
      ValueRange{source}, given, cut.mesh, cut.cuts, 1, rows);
  return cut.perRank.split(sharedWithForward(halo).getResults()[0]);
}

/// dx with what parts behind this one have of its last rows. `before` are the
/// cotangents of the rows that each part read before its own.
Value addFromBehind(OpBuilder &builder, Location loc, const WindowCut &cut,
                    Value dx, Value before) {
  int64_t reach = cut.reach();
  Value behind = createHalo(builder, loc, cut, cut.perRank.join(before),
                            Value(), {reach * cut.rows, /*isReverse=*/true});
  Rows rows(builder, loc);
  for (int64_t part = 1; part <= reach; ++part) {
    // Row j of that part's is row `part` own - rows + j of this one's.
    int64_t at = part * cut.own - cut.rows;
    int64_t first = std::max<int64_t>(-at, 0);
    int64_t count = std::min(cut.own - at, cut.rows) - first;
    if (count > 0)
      dx = rows.add(dx, at + first, behind, (part - 1) * cut.rows + first,
                    count);
  }
  return dx;
}

/// The cotangent of the rows before the whole sequence, on every rank: what
/// the first parts have of them.
Value gatherInitial(OpBuilder &builder, Location loc, const WindowCut &cut,
                    Value before) {
  if (cut.rows == 0)
    return Rows(builder, loc).slice(cut.perRank.join(before), 0, 0);
  Value own = cut.perRank.join(before);
  Value all =
      AllGatherOp::create(builder, loc, withRows(own, cut.parts * cut.rows),
                          own, cut.mesh, cut.cuts, /*dim=*/1)
          .getResults()[0];
  Rows rows(builder, loc);
  Value sum = rows.slice(all, 0, cut.rows);
  for (int64_t part = 1; part < cut.parts && part * cut.own < cut.rows; ++part)
    // Its row j is row j + `part` own of them.
    sum = rows.add(sum, part * cut.own, all, part * cut.rows,
                   cut.rows - part * cut.own);
  return sum;
}
} // namespace

bool Conv1dGradOp::canRunOn(ArrayRef<Cut> cuts) { return isInParts(cuts); }

SmallVector<Value> Conv1dGradOp::place(OpBuilder &builder, MeshAttr mesh,
                                       ArrayRef<Cut> cuts) {
  ArrayAttr local = localCutsAttr(mesh, cuts);
  RankParts parts(builder, cuts);
  Value x = parts.split(getX());
  WindowCut cut = {mesh,          local,
                   parts,         groupSize(mesh, axesOf(local)) * parts.count,
                   shapeOf(x)[1], shapeOf(getWeight())[1] - 1};
  Value initial = cut.rows > 0
                      ? createHalo(builder, getLoc(), cut, getX(), getInitial(),
                                   {cut.rows, /*isReverse=*/false})
                      : parts.each(getInitial());
  Value places = parts.split(getPlaces());
  auto grad = Conv1dGradOp::create(builder, getLoc(), x.getType(),
                                   getDweight().getType(), getDbias().getType(),
                                   parts.ofEach(getDinitial().getType()), x,
                                   getWeight(), parts.split(getDy()), getBias(),
                                   initial, places, getSiluAttr());
  Value dx = grad.getDx(), dinitial = grad.getDinitial();
  if (cut.rows > 0)
    dx = addFromBehind(builder, getLoc(), cut, dx, dinitial);
  if (!getDinitial().use_empty())
    dinitial = gatherInitial(builder, getLoc(), cut, dinitial);
  return {parts.join(dx), grad.getDweight(), grad.getDbias(), dinitial};
}

//===----------------------------------------------------------------------===//
// ssd_grad
//===----------------------------------------------------------------------===//

bool SsdGradOp::canRunOn(ArrayRef<Cut> cuts) { return isInParts(cuts); }

namespace {
/// The adjoint of a scan on a rank's parts of a sequence.
class ScanGrad {
public:
  ScanGrad(SsdGradOp op, OpBuilder &builder, MeshAttr mesh, ArrayRef<Cut> cuts)
      : op(op), builder(builder), loc(op.getLoc()), mesh(mesh),
        cuts(localCutsAttr(mesh, cuts)), parts(builder, cuts),
        state(parts.ofEach(op.getDinitial().getType())),
        x(parts.split(op.getX())), dt(parts.split(op.getDt())),
        B(parts.split(op.getB())), C(parts.split(op.getC())),
        dy(parts.split(op.getDy())), places(parts.split(op.getPlaces())) {}

  SmallVector<Value> run() {
    findBefore();
    findBehind();
    auto grad = SsdGradOp::create(
        builder, loc, x.getType(), dt.getType(), op.getDALog().getType(),
        B.getType(), C.getType(), op.getDD().getType(),
        op.getDdtBias().getType(), state, x, dt, op.getALog(), B, C, dy,
        op.getD(), op.getDtBias(), before, behind, places,
        op.getAlgorithmAttr(), op.getChunkSizeAttr(), op.getDtMinAttr(),
        op.getDtMaxAttr());
    return {parts.join(grad.getDx()), parts.join(grad.getDdt()),
            grad.getDALog(),          parts.join(grad.getDB()),
            parts.join(grad.getDC()), grad.getDD(),
            grad.getDdtBias(),        dinitial ? dinitial : grad.getDinitial()};
  }

private:
  bool mayStart() { return static_cast<bool>(places); }

  /// The first half of the forward pass again, and its scan over ranks: the
  /// state in front of each part's tokens, and what these leave of one.
  void findBefore() {
    ArrayRef<int64_t> sizes = shapeOf(x), b = shapeOf(B);
    auto chunks =
        static_cast<int64_t>(llvm::divideCeil(sizes[1], op.getChunkSize()));
    auto states = SsdStatesOp::create(
        builder, loc,
        TypeRange{state.clone({sizes[0], sizes[2]}), state,
                  state.clone({sizes[0], chunks, sizes[2], sizes[3], b[3]}),
                  state.clone({sizes[0], sizes[1], sizes[2]})},
        x, dt, op.getALog(), B, op.getDtBias(), places, op.getChunkSizeAttr(),
        op.getDtMinAttr(), op.getDtMaxAttr());
    decay = states.getDecay();
    auto scan = createScan(states.getState(), /*hasTotal=*/false,
                           /*reverse=*/false);
    before = advanceByDecay(builder, loc, scan.getPrefix(),
                            parts.each(op.getInitial()), mayStart());
  }

  /// The cotangent of the state behind each part, and of the initial one.
  void findBehind() {
    auto own = SsdGradStatesOp::create(
        builder, loc, state, dy, dt, op.getALog(), C, op.getDtBias(), places,
        op.getChunkSizeAttr(), op.getDtMinAttr(), op.getDtMaxAttr());
    bool wantsInitial = !op.getDinitial().use_empty();
    auto scan = createScan(own.getDstate(), /*hasTotal=*/wantsInitial,
                           /*reverse=*/true);
    behind = advanceByDecay(builder, loc, scan.getPrefix(),
                            parts.each(op.getDstate()), mayStart());
    if (wantsInitial)
      dinitial = advanceByDecay(builder, loc, scan.getTotal(), op.getDstate(),
                                mayStart());
  }

  ScanStateOp createScan(Value states, bool hasTotal, bool reverse) {
    return ScanStateOp::create(builder, loc, {decay, states}, hasTotal, mesh,
                               cuts,
                               op.getAlgorithm().value_or(ScanAlgorithm::Chain),
                               reverse, CombineAttr());
  }

  SsdGradOp op;
  OpBuilder &builder;
  Location loc;
  MeshAttr mesh;
  ArrayAttr cuts;
  RankParts parts;
  RankedTensorType state;
  Value x, dt, B, C, dy, places;
  Value decay, before, behind, dinitial;
};
} // namespace

SmallVector<Value> SsdGradOp::place(OpBuilder &builder, MeshAttr mesh,
                                    ArrayRef<Cut> cuts) {
  return ScanGrad(*this, builder, mesh, cuts).run();
}

} // namespace cp
