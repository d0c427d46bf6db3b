//===- Halo.cpp - The adjoint of rows read from neighbours ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cotangent of a row goes back to the part of the sequence that holds it,
// or to the rows beside the whole sequence. Parts that lie as far apart in the
// sequence lie mostly as far apart among the ranks, too: one shift is for all
// of them.
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "Values.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {
namespace {

/// The parts of a sequence in their order, and what a halo reads of them of its
/// source of this number: each may have rows of its own.
class Parts {
public:
  Parts(HaloOp op, unsigned number)
      : ranks(op.getGroupSize()), cut(jointCut(op.toCuts())),
        slots(*partsPerRank(cut)), rows(op.getRows().count),
        isReverse(op.getRows().isReverse),
        own(cast<RankedTensorType>(op.getSources()[number].getType())
                .getDimSize(op.getDim()) /
            slots) {}

  int64_t count() const { return ranks * slots; }
  /// Whose a part is, and which of its parts.
  Holder seatOf(int64_t part) const {
    return holderOf({cut.axis, cut.order}, ranks, count(), part);
  }
  /// The part whose halo reads this one at so many parts' distance, or none.
  std::optional<int64_t> readerOf(int64_t part, int64_t distance) const {
    int64_t reader = isReverse ? part - distance : part + distance;
    return reader >= 0 && reader < count() ? std::optional(reader)
                                           : std::nullopt;
  }
  /// How many parts a part stands from the end at which the sequence has
  /// initial rows.
  int64_t fromEnd(int64_t part) const {
    return isReverse ? count() - 1 - part : part;
  }

  /// Of the rows that are `distance` parts away, the first in the halo, their
  /// number, and the first in that part.
  struct Stretch {
    int64_t inHalo, count, inPart;
  };
  Stretch stretch(int64_t distance) const {
    int64_t near = (distance - 1) * own, far = std::min(distance * own, rows);
    if (isReverse)
      return {near, far - near, 0};
    return {rows - far, far - near, distance * own - far};
  }
  /// Of the rows beside the whole sequence that a part at so many parts from
  /// the end reads.
  Stretch beside(int64_t parts) const {
    int64_t inside = parts * own, count = rows - inside;
    return isReverse ? Stretch{inside, count, 0} : Stretch{0, count, inside};
  }

  const int64_t ranks;
  const Cut cut;
  const int64_t slots, rows;
  const bool isReverse;
  const int64_t own;
};

/// The adjoint for one of the tensors.
class RowsBack {
public:
  RowsBack(AdjointContext &context, HaloOp op, unsigned number)
      : context(context), op(op), parts(op, number), number(number),
        cotangent(context.wideCotangent(number)) {}

  void run() {
    if (!cotangent)
      return;
    if (context.isWanted(number))
      for (int64_t distance = 1;
           distance < parts.count() && parts.stretch(distance).count > 0;
           ++distance)
        sendBack(distance);
    unsigned initial = op.getSources().size() + number;
    if (!op.getInitial().empty() && context.isWanted(initial))
      for (int64_t part = 0; part < parts.count(); ++part)
        if (parts.beside(parts.fromEnd(part)).count > 0)
          keep(initial, part);
  }

private:
  /// To the parts at this distance: by one shift for all that go from the same
  /// slot to the same slot over as many ranks.
  void sendBack(int64_t distance) {
    struct Route {
      int64_t from, to, ranks;
      bool operator==(const Route &other) const {
        return from == other.from && to == other.to && ranks == other.ranks;
      }
    };
    SmallVector<std::pair<Route, SmallVector<int64_t>>> routes;
    for (int64_t part = 0; part < parts.count(); ++part) {
      std::optional<int64_t> reader = parts.readerOf(part, distance);
      if (!reader)
        continue;
      Holder to = parts.seatOf(part), from = parts.seatOf(*reader);
      Route route = {from.local, to.local, to.position - from.position};
      auto *known = llvm::find_if(
          routes, [&](const auto &entry) { return entry.first == route; });
      if (known == routes.end())
        known = &routes.emplace_back(route, SmallVector<int64_t>());
      known->second.push_back(to.position);
    }
    Parts::Stretch rows = parts.stretch(distance);
    for (auto &[route, takers] : routes) {
      Value sent = slice(route.from * parts.rows + rows.inHalo, rows.count);
      if (route.ranks != 0)
        sent = ShiftOp::create(context.getBuilder(), context.getLoc(),
                               sent.getType(), sent, op.getMesh(), op.getAxes(),
                               route.ranks);
      // Where there is no sender a shift gives zeros.
      int64_t senders = parts.ranks - std::abs(route.ranks);
      if (static_cast<int64_t>(takers.size()) < senders)
        sent = onPositions(context.getBuilder(), context.getLoc(), sent,
                           op.getMesh(), op.getAxes(), takers);
      addRows(number, sent, route.to * parts.own + rows.inPart);
    }
  }

  /// What a part read of the initial rows is this rank's term of their
  /// cotangent.
  void keep(unsigned initial, int64_t part) {
    Holder seat = parts.seatOf(part);
    Parts::Stretch rows = parts.beside(parts.fromEnd(part));
    Value term = slice(seat.local * parts.rows + rows.inHalo, rows.count);
    addRows(initial,
            onPositions(context.getBuilder(), context.getLoc(), term,
                        op.getMesh(), op.getAxes(), seat.position),
            rows.inPart);
  }

  SmallVector<int64_t> at(int64_t row) {
    SmallVector<int64_t> offsets(
        cast<RankedTensorType>(cotangent.getType()).getRank(), 0);
    offsets[op.getDim()] = row;
    return offsets;
  }

  Value slice(int64_t first, int64_t count) {
    auto type = cast<RankedTensorType>(cotangent.getType());
    SmallVector<int64_t> sizes(type.getShape()), ones(sizes.size(), 1);
    sizes[op.getDim()] = count;
    MLIRContext *mlir = op.getContext();
    return tensor::ExtractSliceOp::create(
        context.getBuilder(), context.getLoc(), cotangent,
        getAsIndexOpFoldResult(mlir, at(first)),
        getAsIndexOpFoldResult(mlir, sizes),
        getAsIndexOpFoldResult(mlir, ones));
  }

  void addRows(unsigned operand, Value rows, int64_t first) {
    context.addSlice(operand, rows, at(first));
  }

  AdjointContext &context;
  HaloOp op;
  Parts parts;
  unsigned number;
  Value cotangent;
};

} // namespace

LogicalResult adjointOfHalo(AdjointContext &context, HaloOp op) {
  for (unsigned i = 0; i < op.getSources().size(); ++i)
    RowsBack(context, op, i).run();
  return success();
}

} // namespace cp
