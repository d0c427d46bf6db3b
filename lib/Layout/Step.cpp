//===- Step.cpp - One collective -----------------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Step.h"

#include "cp/Layout/Saturating.h"

#include <algorithm>

using namespace cp;

bool cp::operator==(const Whole &, const Whole &) { return true; }
bool cp::operator==(const Partial &, const Partial &) { return true; }
bool cp::operator==(const Parts &a, const Parts &b) {
  return a.dim == b.dim && a.cuts == b.cuts;
}

Step::Kind Step::kind() const {
  const Parts *before = std::get_if<Parts>(&from);
  const Parts *after = std::get_if<Parts>(&to);
  if (before && after)
    return before->dim == after->dim ? Kind::Reorder : Kind::AllToAll;
  if (before)
    return std::holds_alternative<Whole>(to) ? Kind::AllGather : Kind::Unslice;
  if (!after)
    return Kind::AllReduce;
  return std::holds_alternative<Whole>(from) ? Kind::Slice
                                             : Kind::ReduceScatter;
}

/// How the cotangent of a value is shared.
static Share dualOf(const Share &share) {
  if (std::holds_alternative<Whole>(share))
    return Partial();
  if (std::holds_alternative<Partial>(share))
    return Whole();
  return share;
}

Step cp::dualOf(const Step &step) {
  return {step.axes, ::dualOf(step.to), ::dualOf(step.from)};
}

Layout cp::layoutOf(const Share &share, const std::vector<int> &axes,
                    size_t rank, const Mesh &mesh) {
  Layout layout;
  layout.mesh = mesh;
  layout.dims.resize(rank);
  if (const Parts *parts = std::get_if<Parts>(&share))
    layout.dims[size_t(parts->dim)] = parts->cuts;
  if (std::holds_alternative<Partial>(share)) {
    layout.partial = axes;
    std::sort(layout.partial.begin(), layout.partial.end());
  }
  return layout;
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

/// Elements of a dimension that a rank holds both before and after.
static int64_t countKept(const Layout &before, const Layout &after, size_t dim,
                         int64_t size, int64_t rank) {
  return countCommon(runsOf(before.mesh, before.dims[dim], size, rank),
                     runsOf(before.mesh, after.dims[dim], size, rank));
}

SumSlice cp::sumSliceOf(const int64_t *sizes, size_t rank, int64_t group,
                        int64_t position) {
  SumSlice slice;
  for (size_t dim = rank; dim-- > 0;)
    if (sizes[dim] > 1)
      slice.dim = dim;
  int64_t rows = rank ? sizes[slice.dim] : 1;
  int64_t each = rows / group, more = rows % group;
  slice.first = each * position + std::min(position, more);
  slice.count = each + (position < more ? 1 : 0);
  return slice;
}

/// What a rank sends of its part of a sum.
static int64_t elementsSummed(const std::vector<int64_t> &local, int64_t group,
                              int64_t position) {
  int64_t all = countElements(local);
  if (all < sharedSumElements)
    return multiplySaturating(all, group - 1);
  SumSlice slice = sumSliceOf(local.data(), local.size(), group, position);
  int64_t own = all / local[slice.dim] * slice.count;
  return addSaturating(all - own, multiplySaturating(own, group - 1));
}

int64_t cp::elementsSent(const Step &step, const Layout &before,
                         const Layout &after, const std::vector<int64_t> &shape,
                         int64_t rank) {
  int64_t group = before.mesh.groupSize(step.axes);
  std::vector<int64_t> local = localShape(before, shape);
  switch (step.kind()) {
  case Step::Kind::AllToAll:
  case Step::Kind::ReduceScatter: {
    // The dimension that is cut anew divides by the group, but by sizes: no
    // rounding. Then each rank is sent as much as the largest part has room
    // for.
    const Parts &parts = std::get<Parts>(step.to);
    int64_t &cut = local[size_t(parts.dim)];
    int64_t each = roomOf(jointCut(parts.cuts), group, cut);
    cut = multiplySaturating(each, group - 1);
    return countElements(local);
  }
  case Step::Kind::AllGather:
    return multiplySaturating(countElements(local), group - 1);
  case Step::Kind::AllReduce:
    return elementsSummed(local, group,
                          before.mesh.positionInGroup(rank, step.axes));
  case Step::Kind::Reorder: {
    auto dim = size_t(std::get<Parts>(step.to).dim);
    local[dim] -= countKept(before, after, dim, shape[dim], rank);
    return countElements(local);
  }
  case Step::Kind::Slice:
  case Step::Kind::Unslice:
    return 0;
  }
  return 0;
}
