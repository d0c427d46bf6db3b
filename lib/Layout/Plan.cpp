//===- Plan.cpp - From one layout to another ------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planner.h"

#include "cp/Layout/Saturating.h"

#include <algorithm>
#include <iterator>
#include <utility>

using namespace cp;

/// What rank 0 sends in all.
static int64_t costOf(const std::vector<PlannedStep> &steps, const Layout &from,
                      const std::vector<int64_t> &shape) {
  int64_t cost = 0;
  const Layout *before = &from;
  for (const PlannedStep &step : steps) {
    cost = addSaturating(cost, elementsSent(step, *before, shape, 0));
    before = &step.after;
  }
  return cost;
}

/// Whether terms of each sum that `to` leaves to be made come from somewhere:
/// a term or a part on each rank.
static bool hasTerms(const Layout &from, const Layout &to) {
  return std::all_of(to.partial.begin(), to.partial.end(), [&](int axis) {
    return std::binary_search(from.partial.begin(), from.partial.end(), axis) ||
           isCutOver(from, axis);
  });
}

/// Whether the major cut of a dimension is one per document, and not as the
/// other layout has it: only a Reorder makes or takes it.
static bool isReordered(const std::vector<Cut> &cuts,
                        const std::vector<Cut> &other) {
  return !cuts.empty() && isPerDocument(cuts[0]) &&
         (other.empty() || !samePlaces(cuts[0], other[0]));
}

/// Such a dimension without the cuts behind, which a Reorder has not; as terms
/// of a sum where `sums` are wanted over their axes.
static Layout withoutMinorCuts(Layout layout, const Layout &other,
                               const std::vector<int> &sums) {
  for (size_t dim = 0; dim < layout.dims.size(); ++dim) {
    std::vector<Cut> &cuts = layout.dims[dim];
    if (!isReordered(cuts, other.dims[dim]))
      continue;
    for (; cuts.size() > 1; cuts.pop_back())
      if (int axis = cuts.back().axis;
          std::binary_search(sums.begin(), sums.end(), axis))
        layout.partial.push_back(axis);
  }
  std::sort(layout.partial.begin(), layout.partial.end());
  return layout;
}

/// Such a dimension, of one cut, in the order that `other` has over the axis,
/// or else in contiguous order.
static Layout withoutDocuments(Layout layout, const Layout &other) {
  for (size_t dim = 0; dim < layout.dims.size(); ++dim) {
    std::vector<Cut> &cuts = layout.dims[dim];
    const std::vector<Cut> &others = other.dims[dim];
    if (!isReordered(cuts, others))
      continue;
    bool isSameAxis = !others.empty() && others[0].axis == cuts[0].axis &&
                      !isBySizes(others[0]);
    cuts[0] = isSameAxis ? others[0] : Cut{cuts[0].axis};
  }
  return layout;
}

/// Appends the steps between two layouts that differ in orders only.
static void addReorders(std::vector<PlannedStep> &steps, Layout before,
                        const Layout &after) {
  for (size_t dim = 0; dim < after.dims.size(); ++dim) {
    if (before.dims[dim] == after.dims[dim])
      continue;
    Step step{{after.dims[dim][0].axis},
              Parts{int(dim), before.dims[dim]},
              Parts{int(dim), after.dims[dim]}};
    before.dims[dim] = after.dims[dim];
    steps.push_back({std::move(step), before});
  }
}

/// Between layouts that no order per document has to be made or taken for.
static std::vector<PlannedStep> planSteps(const Layout &from, const Layout &to,
                                          const std::vector<int64_t> &shape) {
  std::vector<PlannedStep> best;
  int64_t bestCost = 0;
  for (bool detours : {false, true})
    for (bool addEarly : {false, true}) {
      std::vector<PlannedStep> steps =
          Planner(from, to, shape, {detours, addEarly}).run();
      int64_t cost = costOf(steps, from, shape);
      bool isFirst = !detours && !addEarly;
      if (isFirst || cost < bestCost ||
          (cost == bestCost && steps.size() < best.size())) {
        best = std::move(steps);
        bestCost = cost;
      }
    }
  return best;
}

//===----------------------------------------------------------------------===//
// Sizes over several axes
//===----------------------------------------------------------------------===//

/// Whether a dimension is cut by sizes over several axes, and not as the other
/// layout has it: only all of them together make or take it.
static bool isJoint(const std::vector<Cut> &cuts,
                    const std::vector<Cut> &other) {
  return cuts.size() > 1 && isBySizes(cuts) &&
         !std::equal(cuts.begin(), cuts.end(), other.begin(), other.end(),
                     samePlaces);
}

