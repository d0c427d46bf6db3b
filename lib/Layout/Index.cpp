//===- Index.cpp - Global and local numbers of elements -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Layout.h"

#include <algorithm>
#include <utility>

using namespace cp;

namespace {
/// A stretch of a string of elements.
struct Block {
  int64_t begin, length;
};
} // namespace

/// The blocks that position `r` on an axis of `ranks` holds of a string of
/// `length` elements, in ascending order.
static std::vector<Block> blocksOf(const Cut &cut, int64_t ranks, int64_t r,
                                   int64_t length) {
  int64_t part = length / ranks;
  if (cut.order == Order::Contiguous)
    return {{part * r, part}};
  if (cut.order == Order::Zigzag)
    return {{part / 2 * r, part / 2},
            {part / 2 * (2 * ranks - 1 - r), part / 2}};
  std::vector<Block> units;
  for (int64_t begin = cut.unit * r; begin < length; begin += cut.unit * ranks)
    units.push_back({begin, cut.unit});
  return units;
}

/// The number, in the string of `length` elements that `cut` cuts, of element
/// `local` of the part of position `r`.
static int64_t beforeCut(const Cut &cut, int64_t ranks, int64_t r,
                         int64_t length, int64_t local) {
  int64_t part = length / ranks, half = part / 2;
  if (cut.order == Order::Contiguous)
    return part * r + local;
  if (cut.order == Order::Striped)
    return (local / cut.unit * ranks + r) * cut.unit + local % cut.unit;
  return local < half ? half * r + local
                      : half * (2 * ranks - 1 - r) + local - half;
}

int64_t cp::globalIndex(const Mesh &mesh, const std::vector<Cut> &cuts,
                        int64_t size, int64_t rank, int64_t local) {
  int64_t length = size;
  for (const Cut &cut : cuts)
    length /= mesh.axes[cut.axis].size;
  for (size_t i = cuts.size(); i-- > 0;) {
    int64_t ranks = mesh.axes[cuts[i].axis].size;
    length *= ranks;
    local = beforeCut(cuts[i], ranks, mesh.coordinate(rank, cuts[i].axis),
                      length, local);
  }
  return local;
}

/// The inverse of beforeCut: the position, and the element of its part.
static std::pair<int64_t, int64_t> afterCut(const Cut &cut, int64_t ranks,
                                            int64_t length, int64_t element) {
  if (cut.order == Order::Striped) {
    int64_t run = element / cut.unit;
    return {run % ranks, run / ranks * cut.unit + element % cut.unit};
  }
  bool zigzag = cut.order == Order::Zigzag;
  int64_t blocks = zigzag ? 2 * ranks : ranks;
  int64_t blockLength = length / blocks;
  int64_t block = element / blockLength;
  bool second = block >= ranks;
  return {second ? blocks - 1 - block : block,
          element % blockLength + (second ? blockLength : 0)};
}

Place cp::placeOf(const Mesh &mesh, const std::vector<Cut> &cuts, int64_t size,
                  int64_t global) {
  Place place{{}, global};
  int64_t length = size;
  for (const Cut &cut : cuts) {
    int64_t ranks = mesh.axes[cut.axis].size;
    auto [position, local] = afterCut(cut, ranks, length, place.local);
    place.coordinates.push_back(position);
    place.local = local;
    length /= ranks;
  }
  return place;
}

/// Appends a run behind the last, with which it merges where they touch.
static void append(std::vector<Run> &runs, int64_t global, int64_t length) {
  if (runs.empty()) {
    runs.push_back({global, 0, length});
    return;
  }
  Run &last = runs.back();
  if (last.global + last.length == global)
    last.length += length;
  else
    runs.push_back({global, last.local + last.length, length});
}

/// What `blocks` hold of a string that is itself given as runs. Both ascend.
static std::vector<Run> select(const std::vector<Run> &runs,
                               const std::vector<Block> &blocks) {
  std::vector<Run> selected;
  auto run = runs.begin();
  for (const Block &block : blocks) {
    int64_t blockEnd = block.begin + block.length;
    for (; run != runs.end() && run->local < blockEnd; ++run) {
      int64_t runEnd = run->local + run->length;
      int64_t begin = std::max(run->local, block.begin);
      int64_t end = std::min(runEnd, blockEnd);
      if (begin < end)
        append(selected, run->global + begin - run->local, end - begin);
      // The next block may hold more of it.
      if (runEnd > blockEnd)
        break;
    }
  }
  return selected;
}

std::vector<Run> cp::runsOf(const Mesh &mesh, const std::vector<Cut> &cuts,
                            int64_t size, int64_t rank) {
  if (size == 0)
    return {};
  std::vector<Run> runs = {{0, 0, size}};
  int64_t length = size;
  for (const Cut &cut : cuts) {
    int64_t ranks = mesh.axes[cut.axis].size;
    runs = select(
        runs, blocksOf(cut, ranks, mesh.coordinate(rank, cut.axis), length));
    length /= ranks;
  }
  return runs;
}
