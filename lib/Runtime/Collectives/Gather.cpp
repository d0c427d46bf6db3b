//===- Gather.cpp - all_gather, slice, unslice, reorder -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Copy.h"
#include "Core/Operations.h"
#include "Exchange.h"

#include <utility>

using namespace cp::runtime;

namespace {

/// One tensor of the collectives that move parts of one dimension.
struct OneDim {
  cp::Cut order, toOrder;
  const Group *group = nullptr;
  size_t dim = 0;
  List<int64_t> inSizes, wholeSizes;

  explicit OneDim(cp::Cut order, cp::Cut toOrder = {})
      : order(std::move(order)), toOrder(std::move(toOrder)) {}

  int64_t wholeSize() const { return wholeSizes[dim]; }
};

} // namespace

static List<int64_t> sizesOf(const Buffer &buffer) {
  return {buffer.sizes, buffer.sizes + buffer.rank};
}

/// Checks what is cut of input `index`: `whole` is its size of the dimension
/// times the group's size unless it is the whole already.
static Error readOneDim(Context &context, const Descriptor &call, Words axes,
                        int64_t dim, bool inputIsWhole, OneDim &read,
                        size_t index = 0) {
  const Buffer &in = call.in(index);
  if (Error failure = expectWithin(call, "dim", dim, 0, in.rank - 1))
    return failure;
  read.dim = size_t(dim);
  if (Error failure = findGroup(context, call, axes, read.group))
    return failure;
  read.inSizes = read.wholeSizes = sizesOf(in);
  int64_t &whole = read.wholeSizes[read.dim];
  if (!inputIsWhole && __builtin_mul_overflow(whole, read.group->size, &whole))
    return call.invalid(
        "dim " + std::to_string(read.dim) + " of " + typeText(in) + " times " +
        std::to_string(read.group->size) + " ranks does not fit 63 bits");
  if (Error failure =
          checkCut(call, *read.group, read.wholeSizes, read.dim, read.order))
    return failure;
  return checkCut(call, *read.group, read.wholeSizes, read.dim, read.toOrder);
}

static CutRuns wholeRun(int64_t size) { return Run{0, 0, size}; }

/// Fills output i: the rank at each position by the runs that `runsOf` it has
/// of the whole, from what each peer holds of it by its order.
template <typename Fn>
static Error pullRuns(Context &context, const Descriptor &call,
                      const List<OneDim> &tensors, Fn runsOf) {
  if (Error failure = call.expectNotInPlace())
    return failure;
  const Group &group = *tensors[0].group;
  auto moves = [&](int64_t to, int64_t from, List<Move> &list) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const OneDim &read = tensors[i];
      CutRuns held = runsAt(group, read.order, read.wholeSize(), from);
      list.push_back(Move(i, &call.out(i))
                         .with({read.dim, intersect(runsOf(read, to), held)}));
    }
  };
  Exchange exchange(context, call, group);
  if (Error failure = exchange.enter(moves))
    return failure;
  return exchange.pullAll();
}

Error cp::runtime::operations::allGather(Context &context,
                                         const Descriptor &call) {
  AllGatherAttributes attrs(call);
  size_t count = std::max<size_t>(call.numIns(), 1);
  if (Error failure = call.expectCounts(count, count))
    return failure;
  List<OneDim> tensors;
  for (size_t i = 0; i < count; ++i) {
    OneDim read(attrs.order);
    if (Error failure = readOneDim(context, call, attrs.axes, attrs.dim,
                                   /*inputIsWhole=*/false, read, i))
      return failure;
    if (Error failure =
            call.expectType(count + i, call.in(i).dtype, read.wholeSizes))
      return failure;
    tensors.push_back(std::move(read));
  }
  return pullRuns(context, call, tensors, [](const OneDim &read, int64_t) {
    return wholeRun(read.wholeSize());
  });
}

Error cp::runtime::operations::reorder(Context &context,
                                       const Descriptor &call) {
  ReorderAttributes attrs(call);
  List<OneDim> tensors;
  tensors.push_back(OneDim(attrs.fromOrder, attrs.toOrder));
  OneDim &read = tensors[0];
  if (Error failure = readOneDim(context, call, attrs.axes, attrs.dim,
                                 /*inputIsWhole=*/false, read))
    return failure;
  if (Error failure = call.expectType(1, call.in(0).dtype, read.inSizes))
    return failure;
  return pullRuns(context, call, tensors, [](const OneDim &tensor, int64_t to) {
    return runsAt(*tensor.group, tensor.toOrder, tensor.wholeSize(), to);
  });
}

Error cp::runtime::operations::slice(Context &context, const Descriptor &call) {
  SliceAttributes attrs(call);
  OneDim read(attrs.order);
  if (Error failure = readOneDim(context, call, attrs.axes, attrs.dim,
                                 /*inputIsWhole=*/true, read))
    return failure;
  List<int64_t> sizes = read.wholeSizes;
  sizes[read.dim] /= read.group->size;
  if (Error failure = call.expectType(1, call.in(0).dtype, sizes))
    return failure;
  CutRuns mine =
      runsAt(*read.group, read.order, read.wholeSize(), read.group->position);
  return copyMapped(context.deviceOfCall(), call, call.out(0), call.in(0),
                    {{read.dim, intersect(mine, wholeRun(read.wholeSize()))}});
}

Error cp::runtime::operations::unslice(Context &context,
                                       const Descriptor &call) {
  UnsliceAttributes attrs(call);
  OneDim read(attrs.order);
  if (Error failure = readOneDim(context, call, attrs.axes, attrs.dim,
                                 /*inputIsWhole=*/false, read))
    return failure;
  if (Error failure = call.expectType(1, call.in(0).dtype, read.wholeSizes))
    return failure;
  if (Error failure = call.expectNotInPlace())
    return failure;
  CutRuns mine =
      runsAt(*read.group, read.order, read.wholeSize(), read.group->position);
  DeviceQueue *device = context.deviceOfCall();
  if (Error failure = fillZeros(device, call, call.out(0)))
    return failure;
  return copyMapped(device, call, call.out(0), call.in(0),
                    {{read.dim, intersect(wholeRun(read.wholeSize()), mine)}});
}
