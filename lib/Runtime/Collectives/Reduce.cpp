//===- Reduce.cpp - all_reduce, reduce_scatter ----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Copy.h"
#include "Core/Operations.h"
#include "Exchange.h"

#include "cp/Layout/Step.h"

#include <algorithm>

using namespace cp::runtime;

/// Elements that are summed over all ranks before the next ones are touched:
/// the partial sums then stay in the first cache.
static constexpr int64_t tileElements = 4096;

static Error expectFloats(const Descriptor &call, size_t i) {
  DType dtype = call.in(i).dtype;
  if (dtype == DType::F32 || dtype == DType::F64 || dtype == DType::BF16)
    return std::nullopt;
  return call.unsupported("sums " + typeText(call.in(i)) +
                          ", expected f32, f64 or bf16; convert before the "
                          "sum");
}

/// The dimension to walk in tiles: the outermost that is not trivial.
static size_t tileDim(const Buffer &out) {
  for (int dim = 0; dim < out.rank; ++dim)
    if (out.sizes[dim] > 1)
      return size_t(dim);
  return 0;
}

static List<Segment> tilesOf(const List<Segment> &segments, int64_t rows) {
  List<Segment> tiles;
  for (const Segment &segment : segments) {
    int64_t runs =
        std::max<int64_t>(rows / std::max<int64_t>(segment.length, 1), 1);
    for (int64_t run = 0; run < segment.count; run += runs)
      for (int64_t done = 0; done < segment.length; done += rows)
        tiles.push_back({segment.dst + run * segment.dstStep + done,
                         segment.src + run * segment.srcStep + done,
                         std::min(rows, segment.length - done),
                         std::min(runs, segment.count - run), segment.dstStep,
                         segment.srcStep});
  }
  return tiles;
}

namespace {
/// One of the tensors, whose elements along `part.dim` come from
/// `part.segments` of the inputs.
class Summation {
public:
  Summation(const Descriptor &call, size_t index, DimMap part)
      : index(index), out(call.out(index)), part(std::move(part)),
        dim(out.rank ? tileDim(out) : 0) {
    int64_t perRow =
        out.rank ? numElements(out) / std::max<int64_t>(out.sizes[dim], 1) : 1;
    int64_t rows =
        std::max<int64_t>(tileElements / std::max<int64_t>(perRow, 1), 1);
    tiles = tilesPart() ? tilesOf(this->part.segments, rows)
                        : tilesOf({{0, 0, out.sizes[dim]}}, rows);
    if (out.dtype == DType::BF16)
      sums.resize(size_t(rows * std::max<int64_t>(perRow, 1)));
  }

  /// Adds the inputs of `peers` ranks, in the order of their positions.
  void run(const Exchange &exchange, int64_t peers) {
    for (const Segment &tile : tiles) {
      List<DimMap> maps;
      if (out.rank)
        maps.push_back({dim, {tile}});
      if (!tilesPart())
        maps.push_back(part);
      for (int64_t peer = 0; peer < peers; ++peer)
        exchange.took(peer,
                      addPeer(exchange.input(peer, index), peer == 0, maps));
      if (!sums.empty())
        storeRounded(out, sums.data(), maps);
    }
  }

private:
  bool tilesPart() const { return dim == part.dim || !out.rank; }

  int64_t addPeer(const Buffer &in, bool isFirst, const List<DimMap> &maps) {
    if (!sums.empty())
      return addWidened(sums.data(), out, in, maps, isFirst);
    return isFirst ? copyMapped(out, in, maps) : addMapped(out, in, maps);
  }

  size_t index;
  const Buffer &out;
  DimMap part;
  /// The dimension that is walked in tiles.
  size_t dim;
  List<Segment> tiles;
  /// For bf16: the tile's sums in f32, which are rounded once.
  List<float> sums;
};
} // namespace

namespace {
/// One of the tensors of an all_reduce. If it is large, each rank adds up a
/// slice, and takes those of the others from their outputs (a reduce-scatter
/// and an all-gather): the order in which an element's terms are added is the
/// same.
class SharedSum {
public:
  SharedSum(const Descriptor &call, size_t index, const Group &group)
      : index(index), out(call.out(index)), group(group),
        isShared(group.size > 1 && numElements(out) >= cp::sharedSumElements) {}

