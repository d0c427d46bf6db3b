//===- Plan.cpp - From one layout to another ------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planner.h"

#include "cp/Layout/Saturating.h"

#include <algorithm>
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

std::optional<std::vector<PlannedStep>>
cp::plan(const Layout &from, const Layout &to,
         const std::vector<int64_t> &shape) {
  if (!(from.mesh == to.mesh) || from.dims.size() != to.dims.size() ||
      !hasTerms(from, to))
    return std::nullopt;
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
