//===- Runs.cpp - Elements of a dimension, run by run ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Runs.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace cp;

bool cp::operator==(const Run &a, const Run &b) {
  return a.global == b.global && a.local == b.local && a.length == b.length &&
         a.count == b.count && (a.count == 1 || a.step == b.step);
}

/// Runs of neighbours behind each other; those that touch are one.
class RunsOfNeighbours {
public:
  void add(int64_t global, int64_t length) {
    if (length == 0)
      return;
    if (run.length > 0 && run.end() == global) {
      run.length += length;
      return;
    }
    int64_t local = run.local + run.length;
    close();
    run = {global, local, length};
  }
  CutRuns take() {
    close();
    return runs;
  }

private:
  void close() {
    if (run.length > 0)
      runs.add(run);
  }

  CutRuns runs;
  Run run = {0, 0, 0};
};

/// Blocks `position` and its counterpart, of 2 `ranks` blocks of `half`.
static void addHalves(RunsOfNeighbours &runs, int64_t ranks, int64_t position,
                      int64_t half) {
  runs.add(half * position, half);
  runs.add(half * (2 * ranks - 1 - position), half);
}

/// How many elements the positions in front of one hold.
static int64_t sizesBefore(const Cut &cut, int64_t position) {
  return std::accumulate(cut.sizes.begin(), cut.sizes.begin() + position,
                         int64_t(0));
}

CutRuns cp::runsOf(const Cut &cut, int64_t ranks, int64_t position,
                   int64_t length) {
  if (cut.order == Order::Sizes) {
    int64_t size = cut.sizes[size_t(position)];
    if (size == 0)
      return {};
    return Run{sizesBefore(cut, position), 0, size};
  }
  int64_t part = length / ranks;
  if (part == 0)
    return {};
  Run block = {position * part, 0, part};
  if (ranks == 1)
    return block;
  switch (cut.order) {
  case Order::Contiguous:
  case Order::ContiguousPerDocument:
  case Order::Sizes:
    break;
  case Order::Zigzag:
  case Order::ZigzagPerDocument: {
    RunsOfNeighbours runs;
    addHalves(runs, ranks, position, part / 2);
    // Of an odd part, what 2 ranks leave: one element each.
    runs.add(part / 2 * 2 * ranks + position, part % 2);
    return runs.take();
  }
  case Order::Striped:
    if (part > cut.unit)
      return Run{position * cut.unit, 0, cut.unit, part / cut.unit,
                 ranks * cut.unit};
    break;
  }
  return block;
}

Holder cp::holderOf(const Cut &cut, int64_t ranks, int64_t length,
                    int64_t element) {
  if (cut.order == Order::Sizes) {
    int64_t position = 0;
    for (; element >= cut.sizes[size_t(position)]; ++position)
      element -= cut.sizes[size_t(position)];
    return {position, element};
  }
  int64_t part = length / ranks;
  if (ranks == 1 || cut.order == Order::Contiguous ||
      cut.order == Order::ContiguousPerDocument)
    return {element / part, element % part};
  if (cut.order == Order::Striped) {
    int64_t unit = element / cut.unit;
    return {unit % ranks, unit / ranks * cut.unit + element % cut.unit};
  }
  int64_t half = part / 2, rest = element - 2 * ranks * half;
  if (rest >= 0)
    return {rest, 2 * half};
  int64_t block = element / half;
  if (block < ranks)
    return {block, element % half};
  return {2 * ranks - 1 - block, half + element % half};
}

int64_t cp::roomOf(const Cut &cut, int64_t ranks, int64_t length) {
  if (cut.order != Order::Sizes)
    return length / ranks;
  return largestSize(cut);
}

int64_t cp::granuleOf(const Cut &cut) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  if (cut.order != Order::Zigzag)
    return cut.unit;
  return cut.unit > most / 2 ? most : 2 * cut.unit;
}

bool cp::divides(const Cut &cut, int64_t ranks, int64_t length) {
  if (cut.order == Order::Sizes)
    return length == sumOfSizes(cut);
  return length % ranks == 0 && length / ranks % granuleOf(cut) == 0;
}

std::optional<int64_t> cp::partsPerRank(const Cut &cut) {
  switch (cut.order) {
  case Order::Contiguous:
    return 1;
  case Order::Zigzag:
    return 2;
  case Order::Striped:
  case Order::ZigzagPerDocument:
  case Order::Sizes:
  case Order::ContiguousPerDocument:
    break;
  }
  return std::nullopt;
}

std::optional<int64_t> cp::partsPerRank(const std::vector<Cut> &cuts) {
  if (cuts.size() == 1)
    return partsPerRank(cuts.front());
  for (const Cut &cut : cuts)
    if (partsPerRank(cut) != 1)
      return std::nullopt;
  return 1;
}

/// Whether both runs repeat from one element on over the same number of them.
static bool repeatTogether(const Run &a, const Run &b) {
  int64_t firstOfA = a.global + a.length - a.step;
  int64_t firstOfB = b.global + b.length - b.step;
  return a.count > 1 && b.count > 1 && a.count * a.step == b.count * b.step &&
         std::max(firstOfA, firstOfB) <= std::min(a.global, b.global);
}

/// Of such runs. By the Chinese remainder theorem two elements, one of each
/// run, that are equal modulo the greatest common divisor of the steps meet
/// once in each of their least common multiples.
static int64_t countRepeated(const Run &a, const Run &b) {
  int64_t cycle = std::gcd(a.step, b.step);
  int64_t restOfA = a.length % cycle, restOfB = b.length % cycle;
  // What is left of both behind whole cycles is a string of neighbours in one
  // cycle. That of a begins it, that of b may go around its end.
  int64_t begin = ((b.global - a.global) % cycle + cycle) % cycle;
  auto positive = [](int64_t count) { return std::max<int64_t>(count, 0); };
  int64_t rests = positive(std::min(restOfA - begin, restOfB)) +
                  positive(std::min(restOfA, begin + restOfB - cycle));
  int64_t pairs =
      a.length / cycle * b.length + b.length / cycle * restOfA + rests;
  return pairs * (a.count / (b.step / cycle));
}

int64_t cp::countCommon(const std::vector<Run> &a, const std::vector<Run> &b) {
  if (a.size() == 1 && b.size() == 1 && repeatTogether(a[0], b[0]))
    return countRepeated(a[0], b[0]);
  int64_t count = 0;
  forEachCommon(a, b, [&](const Segment &segment) {
    count += segment.length * segment.count;
  });
  return count;
}
