//===- Index.cpp - Global and local numbers of elements -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Layout.h"

#include <algorithm>

using namespace cp;

namespace {
/// A stretch of a string of elements.
struct Block {
  int64_t begin, length;
};
} // namespace

/// The blocks that position `r` on an axis of `ranks` holds of a string of
/// `length` elements, in ascending order.
static std::vector<Block> blocksOf(Order order, int64_t ranks, int64_t r,
                                   int64_t length) {
  if (order == Order::Contiguous)
    return {{length / ranks * r, length / ranks}};
  int64_t half = length / ranks / 2;
  return {{half * r, half}, {half * (2 * ranks - 1 - r), half}};
}

int64_t cp::globalIndex(const Mesh &mesh, const std::vector<Cut> &cuts,
                        int64_t size, int64_t rank, int64_t local) {
  int64_t length = size;
  for (const Cut &cut : cuts)
    length /= mesh.axes[cut.axis].size;
  for (size_t i = cuts.size(); i-- > 0;) {
    int64_t ranks = mesh.axes[cuts[i].axis].size;
    length *= ranks;
    for (const Block &block :
         blocksOf(cuts[i].order, ranks, mesh.coordinate(rank, cuts[i].axis),
                  length)) {
      if (local < block.length) {
        local += block.begin;
        break;
      }
      local -= block.length;
    }
  }
  return local;
}

Place cp::placeOf(const Mesh &mesh, const std::vector<Cut> &cuts, int64_t size,
                  int64_t global) {
  Place place{{}, global};
  int64_t length = size;
  for (const Cut &cut : cuts) {
    int64_t ranks = mesh.axes[cut.axis].size;
    bool zigzag = cut.order == Order::Zigzag;
    int64_t blocks = zigzag ? 2 * ranks : ranks;
    int64_t blockLength = length / blocks;
    int64_t block = place.local / blockLength;
    bool second = block >= ranks;
    place.coordinates.push_back(second ? blocks - 1 - block : block);
    place.local = place.local % blockLength + (second ? blockLength : 0);
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

/// What `blocks` hold of a string that is itself given as runs.
static std::vector<Run> select(const std::vector<Run> &runs,
                               const std::vector<Block> &blocks) {
  std::vector<Run> selected;
  for (const Block &block : blocks)
    for (const Run &run : runs) {
      int64_t begin = std::max(run.local, block.begin);
      int64_t end =
          std::min(run.local + run.length, block.begin + block.length);
      if (begin < end)
        append(selected, run.global + begin - run.local, end - begin);
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
    runs = select(runs, blocksOf(cut.order, ranks,
                                 mesh.coordinate(rank, cut.axis), length));
    length /= ranks;
  }
  return runs;
}
