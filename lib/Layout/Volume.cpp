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

/// Elements of `step.from` that a rank holds before and after a step.
static int64_t countKept(const Step &step, const Layout &before, int64_t size,
                         int64_t rank) {
  int64_t kept = 0;
  forEachCommon(
      runsOf(before.mesh, before.dims[step.from], size, rank),
      runsOf(before.mesh, step.after.dims[step.from], size, rank),
      [&](const Segment &common) { kept += common.length * common.count; });
  return kept;
}

static int64_t sentByReorder(const Step &step, const Layout &before,
                             const std::vector<int64_t> &shape, int64_t rank) {
  std::vector<int64_t> moved = localShape(before, shape, rank);
  moved[step.from] -= countKept(step, before, shape[step.from], rank);
  return countElements(moved);
}

int64_t cp::elementsSent(const Step &step, const Layout &before,
                         const std::vector<int64_t> &shape, int64_t rank) {
  int64_t group = before.mesh.groupSize(step.axes);
  std::vector<int64_t> local = localShape(before, shape, rank);
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