static std::vector<int> axesOf(const std::vector<Cut> &cuts) {
  std::vector<int> axes;
  for (const Cut &cut : cuts)
    axes.push_back(cut.axis);
  return axes;
}

static bool contains(const std::vector<int> &ascending, int axis) {
  return std::binary_search(ascending.begin(), ascending.end(), axis);
}

/// Gathers such dimensions, or leaves their parts as terms where `to` has sums
/// over an axis of theirs. Returns what is left.
static Layout takeJoint(std::vector<PlannedStep> &steps, Layout layout,
                        const Layout &to) {
  for (size_t dim = 0; dim < layout.dims.size(); ++dim) {
    if (!isJoint(layout.dims[dim], to.dims[dim]))
      continue;
    std::vector<Cut> cuts = std::exchange(layout.dims[dim], {});
    std::vector<int> axes = axesOf(cuts);
    bool becomesTerms = std::any_of(axes.begin(), axes.end(), [&](int axis) {
      return contains(to.partial, axis);
    });
    if (becomesTerms) {
      layout.partial.insert(layout.partial.end(), axes.begin(), axes.end());
      std::sort(layout.partial.begin(), layout.partial.end());
    }
    steps.push_back({{std::move(axes), Parts{int(dim), std::move(cuts)},
                      becomesTerms ? Share(Partial()) : Share(Whole())},
                     layout});
  }
  return layout;
}

/// The steps that cut such dimensions of `to` in the end, of sums where `from`
/// has terms over all of their axes. `before` becomes what they start from.
static std::vector<PlannedStep> makeJoint(const Layout &from, const Layout &to,
                                          Layout &before) {
  before = to;
  std::vector<PlannedStep> steps;
  for (size_t dim = 0; dim < to.dims.size(); ++dim) {
    const std::vector<Cut> &cuts = to.dims[dim];
    if (!isJoint(cuts, from.dims[dim]))
      continue;
    std::vector<int> axes = axesOf(cuts);
    bool addsUp = std::all_of(axes.begin(), axes.end(), [&](int axis) {
      return contains(from.partial, axis);
    });
    before.dims[dim].clear();
    if (addsUp)
      before.partial.insert(before.partial.end(), axes.begin(), axes.end());
    steps.push_back(
        {{std::move(axes), addsUp ? Share(Partial()) : Share(Whole()),
          Parts{int(dim), cuts}},
         {}});
  }
  std::sort(before.partial.begin(), before.partial.end());
  Layout after = before;
  for (PlannedStep &step : steps) {
    const Parts &parts = std::get<Parts>(step.to);
    after.dims[size_t(parts.dim)] = parts.cuts;
    if (std::holds_alternative<Partial>(step.from))
      after.partial.erase(
          std::remove_if(after.partial.begin(), after.partial.end(),
                         [&](int axis) {
                           return std::count(step.axes.begin(), step.axes.end(),
                                             axis) > 0;
                         }),
          after.partial.end());
    step.after = after;
  }
  return steps;
}

/// Between layouts without such dimensions.
static std::vector<PlannedStep>
planByDocuments(const Layout &from, const Layout &to,
                const std::vector<int64_t> &shape) {
  // From and to what reorders take and make, and between what they do.
  Layout taken = withoutMinorCuts(from, to, to.partial);
  Layout first = withoutDocuments(taken, to);
  Layout made = withoutMinorCuts(to, first, {});
  Layout last = withoutDocuments(made, first);
  std::vector<PlannedStep> steps;
  auto add = [&](const Layout &before, const Layout &after) {
    if (before == after)
      return;
    std::vector<PlannedStep> more = planSteps(before, after, shape);
    steps.insert(steps.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  };
  add(from, taken);
  addReorders(steps, taken, first);
  add(first, last);
  addReorders(steps, last, made);
  add(made, to);
  return steps;
}

std::optional<std::vector<PlannedStep>>
cp::plan(const Layout &from, const Layout &to,
         const std::vector<int64_t> &shape) {
  if (!(from.mesh == to.mesh) || from.dims.size() != to.dims.size() ||
      !hasTerms(from, to))
    return std::nullopt;
  std::vector<PlannedStep> steps;
  Layout first = takeJoint(steps, from, to), last;
  std::vector<PlannedStep> ending = makeJoint(first, to, last);
  std::vector<PlannedStep> middle = planByDocuments(first, last, shape);
  steps.insert(steps.end(), std::make_move_iterator(middle.begin()),
               std::make_move_iterator(middle.end()));
  steps.insert(steps.end(), std::make_move_iterator(ending.begin()),
               std::make_move_iterator(ending.end()));
  // Units that place nothing may differ too.
  if (!steps.empty())
    steps.back().after = to;
  return steps;
}
