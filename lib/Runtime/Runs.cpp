//===- Runs.cpp - Which elements of a dimension meet ----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runs.h"

#include <algorithm>

using namespace cp::runtime;

/// The local number of an element that is in `runs`.
static int64_t localOf(const Runs &runs, int64_t global) {
  int64_t distance = global - runs.global;
  if (runs.count == 1)
    return runs.local + distance;
  return runs.local + distance / runs.step * runs.length + distance % runs.step;
}

static int64_t endOf(const Runs &runs) {
  return runs.global + (runs.count - 1) * runs.step + runs.length;
}

/// Calls add(global, length, count) for the pieces of `runs` within [begin,
/// end): at most one cut run at either end, and the whole ones between.
template <typename AddFn>
static void clip(const Runs &runs, int64_t begin, int64_t end, AddFn add) {
  if (begin >= endOf(runs) || end <= runs.global)
    return;
  int64_t step = runs.count == 1 ? runs.length : runs.step;
  int64_t first = std::max<int64_t>(begin - runs.global, 0) / step;
  int64_t last = std::min((end - 1 - runs.global) / step, runs.count - 1);
  auto startOf = [&](int64_t run) { return runs.global + run * step; };
  auto isWhole = [&](int64_t run) {
    return startOf(run) >= begin && startOf(run) + runs.length <= end;
  };
  auto addCut = [&](int64_t run) {
    int64_t from = std::max(startOf(run), begin);
    int64_t to = std::min(startOf(run) + runs.length, end);
    if (from < to)
      add(from, to - from, 1);
  };
  if (!isWhole(first))
    addCut(first++);
  bool cutsLast = last >= first && !isWhole(last);
  int64_t whole = last - first + (cutsLast ? 0 : 1);
  if (whole > 0)
    add(startOf(first), runs.length, whole);
  if (cutsLast)
    addCut(last);
}

/// One of the two is a single run.
static void intersectPair(const Runs &dst, const Runs &src,
                          List<Segment> &segments) {
  bool isDstMany = dst.count > 1;
  const Runs &many = isDstMany ? dst : src, &one = isDstMany ? src : dst;
  int64_t dstStep = isDstMany ? dst.length : many.step;
  int64_t srcStep = isDstMany ? many.step : src.length;
  clip(many, one.global, one.global + one.length,
       [&](int64_t global, int64_t length, int64_t count) {
         segments.push_back({localOf(dst, global), localOf(src, global), length,
                             count, dstStep, srcStep});
       });
}

List<Segment> cp::runtime::intersect(const List<Runs> &dst,
                                     const List<Runs> &src) {
  List<Segment> segments;
  for (const Runs &d : dst)
    for (const Runs &s : src) {
      if (d.count == 1 || s.count == 1) {
        intersectPair(d, s, segments);
        continue;
      }
      for (int64_t i = 0; i < s.count; ++i)
        intersectPair(d,
                      {s.global + i * s.step, s.local + i * s.length, s.length},
                      segments);
    }
  return segments;
}
