//===- KeyRing.cpp - Keys and values that go round ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyRing.h"

#include "Core/DocumentLists.h"

#include <algorithm>

using namespace cp::runtime;

PartOf::PartOf(const Buffer &whole, BatchPart part) : view(whole) {
  if (part.element < 0 || whole.dtype == DType::Absent)
    return;
  sizes[0] = 1;
  std::copy(whole.sizes + 1, whole.sizes + whole.rank, sizes.begin() + 1);
  view.sizes = sizes.data();
  view.data = static_cast<char *>(whole.data) +
              part.element * whole.strides[0] * int64_t(sizeOf(whole.dtype));
}

/// Of rows that lie as documents say.
static Error readPackedRows(Context &context, const Descriptor &call,
                            const SequenceCut &cut, size_t documents,
                            RingRows &rows) {
  const Buffer *lists = optionalInput(call, documents);
  if (!lists)
    return call.invalid("attribute 'orders' is " +
                        std::to_string(cut.orders[0]) + " (" +
                        orderName(cut.perDocument()) +
                        "), but there are no cu_seqlens, expected them as "
                        "input " +
                        std::to_string(documents));
  const Buffer &q = call.in(0), &k = call.in(1);
  if (Error failure =
          call.expectType(documents, DType::I32,
                          {q.sizes[0], lists->rank == 2 ? lists->sizes[1] : 0}))
    return failure;
  if (q.sizes[1] != k.sizes[1])
    return call.invalid(std::to_string(q.sizes[1]) + " queries and " +
                        std::to_string(k.sizes[1]) +
                        " keys, expected as many in documents");
  HostLists own(*lists);
  if (Error failure = own.bring(context, call))
    return failure;
  const PackedPositions *packed = nullptr;
  if (Error failure =
          findPackedPositions(context, call, cut.axes, cut.perDocument(),
                              own.buffer(), q.sizes[1], packed))
    return failure;
  rows.queries = rows.keys = packed->rows.data();
  rows.isOfEach = true;
  rows.numElements = q.sizes[0];
  rows.ranks = packed->group;
  return std::nullopt;
}

static Error readRows(Context &context, const Descriptor &call,
                      const SequenceCut &cut, size_t documents,
                      RingRows &rows) {
  if (cut.isPerDocument())
    return readPackedRows(context, call, cut, documents, rows);
  if (optionalInput(call, documents))
    return call.invalid("there are cu_seqlens without an order per document, "
                        "expected the order -1 (zigzag_per_document) or -3 "
                        "(contiguous_per_document); leave them out");
  if (Error failure = findPositions(context, call, "", cut, call.in(0).sizes[1],
                                    rows.queries))
    return failure;
  if (Error failure =
          findPositions(context, call, "", cut, call.in(1).sizes[1], rows.keys))
    return failure;
  rows.ranks = rows.keys->group;
  return std::nullopt;
}

Error cp::runtime::readRingRows(Context &context, const Descriptor &call,
                                const AttentionRule &rule,
                                const SequenceCut &cut,
                                const RingOptions &options, RingRows &rows) {
  rows.rule = rule;
  if (Error failure = call.expectNotInPlace())
    return failure;
  if (Error failure = readRows(context, call, cut, options.documents, rows))
    return failure;
  const Buffer *places = options.places;
  return rows.forEachPart(
      [&](BatchPart part, const Positions &queries, const Positions &keys) {
        PartOf own(places ? *places : call.in(0), part);
        return checkAttentionRule(context, call, rule, queries, keys,
                                  places ? &own.buffer() : nullptr);
      });
}

int64_t StagedParts::add(int64_t bytes) {
  int64_t begin = end, sum = 0;
  fits &= !__builtin_add_overflow(begin, bytes, &sum) &&
          !__builtin_add_overflow(sum, 63, &sum);
  end = fits ? sum / 64 * 64 : 0;
  return begin;
}

char *StagedParts::memoryOf(Context &context) const {
  return fits ? stagingFor(context, end) : nullptr;
}

KeySlots::KeySlots(StagedParts &parts, const Buffer &k, const Buffer &v,
                   int64_t numRanks) {
  for (int64_t slot = 0; slot < std::min<int64_t>(numRanks - 1, 2); ++slot) {
    keys[slot] = parts.add(numBytes(k));
    values[slot] = parts.add(numBytes(v));
  }
}

static size_t slotOf(int64_t t) { return size_t(t + 1) % 2; }

Contiguous KeyRing::keys(int64_t t) const {
  return Contiguous(call.in(1), memory + slots.keys[slotOf(t)]);
}

Contiguous KeyRing::values(int64_t t) const {
  return Contiguous(call.in(2), memory + slots.values[slotOf(t)]);
}

void KeyRing::moveOwn(int64_t to, int64_t from, List<Move> &list) const {
  if (group.size > 1 && from == (to + group.size - 1) % group.size)
    for (size_t i : {0, 1})
      list.push_back({1 + i, &firstSlots[i].buffer()});
}

/// Block t of a rank, of its keys (`which` 0) or values, where it staged them.
Piece KeyRing::piece(int64_t t, size_t which) const {
  return {(which == 0 ? slots.keys : slots.values)[slotOf(t)],
          numBytes(call.in(1 + which))};
}

Error KeyRing::begin(int64_t t) {
  if (t + 1 == group.size)
    return std::nullopt;
  if (t > 0) {
    int64_t previous = around(-1), next = around(1);
    for (size_t which : {0, 1})
      exchange.offer(next, piece(t, which));
    // The slot held block t - 1, which is the next rank's block t.
    if (t >= 2)
      if (Error failure = exchange.await(next, hasTaken(t - 1), nullptr, 0))
        return failure;
    if (Error failure = exchange.reclaim(Lane::First, 2))
      return failure;
    for (size_t which : {0, 1})
      if (Error failure =
              exchange.expect(previous, piece(t, which), place(t + 1, which)))
        return failure;
  }
  return exchange.arrivesMeanwhile() ? std::nullopt : take(t);
}

Error KeyRing::finish(int64_t t) {
  bool isThere = t + 1 == group.size || !exchange.arrivesMeanwhile();
  return isThere ? std::nullopt : take(t);
}

Error KeyRing::take(int64_t t) {
  int64_t previous = around(-1);
  if (t == 0) {
    // The previous rank's own block is where its call has it.
    if (Error failure = exchange.pull(previous))
      return failure;
  } else {
    for (size_t which : {0, 1})
      if (Error failure = exchange.fetch(previous, hasTaken(t - 1),
                                         piece(t, which), place(t + 1, which)))
        return failure;
  }
  return exchange.publish(hasTaken(t));
}
