//===- Plan.h - From one layout to another ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LAYOUT_PLAN_H
#define CP_LAYOUT_PLAN_H

#include "cp/Layout/Layout.h"

namespace cp {

/// One collective of a plan, on the group along `axes` (major to minor, as the
/// cuts stand in their dimension). `fromOrder` and `toOrder` speak of the group
/// as if it were one axis: several axes travel jointly only when all their cuts
/// are contiguous, and then that is the same. `unit` is that of the minor-most
/// cut which the step adds, `fromUnit` of the one it drops; elements' places
/// depend on them where that cut is striped. Fields that a kind does not name
/// keep their defaults.
struct Step {
  enum class Kind {
    /// Drops the cut of dim `from` by `axes` (order fromOrder), adds one of dim
    /// `to` (toOrder, unit).
    AllToAll,
    /// Drops the cut of dim `from`.
    AllGather,
    /// Adds a cut of dim `to`; moves nothing.
    Slice,
    /// Removes partial axes.
    AllReduce,
    /// Removes partial axes and adds a cut of dim `to`.
    ReduceScatter,
    /// Changes the order of the cut of dim `from` to toOrder.
    Reorder,
  };
  Kind kind;
  std::vector<int> axes;
  int from = -1, to = -1;
  Order fromOrder = Order::Contiguous, toOrder = Order::Contiguous;
  int64_t unit = 1, fromUnit = 1;
  /// The layout after this step.
  Layout after;
};

/// The steps that turn `from` into `to`, both valid for `shape` and on the same
/// mesh. Empty when they are equal. Each step acts on the minor-most cuts of
/// its dims, and each layout on the way is valid for `shape`; the last is `to`.
/// Units alone never cause a step, but those of striped cuts do. Nothing when a
/// full value would have to become partial, or the meshes or the numbers of
/// dimensions differ; every other pair has a plan. With "a" and "b" two axes:
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
///   [{"a"}, {"b"}]         [{"b"}, {"a"}]         AllGather, AllToAll, Slice
///   [{}, {}]               [{}, {}] partial a     nothing
/// Greedy: free steps first, then those that shrink, then those that keep the
/// size, gathers last. A cut that stands in the way of others is moved to a
/// finished dimension and back, or gathered and sliced again; a sum that cannot
/// be scattered yet is added up at once, or later. Of these plans it is the one
/// in which rank 0 sends least (with the fewest steps when equal).
std::optional<std::vector<Step>> plan(const Layout &from, const Layout &to,
                                      const std::vector<int64_t> &shape);

/// Elements that `rank` sends to other ranks in one step of a plan that starts
/// from layout `before` on a tensor of global `shape`; the largest int64_t
/// where that does not fit. The runtime counts the same. With g the group's
/// size and n the local part before the step:
///   AllToAll       (g-1)/g n
///   AllGather      (g-1) n
///   Slice          0
///   AllReduce      (g-1) n
///   ReduceScatter  (g-1)/g n
///   Reorder        the elements that the rank holds before and not after
int64_t elementsSent(const Step &step, const Layout &before,
                     const std::vector<int64_t> &shape, int64_t rank);

} // namespace cp

#endif // CP_LAYOUT_PLAN_H
