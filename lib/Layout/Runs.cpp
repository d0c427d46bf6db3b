//===- Runs.cpp - Elements of a dimension, run by run ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Runs.h"

#include <limits>

using namespace cp;

bool cp::operator==(const Run &a, const Run &b) {
  return a.global == b.global && a.local == b.local && a.length == b.length &&
         a.count == b.count && (a.count == 1 || a.step == b.step);
}

/// Two runs of `half` elements, which are one where they touch.
static CutRuns halves(int64_t first, int64_t second, int64_t half) {
  if (second == first + half)
    return Run{first, 0, 2 * half};
  return {Run{first, 0, half}, Run{second, half, half}};
}

CutRuns cp::runsOf(const Cut &cut, int64_t ranks, int64_t position,
                   int64_t length) {
  int64_t part = length / ranks;
  if (part == 0)
    return {};
  Run block = {position * part, 0, part};
  if (ranks == 1)
    return block;
  switch (cut.order) {
  case Order::Contiguous:
    break;
  case Order::Zigzag:
    return halves(part / 2 * position, part / 2 * (2 * ranks - 1 - position),
                  part / 2);
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
  int64_t part = length / ranks;
  if (ranks == 1 || cut.order == Order::Contiguous)
    return {element / part, element % part};
  if (cut.order == Order::Striped) {
    int64_t unit = element / cut.unit;
    return {unit % ranks, unit / ranks * cut.unit + element % cut.unit};
  }
  int64_t half = part / 2, block = element / half;
  if (block < ranks)
    return {block, element % half};
  return {2 * ranks - 1 - block, half + element % half};
}

int64_t cp::granuleOf(const Cut &cut) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  if (cut.order != Order::Zigzag)
    return cut.unit;
  return cut.unit > most / 2 ? most : 2 * cut.unit;
}

bool cp::divides(const Cut &cut, int64_t ranks, int64_t length) {
  return length % ranks == 0 && length / ranks % granuleOf(cut) == 0;
}

std::optional<int64_t> cp::partsPerRank(const Cut &cut) {
  switch (cut.order) {
  case Order::Contiguous:
    return 1;
  case Order::Zigzag:
    return 2;
  case Order::Striped:
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
