//===- Planner.cpp - The search behind plan() -----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planner.h"

#include <algorithm>
#include <limits>
#include <utility>

using namespace cp;

/// The number of cuts at the front that `current` and `target` share.
size_t Planner::matched(size_t dim) const {
  const std::vector<Cut> &a = current.dims[dim], &b = target.dims[dim];
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end(), samePlaces)
             .first -
         a.begin();
}

/// Where units are a constraint on the cuts and do not move elements, the
/// shared cuts can have the target's from the start.
void Planner::adoptUnits() {
  for (size_t dim = 0; dim < current.dims.size(); ++dim)
    std::copy_n(target.dims[dim].begin(), matched(dim),
                current.dims[dim].begin());
}

bool Planner::isPrefix(size_t dim) const {
  return matched(dim) == current.dims[dim].size();
}

bool Planner::isFinished(size_t dim) const {
  return isPrefix(dim) && current.dims[dim].size() == target.dims[dim].size();
}

/// The cut that `dim` can take now, or null.
const Cut *Planner::nextCut(size_t dim) const {
  if (!isPrefix(dim) || isFinished(dim))
    return nullptr;
  return &target.dims[dim][current.dims[dim].size()];
}

bool Planner::isPartial(int axis) const {
  return std::binary_search(current.partial.begin(), current.partial.end(),
                            axis);
}

bool Planner::isFree(int axis) const {
  return !isPartial(axis) && !isCutOver(current, axis);
}

bool Planner::isCutInTarget(int axis) const { return isCutOver(target, axis); }

static bool allContiguous(const std::vector<Cut> &cuts) {
  return std::all_of(cuts.begin(), cuts.end(), [](const Cut &cut) {
    return cut.order == Order::Contiguous;
  });
}

/// The parts of a step that has them on one side.
static Parts &partsOf(Step &step) {
  Parts *from = std::get_if<Parts>(&step.from);
  return from ? *from : std::get<Parts>(step.to);
}

/// Whether both do the same to neighbouring contiguous cuts of one dimension.
static bool canJoin(Step &first, Step &second) {
  Step::Kind kind = first.kind();
  if (kind != second.kind() ||
      (kind != Step::Kind::AllGather && kind != Step::Kind::Slice &&
       kind != Step::Kind::ReduceScatter && kind != Step::Kind::Unslice))
    return false;
  const Parts &a = partsOf(first), &b = partsOf(second);
  return a.dim == b.dim && allContiguous(a.cuts) && allContiguous(b.cuts);
}

/// Appends `step`, or makes it one with the last.
void Planner::emit(Step step) {
  if (steps.empty() || !canJoin(steps.back(), step)) {
    steps.push_back({std::move(step), current});
    return;
  }
  // Cuts are taken from the minor end, and added there.
  bool takes = std::holds_alternative<Parts>(step.from);
  Step &last = steps.back();
  auto join = [&](auto &list, const auto &more) {
    list.insert(takes ? list.begin() : list.end(), more.begin(), more.end());
  };
  join(last.axes, step.axes);
  join(partsOf(last).cuts, partsOf(step).cuts);
  steps.back().after = current;
}

/// Cuts the first dimension whose next axis `mayCut` accepts.
template <typename Predicate>
bool Planner::addCut(const Share &from, Predicate mayCut) {
  for (size_t dim = 0; dim < current.dims.size(); ++dim) {
    const Cut *cut = nextCut(dim);
    if (!cut || !mayCut(cut->axis))
      continue;
    std::vector<int> &partial = current.partial;
    partial.erase(std::remove(partial.begin(), partial.end(), cut->axis),
                  partial.end());
    current.dims[dim].push_back(*cut);
    emit({{cut->axis}, from, Parts{int(dim), {*cut}}});
    return true;
  }
  return false;
}

bool Planner::slice() {
  return addCut(Whole(), [&](int axis) { return isFree(axis); });
}

bool Planner::reduceScatter() {
  return addCut(Partial(), [&](int axis) { return isPartial(axis); });
}

/// Adds up over the axes that the target neither keeps partial nor, unless that
/// is to happen early, cuts.
bool Planner::allReduce() {
  Step step{{}, Partial(), Whole()};
  std::vector<int> kept;
  for (int axis : current.partial) {
    bool stays = std::binary_search(target.partial.begin(),
                                    target.partial.end(), axis) ||
                 (isCutInTarget(axis) && !choices.addEarly);
    (stays ? kept : step.axes).push_back(axis);
  }
  if (step.axes.empty())
    return false;
  current.partial = std::move(kept);
  emit(std::move(step));
  return true;
}