  void addUp(const Descriptor &call, const Exchange &exchange) const {
    cp::SumSlice slice =
        isShared ? sliceAt(group.position)
                 : cp::sumSliceOf(out.sizes, size_t(out.rank), 1, 0);
    if (slice.count == 0)
      return;
    Summation sum(call, index, mapOf(slice));
    sum.run(exchange, group.size);
  }

  /// The slice of the rank at `position`, which has added it up.
  void take(const Exchange &exchange, int64_t position) const {
    if (!isShared)
      return;
    const Buffer &peer = exchange.call(position).out(index);
    exchange.took(position, copyMapped(out, peer, {mapOf(sliceAt(position))}));
  }

private:
  cp::SumSlice sliceAt(int64_t position) const {
    return cp::sumSliceOf(out.sizes, size_t(out.rank), group.size, position);
  }
  static DimMap mapOf(const cp::SumSlice &slice) {
    return {slice.dim, {{slice.first, slice.first, slice.count}}};
  }

  size_t index;
  const Buffer &out;
  const Group &group;
  bool isShared;
};
} // namespace

static Error sumShared(Context &context, const Descriptor &call,
                       const Group &group, const List<SharedSum> &sums) {
  Exchange exchange(context, call, group);
  if (Error failure = exchange.enter())
    return failure;
  for (const SharedSum &each : sums)
    each.addUp(call, exchange);
  exchange.publish(1);
  for (int64_t step = 1; step < group.size; ++step) {
    // Not all from the same rank at a time.
    int64_t peer = (group.position + step) % group.size;
    if (Error failure = exchange.await(peer, 1))
      return failure;
    for (const SharedSum &each : sums)
      each.take(exchange, peer);
  }
  return std::nullopt;
}

Error cp::runtime::operations::allReduce(Context &context,
                                         const Descriptor &call) {
  const Group *group = nullptr;
  if (Error failure =
          findGroup(context, call, AllReduceAttributes(call).axes, group))
    return failure;
  size_t count = call.numIns();
  if (Error failure = call.expectCounts(count, count))
    return failure;
  List<SharedSum> sums;
  for (size_t i = 0; i < count; ++i) {
    const Buffer &in = call.in(i);
    if (Error failure = call.expectType(count + i, in.dtype,
                                        {in.sizes, in.sizes + in.rank}))
      return failure;
    if (Error failure = expectFloats(call, i))
      return failure;
    sums.push_back({call, i, *group});
  }
  if (Error failure = call.expectNotInPlace())
    return failure;
  return sumShared(context, call, *group, sums);
}

/// One tensor of a reduce_scatter: which rows of the inputs make this rank's
/// part.
static Error partOf(const Descriptor &call, const Group &group, int64_t place,
                    cp::Cut order, size_t index, DimMap &part) {
  const Buffer &in = call.in(index);
  if (Error failure = expectWithin(call, "dim", place, 0, in.rank - 1))
    return failure;
  auto dim = size_t(place);
  List<int64_t> sizes(in.sizes, in.sizes + in.rank);
  if (Error failure = checkCut(call, group, sizes, dim, order))
    return failure;
  int64_t whole = sizes[dim];
  sizes[dim] /= group.size;
  if (Error failure = call.expectType(call.numIns() + index, in.dtype, sizes))
    return failure;
  if (Error failure = expectFloats(call, index))
    return failure;
  part = {dim, {}};
  for (const Run &run : runsAt(group, order, whole, group.position))
    part.segments.push_back(
        {run.local, run.global, run.length, run.count, run.length, run.step});
  return std::nullopt;
}

Error cp::runtime::operations::reduceScatter(Context &context,
                                             const Descriptor &call) {
  ReduceScatterAttributes attrs(call);
  const Group *group = nullptr;
  if (Error failure = findGroup(context, call, attrs.axes, group))
    return failure;
  size_t count = std::max<size_t>(call.numIns(), 1);
  if (Error failure = call.expectCounts(count, count))
    return failure;
  List<Summation> sums;
  for (size_t i = 0; i < count; ++i) {
    DimMap part = {};
    if (Error failure = partOf(call, *group, attrs.dim, attrs.order, i, part))
      return failure;
    sums.push_back({call, i, std::move(part)});
  }
  if (Error failure = call.expectNotInPlace())
    return failure;
  Exchange exchange(context, call, *group);
  if (Error failure = exchange.enter())
    return failure;
  for (Summation &sum : sums)
    sum.run(exchange, group->size);
  return std::nullopt;
}
