//===- Halo.cpp - shift, halo ---------------------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Copy.h"
#include "Core/Operations.h"
#include "Core/Sequence.h"
#include "Exchange.h"

#include <algorithm>

using namespace cp::runtime;

Error cp::runtime::operations::shift(Context &context, const Descriptor &call) {
  ShiftAttributes attrs(call);
  if (Error failure =
          expectWithin(call, "offset", attrs.offset, -INT32_MAX, INT32_MAX))
    return failure;
  const Group *group = nullptr;
  if (Error failure = findGroup(context, call, attrs.axes, group))
    return failure;
  const Buffer &in = call.in(0);
  if (Error failure =
          call.expectType(1, in.dtype, {in.sizes, in.sizes + in.rank}))
    return failure;
  if (Error failure = call.expectNotInPlace())
    return failure;
  auto moves = [&](int64_t to, int64_t from, List<Move> &list) {
    if (from == to - attrs.offset)
      list.push_back({0, &call.out(0)});
  };
  Exchange exchange(context, call, *group);
  if (Error failure = exchange.enter(moves))
    return failure;
  int64_t source = group->position - attrs.offset;
  if (source >= 0 && source < group->size)
    return exchange.pull(source);
  return fillZeros(context.deviceOfCall(), call, call.out(0));
}

namespace {
struct HaloCall {
  const Group *group = nullptr;
  /// How many rows each part gets of those that precede it in the direction of
  /// travel.
  int64_t count = 0;
  Sequence sequence = {};
  size_t dim = 0;
  bool hasInitial = false;

  int64_t rowsIn(const Buffer &in) const {
    return in.sizes[dim] / sequence.partsPerRank();
  }
};
} // namespace

/// Output i is input i with `count` rows for each part, initial i with as many
/// for one.
static Error checkHaloTensor(const Descriptor &call, const HaloCall &read,
                             size_t i) {
  const Buffer &in = call.in(i);
  int64_t parts = read.sequence.partsPerRank();
  List<int64_t> sizes(in.sizes, in.sizes + in.rank);
  if (read.dim >= sizes.size())
    return call.invalid(call.label(i) + " is " + typeText(in) +
                        ", expected a dim " + std::to_string(read.dim));
  int64_t &size = sizes[read.dim];
  if (size % parts)
    return call.invalid(call.label(i) + " is " + typeText(in) +
                        ", expected an even dim " + std::to_string(read.dim) +
                        ": in zigzag order a rank holds two parts");
  size = read.count;
  if (read.hasInitial)
    if (Error failure = call.expectType(call.numOuts() + i, in.dtype, sizes))
      return failure;
  if (__builtin_mul_overflow(read.count, parts, &size))
    return call.invalid("attribute 'rows' is " + std::to_string(read.count) +
                        ", expected what a tensor can hold of two parts");
  return call.expectType(call.numIns() + i, in.dtype, sizes);
}

static Error readHalo(Context &context, const Descriptor &call,
                      HaloCall &read) {
  HaloAttributes attrs(call);
  if (Error failure = expectWithin(call, "dim", attrs.dim, 0, maxRank - 1))
    return failure;
  read.dim = size_t(attrs.dim);
  read.sequence.isReverse = attrs.reverse;
  read.count = attrs.rows;
  if (Error failure = expectNeighbours(call, attrs.order))
    return failure;
  read.sequence.cut = attrs.order;
  size_t count = call.numOuts();
  read.hasInitial = call.numIns() != count;
  if (read.hasInitial && call.numIns() != 2 * count)
    return call.invalid("found " + std::to_string(call.numIns()) +
                        " inputs and " + std::to_string(count) +
                        " outputs, expected as many inputs as outputs, or "
                        "twice as many with initial rows");
  for (size_t i = 0; i < count; ++i)
    if (Error failure = checkHaloTensor(call, read, i))
      return failure;
  if (Error failure = call.expectNotInPlace())
    return failure;
  if (Error failure = findGroup(context, call, attrs.axes, read.group))
    return failure;
  read.sequence.numRanks = read.group->size;
  return std::nullopt;
}

