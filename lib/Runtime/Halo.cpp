//===- Halo.cpp - shift, halo ---------------------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Copy.h"
#include "Exchange.h"

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
  size_t dim = 0;
  bool hasInitial = false;
};
} // namespace

/// Output i, and initial i when there is one, is input i with `before` rows.
static Result checkHaloTensor(const Descriptor &call, const HaloCall &read,
                              size_t i) {
  const Buffer &in = call.in(i);
  List<int64_t> sizes(in.sizes, in.sizes + in.rank);
  if (read.dim >= sizes.size() || sizes[read.dim] < read.before)
    return call.invalid(call.label(i) + " is " + typeText(in) +
                        ", expected at least " + std::to_string(read.before) +
                        " rows along dim " + std::to_string(read.dim) +
                        "; use fewer ranks on this axis");
  sizes[read.dim] = read.before;
  if (read.hasInitial)
    if (Result failure = call.expectType(call.numOuts() + i, in.dtype, sizes))
      return failure;
  return call.expectType(call.numIns() + i, in.dtype, sizes);
}

static Result readHalo(Context &context, const Descriptor &call,
                       HaloCall &read) {
  AttrReader attrs(call);
  Words axes = attrs.array("axes");
  read.before = attrs.integer("before", 0, INT64_MAX);
  read.dim = size_t(attrs.integer("dim", 0, maxRank - 1));
  read.hasInitial = attrs.flag("has_initial");
  if (Result failure = attrs.finish())
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

static Result halo(Context &context, const Descriptor &call) {
  HaloCall read;
  if (Result failure = readHalo(context, call, read))
    return failure;
  Exchange exchange(context, call, *read.group);
  if (Result failure = exchange.enter())
    return failure;
  for (size_t i = 0; i < call.numOuts(); ++i) {
    const Buffer &out = call.out(i);
    if (read.group->position == 0 && read.hasInitial) {
      copyWhole(out, call.in(call.numOuts() + i));
    } else if (read.group->position == 0) {
      fillZeros(out);
    } else {
      int64_t previous = read.group->position - 1;
      const Buffer &in = exchange.input(previous, i);
      Segment last = {0, in.sizes[read.dim] - read.before, read.before};
      exchange.took(previous, copyMapped(out, in, {{read.dim, {last}}}));
    }
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
