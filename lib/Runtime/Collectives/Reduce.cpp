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
/// One of the tensors.
class Summation {
public:
  explicit Summation(const Buffer &out)
      : out(out), dim(out.rank ? tileDim(out) : 0) {
    int64_t perRow =
        out.rank ? numElements(out) / std::max<int64_t>(out.sizes[dim], 1) : 1;
    rowsPerTile =
        std::max<int64_t>(tileElements / std::max<int64_t>(perRow, 1), 1);
    if (out.dtype == DType::BF16)
      sums.resize(size_t(rowsPerTile * std::max<int64_t>(perRow, 1)));
  }

  /// Adds up, in the order of positions, what has been taken of all ranks as
  /// their move number `number`.
  void run(const List<Taken> &peers, size_t number) {
    // Elements that have been sent lie elsewhere in their buffer.
    struct Terms {
      const Buffer *in;
      List<Segment> tiles;
      List<DimMap> maps;
    };
    List<Terms> terms;
    for (const Taken &peer : peers) {
      const Taken::View &view = peer.views[number];
      terms.push_back({&view.buffer, tilesOf(*view.maps), *view.maps});
    }
    for (size_t tile = 0; tile < terms[0].tiles.size(); ++tile) {
      for (size_t peer = 0; peer < terms.size(); ++peer) {
        Terms &each = terms[peer];
        setTile(each.maps, each.tiles[tile]);
        add(*each.in, peer == 0, each.maps);
      }
      if (!sums.empty())
        storeRounded(out, sums.data(), terms[0].maps);
    }
  }

private:
  /// Which the tiles are of the same rows of the result, whatever the maps.
  List<Segment> tilesOf(const List<DimMap> &maps) const {
    bool tilesPart = !maps.empty() && maps[0].dim == dim;
    if (tilesPart)
      return ::tilesOf(maps[0].segments, rowsPerTile);
    return ::tilesOf({{0, 0, out.rank ? out.sizes[dim] : 1}}, rowsPerTile);
  }
  /// Restricts maps, which may be restricted already, to one tile.
  void setTile(List<DimMap> &maps, const Segment &tile) const {
    if (!out.rank)
      return;
    for (DimMap &map : maps)
      if (map.dim == dim) {
        map.segments = {tile};
        return;
      }
    maps.push_back({dim, {tile}});
  }

  void add(const Buffer &in, bool isFirst, const List<DimMap> &maps) {
    if (!sums.empty())
      addWidened(sums.data(), out, in, maps, isFirst);
    else if (isFirst)
      copyMapped(out, in, maps);
    else
      addMapped(out, in, maps);
  }

  const Buffer &out;
  /// The dimension that is walked in tiles.
  size_t dim;
  int64_t rowsPerTile;
  /// For bf16: the tile's sums in f32, which are rounded once.
  List<float> sums;
};
} // namespace

/// The same on a device, which adds up terms that lie one behind the other.
static Error sumOnDevice(DeviceQueue &device, const Descriptor &call,
                         const Buffer &out, const List<Taken> &peers,
                         size_t number) {
  const Taken::View &first = peers[0].views[number];
  Packed like(first.buffer, *first.maps);
  auto rows = int64_t(peers.size()), bytes = like.bytes();
  if (bytes == 0)
    return std::nullopt;
  // Rows begin where vectors may.
  int64_t element = int64_t(sizeOf(out.dtype)), row = (bytes + 255) / 256 * 256;
  char *memory = device.termMemory((rows + 1) * row);
  if (!memory)
    return Failure{CPRT_OUT_OF_MEMORY,
                   call.title() + ": no " + std::to_string((rows + 1) * row) +
                       " bytes left on the device to add up " + typeText(out) +
                       "; use smaller buckets, or more ranks"};
  if (Error failure = packOnDevice(device, call, peers, number, memory, row))
    return failure;
  char *there = rowOf(out, like.maps(), /*ofTarget=*/true);
  char *sum = there ? there : memory + rows * row;
  const int64_t sizes[] = {rows, bytes / element},
                strides[] = {row / element, 1};
  Buffer terms = {memory, out.dtype, 2, sizes, strides};
  Buffer sums = {sum, out.dtype, 1, sizes + 1, strides + 1};
  if (Error failure = device.run(call, "sum_rows", out.dtype,
                                 {&terms, 1, &sums, 1, nullptr, 0}))
    return failure;
  return there ? std::nullopt
               : device.copyMapped(call, out, like.at(sum), like.maps());
}

