//===- Planner.h - The search behind plan() ---------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the library. The algorithm is this project's own; the one-step
// cases are the usual duals (all-to-all, gather and split, reduce and split).
//
//===----------------------------------------------------------------------===//

#ifndef CP_LAYOUT_PLANNER_H
#define CP_LAYOUT_PLANNER_H

#include "cp/Layout/Plan.h"

namespace cp {

/// What is better depends on the sizes, so plan() tries each.
struct Choices {
  /// Whether a cut that stands in the way may wait on a finished dimension.
  bool detours;
  /// Whether a partial axis that the target cuts is added up at once, and not
  /// scattered when its turn comes (behind a gather that costs more).
  bool addEarly;
};

/// Takes steps until `current` is `target`. It ends: each step makes the prefix
/// that current has in common with target longer, or a cut behind that prefix
/// disappear, or an axis take its one detour; none undoes another.
class Planner {
public:
  Planner(const Layout &from, const Layout &to,
          const std::vector<int64_t> &shape, const Choices &choices)
      : current(from), target(to), shape(shape), choices(choices),
        detoured(to.mesh.axes.size(), false) {
    adoptUnits();
  }

  std::vector<PlannedStep> run() {
    while (slice() || reduceScatter() || allReduce() || allToAll() ||
           reorder() || dropUnused() || detour() || gatherSmallest()) {
    }
    return std::move(steps);
  }

private:
  bool slice();
  bool reduceScatter();
  bool allReduce();
  bool allToAll();
  bool reorder();
  bool dropUnused();
  bool detour();
  bool gatherSmallest();

  void adoptUnits();
  size_t matched(size_t dim) const;
  bool isPrefix(size_t dim) const;
  bool isFinished(size_t dim) const;
  const Cut *nextCut(size_t dim) const;
  bool isPartial(int axis) const;
  bool isFree(int axis) const;
  bool isCutInTarget(int axis) const;
  template <typename Predicate>
  bool addCut(const Share &from, Predicate mayCut);
  bool sendAway(size_t from);
  size_t joinable(size_t from, size_t to) const;
  void moveCuts(size_t from, size_t to, size_t count);
  void dropCut(size_t dim);
  void emit(Step step);

  Layout current;
  const Layout &target;
  const std::vector<int64_t> &shape;
  Choices choices;
  std::vector<bool> detoured;
  std::vector<PlannedStep> steps;
};

} // namespace cp

#endif // CP_LAYOUT_PLANNER_H
