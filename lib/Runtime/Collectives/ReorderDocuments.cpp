//===- ReorderDocuments.cpp - From and to orders per document -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DocumentExchange.h"

#include "Core/DocumentLists.h"
#include "Core/Operations.h"

using namespace cp::runtime;

namespace {

/// One side of a call: how it is cut, and where rows then are if documents say
/// that.
struct Side {
  cp::Cut cut;
  const PackedPositions *packed = nullptr;
};

/// One checked call.
struct ReorderCall {
  size_t dim;
  Side from, to;

  /// That of a side which documents say; there is one.
  const PackedPositions &packed() const {
    return from.packed ? *from.packed : *to.packed;
  }
  const Group &group() const { return *packed().group; }
  /// What a position has of an element of the batch in one of the two orders.
  List<Run> held(const Side &side, int64_t row, int64_t position) const {
    List<Run> runs;
    runs.reserve(packed().mostRuns);
    auto add = [&](const auto &those) {
      runs.insert(runs.end(), those.begin(), those.end());
    };
    if (side.packed)
      add(side.packed->runs[size_t(row)][size_t(position)]);
    else
      add(runsAt(group(), side.cut, packed().whole, position));
    return runs;
  }
  /// What `to` takes of `from` of an element of the batch. As much is reserved
  /// whatever the documents are, so that all batches use the same of the pool.
  DimMap common(int64_t row, int64_t to, int64_t from) const {
    DimMap map = {dim, {}};
    map.segments.reserve(2 * packed().mostRuns);
    forEachCommon(
        held(this->to, row, to), held(this->from, row, from),
        [&](const Segment &segment) { map.segments.push_back(segment); });
    return map;
  }
};

} // namespace

static Error readReorder(Context &context, const Descriptor &call,
                         ReorderCall &read) {
  const Buffer &source = call.in(0), &lists = call.in(1);
  ReorderDocumentsAttributes attrs(call);
  if (Error failure = expectWithin(call, "dim", attrs.dim, 1, source.rank - 1))
    return failure;
  read.dim = size_t(attrs.dim);
  read.from.cut = attrs.fromOrder;
  read.to.cut = attrs.toOrder;
  for (const Side *side : {&read.from, &read.to})
    if (isBySizes(side->cut))
      return call.invalid(
          std::string("attribute '") +
          (side == &read.from ? "from_order" : "to_order") +
          "' is -2 (sizes), expected an order in which parts are of one size; "
          "to a call they are contiguous ones");
  if (!isPerDocument(read.from.cut) && !isPerDocument(read.to.cut))
    return call.invalid(
        "neither order is -1 (zigzag_per_document) or -3 "
        "(contiguous_per_document), expected one that is; use reorder for "
        "others");
  List<int64_t> sizes(source.sizes, source.sizes + source.rank);
  if (Error failure = call.expectType(
          1, DType::I32, {sizes[0], lists.rank == 2 ? lists.sizes[1] : 0}))
    return failure;
  if (Error failure = call.expectType(2, source.dtype, sizes))
    return failure;
  if (Error failure = call.expectNotInPlace())
    return failure;
  HostLists own(lists);
  if (Error failure = own.bring(context, call))
    return failure;
  for (Side *side : {&read.from, &read.to})
    if (isPerDocument(side->cut))
      if (Error failure =
              findPackedPositions(context, call, attrs.axes, side->cut.order,
                                  own.buffer(), sizes[read.dim], side->packed))
        return failure;
  sizes[read.dim] = read.packed().whole;
  for (const Side &side : {read.from, read.to})
    if (Error failure = checkCut(call, read.group(), sizes, read.dim, side.cut))
      return failure;
  return std::nullopt;
}

Error cp::runtime::operations::reorderDocuments(Context &context,
                                                const Descriptor &call) {
  ReorderCall read = {};
  if (Error failure = readReorder(context, call, read))
    return failure;
  DocumentMoves documents = {1};
  auto moves = [&](int64_t to, int64_t from, List<Move> &list) {
    for (int64_t row = 0; row < call.in(0).sizes[0]; ++row)
      list.push_back(Move(0, &call.out(0))
                         .with({0, {{row, row, 1}}})
                         .with(read.common(row, to, from)));
  };
  Exchange exchange(context, call, read.group());
  exchange.countMoves(false);
  if (Error failure = exchange.enter(documents))
    return failure;
  if (Error failure =
          expectSameDocuments(context, call, exchange, read.group(), documents))
    return failure;
  exchange.countMoves(true);
  if (Error failure = exchange.nextRound(moves))
    return failure;
  return exchange.pullAll();
}