/// Adds up what has been taken, for each output.
static Error sumAll(Context &context, const Descriptor &call,
                    const List<Taken> &peers) {
  DeviceQueue *device = context.deviceOfCall();
  for (size_t i = 0; i < call.numOuts(); ++i) {
    if (!device)
      Summation(call.out(i)).run(peers, i);
    else if (Error failure = sumOnDevice(*device, call, call.out(i), peers, i))
      return failure;
  }
  return std::nullopt;
}

/// The elements of input `index` that are summed to make `out`: looked at where
/// they are.
static Move termsOf(const Buffer &out, size_t index, DimMap part) {
  Move move(index, nullptr);
  return out.rank ? std::move(move).with(std::move(part)) : move;
}

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

  bool shares() const { return isShared; }

  /// Of what the rank at `position` adds up.
  Move termMove(int64_t position) const {
    return termsOf(out, index, mapOf(sliceAt(position)));
  }

  /// What all ranks take of the one at `position`, which has added it up.
  Move sumMove(const Descriptor &call, int64_t position) const {
    return Move(call.numIns() + index, &out).with(mapOf(sliceAt(position)));
  }

private:
  cp::SumSlice sliceAt(int64_t position) const {
    return isShared ? cp::sumSliceOf(out.sizes, size_t(out.rank), group.size,
                                     position)
                    : cp::sumSliceOf(out.sizes, size_t(out.rank), 1, 0);
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
  auto terms = [&](int64_t to, int64_t, List<Move> &list) {
    for (const SharedSum &each : sums)
      list.push_back(each.termMove(to));
  };
  auto results = [&](int64_t to, int64_t from, List<Move> &list) {
    for (const SharedSum &each : sums)
      if (each.shares() && to != from)
        list.push_back(each.sumMove(call, from));
  };
  Exchange exchange(context, call, group);
  if (Error failure = exchange.enter(terms))
    return failure;
  List<Taken> peers;
  if (Error failure = exchange.takeAll(peers))
    return failure;
  if (Error failure = exchange.told(sumAll(context, call, peers)))
    return failure;
  if (std::none_of(sums.begin(), sums.end(),
                   [](const SharedSum &each) { return each.shares(); }))
    return std::nullopt;
  if (Error failure = exchange.nextRound(results))
    return failure;
  return exchange.pullAll();
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

namespace {
/// What a reduce_scatter cuts of one tensor.
struct Scattered {
  size_t dim;
  cp::Cut order;
  int64_t size;
};
} // namespace

static Error readScattered(const Descriptor &call, const Group &group,
                           const ReduceScatterAttributes &attrs, size_t index,
                           Scattered &read) {
  const Buffer &in = call.in(index);
  if (Error failure = expectWithin(call, "dim", attrs.dim, 0, in.rank - 1))
    return failure;
  read.dim = size_t(attrs.dim);
  read.order = attrs.order;
  List<int64_t> sizes(in.sizes, in.sizes + in.rank);
  if (Error failure = checkCut(call, group, sizes, read.dim, read.order))
    return failure;
  read.size = sizes[read.dim];
  sizes[read.dim] /= group.size;
  if (Error failure = call.expectType(call.numIns() + index, in.dtype, sizes))
    return failure;
  return expectFloats(call, index);
}

/// Which rows of the inputs make the part of the rank at `position`.
static DimMap partOf(const Group &group, const Scattered &whole,
                     int64_t position) {
  DimMap part = {whole.dim, {}};
  for (const Run &run : runsAt(group, whole.order, whole.size, position))
    part.segments.push_back(
        {run.local, run.global, run.length, run.count, run.length, run.step});
  return part;
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
  List<Scattered> wholes(count);
  for (size_t i = 0; i < count; ++i)
    if (Error failure = readScattered(call, *group, attrs, i, wholes[i]))
      return failure;
  if (Error failure = call.expectNotInPlace())
    return failure;
  auto terms = [&](int64_t to, int64_t, List<Move> &list) {
    for (size_t i = 0; i < count; ++i)
      list.push_back(termsOf(call.out(i), i, partOf(*group, wholes[i], to)));
  };
  Exchange exchange(context, call, *group);
  if (Error failure = exchange.enter(terms))
    return failure;
  List<Taken> peers;
  if (Error failure = exchange.takeAll(peers))
    return failure;
  return exchange.told(sumAll(context, call, peers));
}
