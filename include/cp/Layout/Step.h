//===- Step.h - One collective ----------------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LAYOUT_STEP_H
#define CP_LAYOUT_STEP_H

#include "cp/Layout/Layout.h"

#include <variant>

namespace cp {

/// How the ranks of a group share a tensor: each has all of it, each has a term
/// of a sum that is yet to be made, or each has its part of one dimension.
struct Whole {};
struct Partial {};
struct Parts {
  int dim = 0;
  /// The minor-most cuts of the dimension, one for each axis of the group,
  /// major to minor. Several are all contiguous.
  std::vector<Cut> cuts;
};
bool operator==(const Whole &, const Whole &);
bool operator==(const Partial &, const Partial &);
bool operator==(const Parts &a, const Parts &b);
using Share = std::variant<Whole, Partial, Parts>;

/// One collective on the group along `axes` (major to minor, as the cuts stand
/// in their dimension): from one way to share a tensor to another.
///   kind           from     to
///   AllToAll       Parts    Parts of another dimension
///   Reorder        Parts    Parts of the same dimension, in another order, and
///                           neither in that of sizes
///   AllGather      Parts    Whole
///   Slice          Whole    Parts; moves nothing
///   AllReduce      Partial  Whole
///   ReduceScatter  Partial  Parts
///   Unslice        Parts    Partial: zeros around each part; moves nothing
struct Step {
  enum class Kind {
    AllToAll,
    Reorder,
    AllGather,
    Slice,
    AllReduce,
    ReduceScatter,
    Unslice,
  };
  std::vector<int> axes;
  Share from, to;

  /// From the table above. `from` and `to` are a pair of it.
  Kind kind() const;
};

/// The step that cotangents take where values take `step`, if ranks that share
/// a whole each hold a term of its cotangent. The dual of the dual is the step.
///   AllToAll   AllToAll, from and to exchanged; so Reorder
///   AllGather  ReduceScatter
///   Slice      Unslice
///   AllReduce  AllReduce
Step dualOf(const Step &step);

/// The layout on `mesh` of a tensor with `rank` dimensions that the group along
/// `axes`, and nobody else, shares in this way.
Layout layoutOf(const Share &share, const std::vector<int> &axes, size_t rank,
                const Mesh &mesh);

/// Elements that `rank` sends to other ranks in a step from layout `before` to
/// `after`, on a tensor of global `shape`; the largest int64_t where that does
/// not fit. The runtime counts the same. With g the group's size and n the
/// local part before the step:
///   AllToAll       (g-1)/g n
///   AllGather      (g-1) n
///   Slice, Unslice 0
///   AllReduce      (g-1) n, or, if it is shared (see below), n + (g-2) m with
///                  m what the rank adds up: 2(g-1)/g n where g divides the
///                  rows
///   ReduceScatter  (g-1)/g n
///   Reorder        the elements that the rank holds before and not after
/// In the order of sizes a part counts with all that it has room for: where the
/// step makes one, (g-1) times that instead of (g-1)/g n.
int64_t elementsSent(const Step &step, const Layout &before,
                     const Layout &after, const std::vector<int64_t> &shape,
                     int64_t rank);

/// From so many elements of a rank's tensor on an AllReduce is shared: each
/// rank adds up a slice and sends it to the others, instead of each all of it.
inline constexpr int64_t sharedSumElements = 16384;

/// Which rows of a tensor of `rank` sizes, along its outermost dimension of
/// more than one element (or the first), the one at `position` of a group of so
/// many adds up. Rows that the group does not divide are shared out as evenly
/// as can be.
struct SumSlice {
  size_t dim = 0;
  int64_t first = 0, count = 0;
};
SumSlice sumSliceOf(const int64_t *sizes, size_t rank, int64_t group,
                    int64_t position);

} // namespace cp

#endif // CP_LAYOUT_STEP_H