/// The first of `count` rows among `size` in the order of the tokens, if so
/// many as `distance` are between them and the end that the direction goes to.
static int64_t firstOf(const HaloCall &read, int64_t size, int64_t distance,
                       int64_t count) {
  return read.sequence.isReverse ? distance : size - distance - count;
}

/// Calls fn(position, rows) for the rows of output i that stand before the part
/// in `slot` of the rank at `to`: the nearest ones from the part before it, and
/// so on until there are enough. Says how many there are not.
template <typename Fn>
static int64_t forEachPiece(const Descriptor &call, const HaloCall &read,
                            size_t i, int64_t to, int64_t slot, Fn fn) {
  const Sequence &sequence = read.sequence;
  int64_t first = sequence.inBuffer(slot) * read.count, taken = 0;
  int64_t size = read.rowsIn(call.in(i));
  for (int64_t part = sequence.partAt({to, slot});
       part > 0 && taken < read.count; --part) {
    auto [position, seat] = sequence.seatOf(part - 1);
    int64_t count = std::min(size, read.count - taken);
    fn(position,
       Segment{first + firstOf(read, read.count, taken, count),
               sequence.inBuffer(seat) * size + firstOf(read, size, 0, count),
               count});
    taken += count;
  }
  return read.count - taken;
}

/// What the rank at `to` takes of input i of the one at `from`.
static Move moveOf(const Descriptor &call, const HaloCall &read, size_t i,
                   int64_t to, int64_t from) {
  DimMap rows = {read.dim, {}};
  for (int64_t slot = 0; slot < read.sequence.partsPerRank(); ++slot)
    forEachPiece(call, read, i, to, slot,
                 [&](int64_t position, const Segment &piece) {
                   if (position == from)
                     rows.segments.push_back(piece);
                 });
  return Move(i, &call.out(i)).with(std::move(rows));
}

/// The `count` rows of output i that are farthest from the part in `slot`, as
/// the sequence does not have them: the nearest of those before it.
static Error takeInitial(DeviceQueue *device, const Descriptor &call,
                         const HaloCall &read, size_t i, int64_t slot,
                         int64_t count) {
  int64_t taken = read.count - count;
  Segment rows = {read.sequence.inBuffer(slot) * read.count +
                      firstOf(read, read.count, taken, count),
                  firstOf(read, read.count, 0, count), count};
  return copyMapped(device, call, call.out(i), call.in(call.numOuts() + i),
                    {{read.dim, {rows}}});
}

/// Whether rows are wanted that stand before the whole sequence.
static bool reachesBegin(const HaloCall &read, const Buffer &in) {
  int64_t part = read.sequence.partAt({read.group->position, 0});
  int64_t size = read.rowsIn(in);
  return size == 0 || read.count / size >= part + (read.count % size == 0);
}

/// Fills what no rank has the rows of.
static Error fillBegin(DeviceQueue *device, const Descriptor &call,
                       const HaloCall &read, size_t i) {
  if (!read.hasInitial && reachesBegin(read, call.in(i)))
    return fillZeros(device, call, call.out(i));
  if (!read.hasInitial)
    return std::nullopt;
  for (int64_t slot = 0; slot < read.sequence.partsPerRank(); ++slot)
    if (int64_t missing = forEachPiece(call, read, i, read.group->position,
                                       slot, [](int64_t, const Segment &) {}))
      if (Error failure = takeInitial(device, call, read, i, slot, missing))
        return failure;
  return std::nullopt;
}

Error cp::runtime::operations::halo(Context &context, const Descriptor &call) {
  HaloCall read;
  if (Error failure = readHalo(context, call, read))
    return failure;
  auto moves = [&](int64_t to, int64_t from, List<Move> &list) {
    for (size_t i = 0; i < call.numOuts(); ++i)
      list.push_back(moveOf(call, read, i, to, from));
  };
  for (size_t i = 0; i < call.numOuts(); ++i)
    if (Error failure = fillBegin(context.deviceOfCall(), call, read, i))
      return failure;
  Exchange exchange(context, call, *read.group);
  if (Error failure = exchange.enter(moves))
    return failure;
  return exchange.pullAll();
}
