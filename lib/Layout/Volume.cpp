//===- Volume.cpp - How many elements a step sends ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Plan.h"

#include <algorithm>
#include <limits>

using namespace cp;

/// a * b for values of at least 0, or the largest number.
static int64_t multiplySaturating(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product))
    return std::numeric_limits<int64_t>::max();
  return product;
}

static int64_t countElements(const std::vector<int64_t> &shape) {
  // A zero anywhere makes it zero, whatever the others' product is.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return 0;
  int64_t count = 1;
  for (int64_t size : shape)
    count = multiplySaturating(count, size);
  return count;
}

/// How many elements two lists of runs have in common. Both ascend.
static int64_t countCommon(const std::vector<Run> &a,
                           const std::vector<Run> &b) {
  int64_t common = 0;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    int64_t xEnd = x->global + x->length, yEnd = y->global + y->length;
    int64_t begin = std::max(x->global, y->global);
    common += std::max<int64_t>(std::min(xEnd, yEnd) - begin, 0);
    xEnd < yEnd ? ++x : ++y;
  }
  return common;
}

/// How many of the first `end` elements a position holds of a dimension that
/// one striped cut cuts.
static int64_t heldBelow(const Cut &cut, int64_t ranks, int64_t position,
                         int64_t end) {
  int64_t round = ranks * cut.unit;
  return end / round * cut.unit +
         std::clamp<int64_t>(end % round - position * cut.unit, 0, cut.unit);
}

/// countCommon with what a rank holds under `cuts`. Stripes, of which there may
/// be as many as elements, are counted without a list of them.
static int64_t countHeld(const Mesh &mesh, const std::vector<Cut> &cuts,
                         const std::vector<Run> &runs, int64_t size,
                         int64_t rank) {
  if (cuts.size() != 1 || cuts[0].order != Order::Striped)
    return countCommon(runsOf(mesh, cuts, size, rank), runs);
  int64_t ranks = mesh.axes[cuts[0].axis].size;
  int64_t position = mesh.coordinate(rank, cuts[0].axis), held = 0;
  for (const Run &run : runs)
    held += heldBelow(cuts[0], ranks, position, run.global + run.length) -
            heldBelow(cuts[0], ranks, position, run.global);
  return held;
}

static int64_t sentByReorder(const Step &step, const Layout &before,
                             const std::vector<int64_t> &shape, int64_t rank) {
  int64_t size = shape[step.from];
  std::vector<int64_t> moved = localShape(before, shape);
  const std::vector<Cut> *fine = &before.dims[step.from],
                         *coarse = &step.after.dims[step.from];
  if (coarse->size() == 1 && coarse->front().order == Order::Striped)
    std::swap(fine, coarse);
  moved[step.from] -= countHeld(
      before.mesh, *fine, runsOf(before.mesh, *coarse, size, rank), size, rank);
  return countElements(moved);
}

int64_t cp::elementsSent(const Step &step, const Layout &before,
                         const std::vector<int64_t> &shape, int64_t rank) {
  int64_t group = before.mesh.groupSize(step.axes);
  std::vector<int64_t> local = localShape(before, shape);
  switch (step.kind) {
  case Step::Kind::AllToAll:
  case Step::Kind::ReduceScatter:
    // The dimension that is cut anew divides by the group: no rounding.
    local[step.to] = local[step.to] / group * (group - 1);
    return countElements(local);
  case Step::Kind::AllGather:
  case Step::Kind::AllReduce:
    return multiplySaturating(countElements(local), group - 1);
  case Step::Kind::Slice:
    return 0;
  case Step::Kind::Reorder:
    return sentByReorder(step, before, shape, rank);
  }
  return 0;
}
