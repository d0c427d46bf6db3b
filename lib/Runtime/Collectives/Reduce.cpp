//===- Reduce.cpp - all_reduce, reduce_scatter ----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Copy.h"
#include "Core/Operations.h"
#include "Exchange.h"

#include <algorithm>

using namespace cp::runtime;

/// Elements that are summed over all ranks before the next ones are touched:
/// the partial sums then stay in the first cache.
static constexpr int64_t tileElements = 4096;

static Error expectFloats(const Descriptor &call) {
  DType dtype = call.in(0).dtype;
  if (dtype == DType::F32 || dtype == DType::F64 || dtype == DType::BF16)
    return std::nullopt;
  return call.unsupported("sums " + typeText(call.in(0)) +
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
/// Adds the peers' inputs within some tile, in the order of their positions.
class TileSum {
public:
  /// `elements` is the most that any tile has.
  TileSum(Exchange &exchange, const Buffer &out, int64_t peers,
          int64_t elements)
      : exchange(exchange), out(out), peers(peers),
        sums(out.dtype == DType::BF16 ? size_t(elements) : 0) {}

  void add(const List<DimMap> &maps) {
    for (int64_t peer = 0; peer < peers; ++peer)
      exchange.took(peer, addPeer(exchange.input(peer, 0), peer == 0, maps));
    if (!sums.empty())
      storeRounded(out, sums.data(), maps);
  }

private:
  int64_t addPeer(const Buffer &in, bool isFirst, const List<DimMap> &maps) {
    if (!sums.empty())
      return addWidened(sums.data(), out, in, maps, isFirst);
    return isFirst ? copyMapped(out, in, maps) : addMapped(out, in, maps);
  }

  Exchange &exchange;
  const Buffer &out;
  int64_t peers;
  /// For bf16: the tile's sums in f32, which are rounded once.
  List<float> sums;
};
} // namespace

/// Adds the group's inputs, position by position, into the output, whose
/// elements along `part.dim` come from `part.segments`.
static Error sum(Context &context, const Descriptor &call, const Group &group,
                 const DimMap &part) {
  const Buffer &out = call.out(0);
  size_t dim = out.rank ? tileDim(out) : 0;
  int64_t perRow =
      out.rank ? numElements(out) / std::max<int64_t>(out.sizes[dim], 1) : 1;
  int64_t rows =
      std::max<int64_t>(tileElements / std::max<int64_t>(perRow, 1), 1);
  bool tilesPart = dim == part.dim || !out.rank;
  List<Segment> tiles = tilesPart ? tilesOf(part.segments, rows)
                                  : tilesOf({{0, 0, out.sizes[dim]}}, rows);

  Exchange exchange(context, call, group);
  TileSum tileSum(exchange, out, group.size,
                  rows * std::max<int64_t>(perRow, 1));
  if (Error failure = exchange.enter())
    return failure;
  for (const Segment &tile : tiles) {
    List<DimMap> maps = {{dim, {tile}}};
    if (!tilesPart)
      maps.push_back(part);
    if (!out.rank)
      maps.clear();
    tileSum.add(maps);
  }
  return std::nullopt;
}

Error cp::runtime::operations::allReduce(Context &context,
                                         const Descriptor &call) {
  const Group *group = nullptr;
  if (Error failure =
          findGroup(context, call, AllReduceAttributes(call).axes, group))
    return failure;
  const Buffer &in = call.in(0);
  if (Error failure =
          call.expectType(1, in.dtype, {in.sizes, in.sizes + in.rank}))
    return failure;
  if (Error failure = expectFloats(call))
    return failure;
  if (Error failure = call.expectNotInPlace())
    return failure;
  int64_t rows = in.rank ? in.sizes[0] : 1;
  return sum(context, call, *group, {0, {{0, 0, rows}}});
}

Error cp::runtime::operations::reduceScatter(Context &context,
                                             const Descriptor &call) {
  const Buffer &in = call.in(0);
  ReduceScatterAttributes attrs(call);
  if (Error failure = expectWithin(call, "dim", attrs.dim, 0, in.rank - 1))
    return failure;
  const Group *group = nullptr;
  if (Error failure = findGroup(context, call, attrs.axes, group))
    return failure;
  auto dim = size_t(attrs.dim);
  cp::Cut order = attrs.order;
  List<int64_t> sizes(in.sizes, in.sizes + in.rank);
  if (Error failure = checkCut(call, *group, sizes, dim, order))
    return failure;
  int64_t whole = sizes[dim];
  sizes[dim] /= group->size;
  if (Error failure = call.expectType(1, in.dtype, sizes))
    return failure;
  if (Error failure = expectFloats(call))
    return failure;
  if (Error failure = call.expectNotInPlace())
    return failure;
  DimMap part = {dim, {}};
  for (const Run &run : runsAt(*group, order, whole, group->position))
    part.segments.push_back(
        {run.local, run.global, run.length, run.count, run.length, run.step});
  return sum(context, call, *group, part);
}