/// How many minor-most cuts of `from` are exactly what `to` needs next: 0 when
/// one step cannot move them.
size_t Planner::joinable(size_t from, size_t to) const {
  const Cut *next = nextCut(to);
  if (!next || from == to)
    return 0;
  const std::vector<Cut> &cuts = current.dims[from];
  auto begin = std::find_if(cuts.begin(), cuts.end(), [&](const Cut &cut) {
    return cut.axis == next->axis;
  });
  size_t count = cuts.end() - begin;
  auto wanted = target.dims[to].begin() + current.dims[to].size();
  if (count > size_t(target.dims[to].end() - wanted) ||
      !std::equal(begin, cuts.end(), wanted,
                  [](const Cut &a, const Cut &b) { return a.axis == b.axis; }))
    return 0;
  bool oneOrder = allContiguous({begin, cuts.end()}) &&
                  allContiguous({wanted, wanted + ptrdiff_t(count)});
  return count == 1 || oneOrder ? count : 0;
}

/// Moves the last `count` cuts of `from`, as the target has them, to `to`.
void Planner::moveCuts(size_t from, size_t to, size_t count) {
  std::vector<Cut> &source = current.dims[from], &sink = current.dims[to];
  auto first = source.end() - ptrdiff_t(count);
  Parts before{int(from), {first, source.end()}}, after{int(to), {}};
  Step step;
  for (size_t i = 0; i < count; ++i) {
    const Cut &cut = target.dims[to][sink.size()];
    step.axes.push_back(cut.axis);
    after.cuts.push_back(cut);
    sink.push_back(cut);
  }
  source.erase(first, source.end());
  step.from = std::move(before);
  step.to = std::move(after);
  emit(std::move(step));
}

bool Planner::allToAll() {
  for (size_t from = 0; from < current.dims.size(); ++from)
    for (size_t to = 0; to < current.dims.size(); ++to)
      if (size_t count = joinable(from, to)) {
        moveCuts(from, to, count);
        return true;
      }
  return false;
}

bool Planner::reorder() {
  for (size_t dim = 0; dim < current.dims.size(); ++dim) {
    std::vector<Cut> &cuts = current.dims[dim];
    size_t last = matched(dim);
    if (last + 1 != cuts.size() || last >= target.dims[dim].size() ||
        cuts[last].axis != target.dims[dim][last].axis ||
        isBySizes(cuts[last]) || isBySizes(target.dims[dim][last]))
      continue;
    Cut before = std::exchange(cuts[last], target.dims[dim][last]);
    emit({{before.axis},
          Parts{int(dim), {before}},
          Parts{int(dim), {cuts[last]}}});
    return true;
  }
  return false;
}

/// Drops the minor-most cut of `dim`: gathers, or leaves the ranks' parts to be
/// added up.
void Planner::dropCut(size_t dim) {
  Cut cut = current.dims[dim].back();
  current.dims[dim].pop_back();
  bool staysTerm = std::binary_search(target.partial.begin(),
                                      target.partial.end(), cut.axis);
  if (staysTerm)
    current.partial.insert(std::upper_bound(current.partial.begin(),
                                            current.partial.end(), cut.axis),
                           cut.axis);
  emit({{cut.axis},
        Parts{int(dim), {cut}},
        staysTerm ? Share(Partial()) : Share(Whole())});
}

bool Planner::dropUnused() {
  for (size_t dim = 0; dim < current.dims.size(); ++dim)
    if (!isPrefix(dim) && !isCutInTarget(current.dims[dim].back().axis)) {
      dropCut(dim);
      return true;
    }
  return false;
}

/// Lets the minor-most cut of `from` wait where nothing else has to happen.
bool Planner::sendAway(size_t from) {
  Cut cut = current.dims[from].back();
  for (size_t to = 0; to < current.dims.size(); ++to) {
    if (!isFinished(to))
      continue;
    Layout waiting = current;
    waiting.dims[from].pop_back();
    waiting.dims[to].push_back({cut.axis});
    if (check(waiting, shape))
      continue;
    current = std::move(waiting);
    detoured[cut.axis] = true;
    emit({{cut.axis}, Parts{int(from), {cut}}, Parts{int(to), {{cut.axis}}}});
    return true;
  }
  return false;
}

bool Planner::detour() {
  if (!choices.detours)
    return false;
  for (size_t from = 0; from < current.dims.size(); ++from)
    if (!isPrefix(from) && !detoured[current.dims[from].back().axis] &&
        sendAway(from))
      return true;
  return false;
}

/// The last resort, on the smallest axis: gathering multiplies by its size.
bool Planner::gatherSmallest() {
  int64_t smallest = std::numeric_limits<int64_t>::max();
  size_t best = current.dims.size();
  for (size_t dim = 0; dim < current.dims.size(); ++dim) {
    if (isPrefix(dim))
      continue;
    int64_t size = current.mesh.axes[current.dims[dim].back().axis].size;
    if (size < smallest) {
      smallest = size;
      best = dim;
    }
  }
  if (best == current.dims.size())
    return false;
  dropCut(best);
  return true;
}
