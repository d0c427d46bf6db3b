//===- Plan.h - From one layout to another ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LAYOUT_PLAN_H
#define CP_LAYOUT_PLAN_H

#include "cp/Layout/Step.h"

namespace cp {

/// A step of a plan, and the layout after it. Steps join several axes only when
/// all their cuts are contiguous. Elements' places depend on the units of
/// striped cuts; those of others are the target's.
struct PlannedStep : Step {
  Layout after;
};
/// What `rank` sends in a step of a plan that comes from `before`.
inline int64_t elementsSent(const PlannedStep &step, const Layout &before,
                            const std::vector<int64_t> &shape, int64_t rank) {
  return elementsSent(step, before, step.after, shape, rank);
}

/// The steps that turn `from` into `to`, both valid for `shape` and on the same
/// mesh. Empty when they are equal. Each step acts on the minor-most cuts of
/// its dims, and each layout on the way is valid for `shape`; the last is `to`.
/// Units alone never cause a step, but those of striped cuts do. Nothing when a
/// value that is whole on each rank would have to become partial, or the meshes
/// or the numbers of dimensions differ; every other pair has a plan. With "a"
/// and "b" two axes:
///   from                   to                     plan
///   [{"a"}, {}]            the same               none
///   [{"a"}, {}]            [{}, {"a"}]            AllToAll a, 0 to 1
///   [{"a", "b"}, {}]       [{}, {"a", "b"}]       AllToAll a b, 0 to 1
///   [{"a"}, {}]            [{}, {}]               AllGather a, 0
///   [{}, {}]               [{"a"}, {}]            Slice a, 0
///   [{}, {}] partial a     [{}, {}]               AllReduce a
///   [{}, {}] partial a     [{"a"}, {}]            ReduceScatter a, 0
///   [{"a"}, {}]            [{"a" zigzag}, {}]     Reorder a, 0
///   [{"a" striped}, {}]    [{"a" striped : 2}, {}]  Reorder a, 0
///   [{"a" zigzag_per_document}, {}]  [{}, {"a"}]  Reorder, AllToAll
///   [{"a" zigzag_per_document, "b"}, {}]  [{"a"}, {}]  AllGather b, Reorder
///   [{"a" sizes [1, 3]}, {}]  [{"a"}, {}]         AllToAll, AllToAll, where
///                                                 "a" divides the other, else
///                                                 AllGather, Slice
///   [{"a", "b" sizes [2, 2, 1, 1]}]  [{"a" sizes [3, 3]}]  AllGather, Slice
///   [{"a"}, {"b"}]         [{"b"}, {"a"}]         AllGather, AllToAll, Slice
///   [{"a"}, {}]            [{}, {}] partial a     Unslice a, 0
///   [{}, {}]               [{}, {}] partial a     nothing
/// Greedy: free steps first, then those that shrink, then those that keep the
/// size, gathers last. A cut that stands in the way of others is moved to a
/// finished dimension and back, or gathered and sliced again; a sum that cannot
/// be scattered yet is added up at once, or later. Of these plans it is the one
/// in which rank 0 sends least (with the fewest steps when equal). An order per
/// document is made and taken by a Reorder, since no other step knows the
/// documents; and sizes over several axes by a gather and a slice (or sums), of
/// which ranks on some of the axes would have parts of other sizes.
std::optional<std::vector<PlannedStep>>
plan(const Layout &from, const Layout &to, const std::vector<int64_t> &shape);

} // namespace cp

#endif // CP_LAYOUT_PLAN_H
