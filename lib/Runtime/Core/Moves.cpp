//===- Moves.cpp - Which elements go from rank to rank --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Moves.h"

#include <algorithm>

using namespace cp::runtime;

static int64_t lengthOf(const DimMap &map) {
  int64_t length = 0;
  for (const Segment &segment : map.segments)
    length += segment.length * segment.count;
  return length;
}

/// The sizes of what the maps take.
static void takenSizes(const Buffer &source, const List<DimMap> &maps,
                       std::array<int64_t, maxRank> &sizes) {
  std::copy_n(source.sizes, source.rank, sizes.begin());
  for (const DimMap &map : maps)
    sizes[map.dim] = lengthOf(map);
}

int64_t cp::runtime::bytesOf(const Buffer &source, const List<DimMap> &maps) {
  std::array<int64_t, maxRank> sizes;
  takenSizes(source, maps, sizes);
  int64_t bytes = int64_t(sizeOf(source.dtype));
  for (int dim = 0; dim < source.rank; ++dim)
    bytes *= sizes[size_t(dim)];
  return bytes;
}

Packed::Packed(const Buffer &source, const List<DimMap> &maps)
    : dtype(source.dtype), rank(source.rank) {
  takenSizes(source, maps, sizes);
  int64_t stride = 1;
  for (int dim = rank; dim-- > 0;) {
    strides[size_t(dim)] = stride;
    stride *= sizes[size_t(dim)];
  }
  for (const DimMap &map : maps) {
    toPacked.push_back({map.dim, {}});
    fromPacked.push_back({map.dim, {}});
    int64_t done = 0;
    for (const Segment &segment : map.segments) {
      toPacked.back().segments.push_back({done, segment.src, segment.length,
                                          segment.count, segment.length,
                                          segment.srcStep});
      fromPacked.back().segments.push_back({segment.dst, done, segment.length,
                                            segment.count, segment.dstStep,
                                            segment.length});
      done += segment.length * segment.count;
    }
  }
}

Buffer Packed::at(const char *memory) const {
  return {const_cast<char *>(memory), dtype, rank, sizes.data(),
          strides.data()};
}

namespace {
/// A row of elements of one dimension.
struct Stretch {
  int64_t first, length;
};
} // namespace

/// What one map takes of its dimension, if that is one row without gaps.
static bool isStretch(const DimMap &map, bool ofTarget, Stretch &stretch) {
  stretch = {0, 0};
  for (const Segment &segment : map.segments) {
    if (segment.length * segment.count == 0)
      continue;
    int64_t first = ofTarget ? segment.dst : segment.src;
    int64_t step = ofTarget ? segment.dstStep : segment.srcStep;
    bool hasGaps = segment.count > 1 && step != segment.length;
    if (hasGaps || (stretch.length && first != stretch.first + stretch.length))
      return false;
    if (!stretch.length)
      stretch.first = first;
    stretch.length += segment.length * segment.count;
  }
  return true;
}

char *cp::runtime::rowOf(const Buffer &buffer, const List<DimMap> &maps,
                         bool ofTarget) {
  std::array<Stretch, maxRank> stretches;
  for (int dim = 0; dim < buffer.rank; ++dim)
    stretches[size_t(dim)] = {0, buffer.sizes[dim]};
  for (const DimMap &map : maps)
    if (!isStretch(map, ofTarget, stretches[map.dim]))
      return nullptr;
  int64_t stride = 1, offset = 0;
  for (int dim = buffer.rank; dim-- > 0;) {
    auto [first, length] = stretches[size_t(dim)];
    if (length == 0)
      return nullptr;
    if (length > 1 && buffer.strides[dim] != stride)
      return nullptr;
    offset += first * buffer.strides[dim];
    stride *= length;
  }
  return static_cast<char *>(buffer.data) +
         offset * int64_t(sizeOf(buffer.dtype));
}
