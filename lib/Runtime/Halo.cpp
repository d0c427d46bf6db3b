//===- Halo.cpp - shift, halo ---------------------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Copy.h"
#include "Exchange.h"
#include "Sequence.h"

using namespace cp::runtime;

static void fillZeros(const Buffer &out) {
  static constexpr int64_t zero = 0;
  fill(out, &zero);
}

static Result shift(Context &context, const Descriptor &call) {
  if (Result failure = call.expectCounts(1, 1))
    return failure;
  AttrReader attrs(call);
  Words axes = attrs.array("axes");
  int64_t offset = attrs.integer("offset", -INT32_MAX, INT32_MAX);
  if (Result failure = attrs.finish())
    return failure;
  const Group *group = nullptr;
  if (Result failure = findGroup(context, call, axes, group))
    return failure;
  const Buffer &in = call.in(0);
  if (Result failure =
          call.expectType(1, in.dtype, {in.sizes, in.sizes + in.rank}))
    return failure;
  if (Result failure = call.expectNotInPlace())
    return failure;
  Exchange exchange(context, call, *group);
  if (Result failure = exchange.enter())
    return failure;
  int64_t source = group->position - offset;
  if (source < 0 || source >= group->size)
    fillZeros(call.out(0));
  else
    exchange.took(source, copyWhole(call.out(0), exchange.input(source, 0)));
  return std::nullopt;
}

namespace {
struct HaloCall {
  const Group *group = nullptr;
  int64_t before = 0;
  Cut cut;
  size_t dim = 0;
  bool hasInitial = false;

  int64_t partsPerRank() const { return *cp::partsPerRank(cut); }
  int64_t rowsIn(const Buffer &in) const {
    return in.sizes[dim] / partsPerRank();
  }
};
} // namespace

/// Output i is input i with `before` rows for each part, initial i with as many
/// for one.
static Result checkHaloTensor(const Descriptor &call, const HaloCall &read,
                              size_t i) {
  const Buffer &in = call.in(i);
  List<int64_t> sizes(in.sizes, in.sizes + in.rank);
  if (read.dim >= sizes.size() || read.rowsIn(in) < read.before)
    return call.invalid(
        call.label(i) + " is " + typeText(in) + ", expected at least " +
        std::to_string(read.before) +
        (read.partsPerRank() == 2 ? " rows for each half" : " rows") +
        " along dim " + std::to_string(read.dim) +
        "; use fewer ranks on this axis");
  if (sizes[read.dim] % read.partsPerRank())
    return call.invalid(call.label(i) + " is " + typeText(in) +
                        ", expected an even dim " + std::to_string(read.dim) +
                        ": in zigzag order a rank holds two parts");
  sizes[read.dim] = read.before;
  if (read.hasInitial)
    if (Result failure = call.expectType(call.numOuts() + i, in.dtype, sizes))
      return failure;
  sizes[read.dim] *= read.partsPerRank();
  return call.expectType(call.numIns() + i, in.dtype, sizes);
}

static Result readHalo(Context &context, const Descriptor &call,
                       HaloCall &read) {
  AttrReader attrs(call);
  Words axes = attrs.array("axes");
  read.before = attrs.integer("before", 0, INT64_MAX);
  read.dim = size_t(attrs.integer("dim", 0, maxRank - 1));
  read.hasInitial = attrs.flag("has_initial");
  int64_t order = attrs.integer("order", 0, INT64_MAX);
  if (Result failure = attrs.finish())
    return failure;
  if (Result failure = readSequenceCut(call, order, read.cut))
    return failure;
  size_t count = call.numOuts();
  if (Result failure =
          call.expectCounts(read.hasInitial ? 2 * count : count, count))
    return failure;
  for (size_t i = 0; i < count; ++i)
    if (Result failure = checkHaloTensor(call, read, i))
      return failure;
  if (Result failure = call.expectNotInPlace())
    return failure;
  return findGroup(context, call, axes, read.group);
}

/// Fills the rows of output i that stand before this rank's part in `slot`.
static void takeRows(const Exchange &exchange, const Descriptor &call,
                     const HaloCall &read, size_t i, int64_t slot) {
  const Buffer &out = call.out(i);
  Sequence sequence = {read.cut, read.group->size};
  int64_t part = sequence.partAt({read.group->position, slot});
  int64_t to = slot * read.before;
  if (part == 0) {
    if (read.hasInitial)
      copyMapped(out, call.in(call.numOuts() + i),
                 {{read.dim, {{to, 0, read.before}}}});
    // Else zeros, which are there already.
    return;
  }
  Sequence::Place previous = sequence.placeOf(part - 1);
  const Buffer &in = exchange.input(previous.position, i);
  int64_t end = (previous.slot + 1) * read.rowsIn(in);
  Segment last = {to, end - read.before, read.before};
  exchange.took(previous.position, copyMapped(out, in, {{read.dim, {last}}}));
}

static Result halo(Context &context, const Descriptor &call) {
  HaloCall read;
  if (Result failure = readHalo(context, call, read))
    return failure;
  Exchange exchange(context, call, *read.group);
  if (Result failure = exchange.enter())
    return failure;
  bool isFirst = read.group->position == 0;
  for (size_t i = 0; i < call.numOuts(); ++i) {
    if (isFirst && !read.hasInitial)
      fillZeros(call.out(i));
    for (int64_t slot = 0; slot < read.partsPerRank(); ++slot)
      takeRows(exchange, call, read, i, slot);
  }
  return std::nullopt;
}

extern "C" void cprt_shift(cprt_context *context, cprt_stream *stream,
                           const int64_t *desc, void *const *buffers) {
  runOp(context, stream, desc, buffers, "shift", shift);
}

extern "C" void cprt_halo(cprt_context *context, cprt_stream *stream,
                          const int64_t *desc, void *const *buffers) {
  runOp(context, stream, desc, buffers, "halo", halo);
}
