//===- DeviceCopy.cpp - Mapped copies within a device ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceQueue.h"

using namespace cp::runtime;

static constexpr size_t maxKernelRank = DeviceQueue::maxCopyRank;

namespace {

/// Elements of two buffers, box after box, each of them a kernel.
class Boxes {
public:
  Boxes(DeviceQueue &queue, const Descriptor &call, const Buffer &to,
        const Buffer &from, const List<DimMap> &maps)
      : queue(queue), call(call), maps(maps), dtype(to.dtype),
        to(static_cast<char *>(to.data)), from(static_cast<char *>(from.data)) {
    for (int32_t dim = 0; dim < to.rank; ++dim)
      dims.push_back({to.sizes[dim], to.strides[dim], from.strides[dim]});
  }
  Error copy() { return copyFrom(0); }

private:
  struct Dim {
    int64_t size, toStride, fromStride;
  };

  Error copyFrom(size_t next);
  Error copySegment(size_t next, const Segment &segment);
  Error copyBox();

  DeviceQueue &queue;
  const Descriptor &call;
  const List<DimMap> &maps;
  const DType dtype;
  char *to, *from;
  /// Runs of segments, outside of the buffers' own.
  List<Dim> runs, dims;
};

} // namespace

/// The product of what the maps from `next` on have.
Error Boxes::copyFrom(size_t next) {
  if (next == maps.size())
    return copyBox();
  for (const Segment &segment : maps[next].segments) {
    bool fits = dims.size() + runs.size() < maxKernelRank;
    int64_t count = fits || segment.count == 1 ? 1 : segment.count;
    for (int64_t run = 0; run < count; ++run) {
      Segment part = segment;
      part.dst += run * segment.dstStep;
      part.src += run * segment.srcStep;
      part.count = segment.count / count;
      if (Error failure = copySegment(next, part))
        return failure;
    }
  }
  return std::nullopt;
}

Error Boxes::copySegment(size_t next, const Segment &segment) {
  Dim &dim = dims[maps[next].dim];
  const Dim before = dim;
  auto element = int64_t(sizeOf(dtype));
  int64_t toOffset = segment.dst * before.toStride * element;
  int64_t fromOffset = segment.src * before.fromStride * element;
  dim.size = segment.length;
  to += toOffset;
  from += fromOffset;
  if (segment.count != 1)
    runs.push_back({segment.count, segment.dstStep * before.toStride,
                    segment.srcStep * before.fromStride});
  Error failure = copyFrom(next + 1);
  if (segment.count != 1)
    runs.pop_back();
  to -= toOffset;
  from -= fromOffset;
  dims[maps[next].dim] = before;
  return failure;
}

Error Boxes::copyBox() {
  std::array<int64_t, maxKernelRank> sizes, toStrides, fromStrides;
  int32_t rank = 0;
  for (const List<Dim> *list : {&runs, &dims})
    for (const Dim &dim : *list) {
      if (dim.size == 0)
        return std::nullopt;
      sizes[size_t(rank)] = dim.size;
      toStrides[size_t(rank)] = dim.toStride;
      fromStrides[size_t(rank++)] = dim.fromStride;
    }
  Buffer there = {to, dtype, rank, sizes.data(), toStrides.data()};
  Buffer here = {from, dtype, rank, sizes.data(), fromStrides.data()};
  return queue.run(call, "copy", dtype, {&here, 1, &there, 1, nullptr, 0});
}

Error DeviceQueue::copyMapped(const Descriptor &call, const Buffer &to,
                              const Buffer &from, const List<DimMap> &maps) {
  return Boxes(*this, call, to, from, maps).copy();
}

/// By copies of one element to all.
Error DeviceQueue::fill(const Descriptor &call, const Buffer &to,
                        const void *element) {
  static constexpr int64_t noSteps[maxRank] = {};
  Error failure;
  void *there = constant(element, sizeof(int64_t), failure);
  if (failure)
    return failure;
  return copyMapped(call, to, {there, to.dtype, to.rank, to.sizes, noSteps},
                    {});
}

Error DeviceQueue::fillZeros(const Descriptor &call, const Buffer &to) {
  static constexpr int64_t zero = 0;
  return fill(call, to, &zero);
}

Error DeviceQueue::copyBytes(const Descriptor &call, void *to, const void *from,
                             int64_t bytes) {
  constexpr int64_t stride = 1;
  DType word = bytes % int64_t(sizeOf(DType::F32)) ? DType::BF16 : DType::F32;
  int64_t count = bytes / int64_t(sizeOf(word));
  if (count == 0 || to == from)
    return std::nullopt;
  Buffer there = {to, word, 1, &count, &stride};
  return copy(call, there,
              {const_cast<void *>(from), word, 1, &count, &stride});
}
