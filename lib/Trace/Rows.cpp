//===- Rows.cpp - Whether the elements that meet belong together ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Trace/Rows.h"

using namespace mlir;

namespace cp {

Plane idsFrom(const TracedValue &value, ArrayRef<Digits> digits) {
  auto words = std::make_shared<Words>(value.numElements());
  for (size_t e = 0; e < words->size(); ++e) {
    int64_t rest = static_cast<int64_t>(e), at = 0;
    bool isKnown = true;
    for (size_t dim = value.shape.size(); dim-- > 0;) {
      int64_t local = rest % value.shape[dim];
      rest /= value.shape[dim];
      int64_t digit = digits[dim].at[local];
      isKnown &= digit != Digits::unknown;
      at += (digit >= 0 ? digit : local) * value.space->strides[dim + 1];
    }
    (*words)[e] = isKnown ? at + 1 : unknownId;
  }
  return words;
}

Digits digitsOf(OpTrace &trace, const NamedValue &named, int64_t rank,
                size_t first, size_t last) {
  int64_t count = 1;
  for (size_t dim = first; dim <= last; ++dim)
    count *= named.value->shape[dim];
  if (!named.value->space)
    return {std::vector<int64_t>(count, Digits::none), 0};
  return digitsAlong(
      *named.value, rank, first, last,
      [&](int64_t index, int64_t digit, int64_t other) {
        trace.report(rank, named.name + ": index " + std::to_string(index) +
                               " of dimension " + std::to_string(last) +
                               " holds elements of " + std::to_string(digit) +
                               " beside elements of " + std::to_string(other));
      });
}

Digits rowsOf(OpTrace &trace, const NamedValue &named, int64_t rank) {
  return digitsOf(trace, named, rank, 0, 1);
}

int64_t lengthOf(const TracedValue &value) {
  if (!value.space)
    return 0;
  const IdSpace &space = *value.space;
  SmallVector<int64_t> sizes =
      space.sizesBetween(space.strides[0], space.strides[2]);
  return sizes.empty() ? 1 : sizes.back();
}

void checkInOrder(OpTrace &trace, const std::string &name, int64_t rank,
                  const Digits &rows, int64_t batch, int64_t length) {
  int64_t count =
      static_cast<int64_t>(rows.at.size()) / std::max<int64_t>(batch, 1);
  for (int64_t i = 0; i < static_cast<int64_t>(rows.at.size()); ++i) {
    int64_t row = rows.at[i];
    if (i % count == 0 || row < 0 || rows.at[i - 1] < 0)
      continue;
    int64_t before = rows.at[i - 1];
    if (row == before + 1 && row % length != 0)
      continue;
    trace.report(rank, name + ": row " + std::to_string(i % count) +
                           " holds token " + std::to_string(row % length) +
                           " where it should hold token " +
                           std::to_string(before % length + 1) +
                           ", the one after the row before it");
    return;
  }
}

void checkSameRows(OpTrace &trace, const NamedValue &first,
                   const NamedValue &other, int64_t rank, int64_t length) {
  Digits a = rowsOf(trace, first, rank), b = rowsOf(trace, other, rank);
  int64_t count = other.value->shape[1];
  for (size_t i = 0; i < b.at.size() && i < a.at.size(); ++i) {
    if (a.at[i] < 0 || b.at[i] < 0 || a.at[i] == b.at[i])
      continue;
    trace.report(rank, other.name + ": row " + std::to_string(i % count) +
                           " holds token " + std::to_string(b.at[i] % length) +
                           " where it should hold token " +
                           std::to_string(a.at[i] % length) + ", as " +
                           first.name + " does");
    return;
  }
}

void checkSame(OpTrace &trace, const NamedValue &first, size_t firstDim,
               const NamedValue &other, size_t otherDim, int64_t rank) {
  Digits a = digitsOf(trace, first, rank, firstDim, firstDim);
  Digits b = digitsOf(trace, other, rank, otherDim, otherDim);
  for (size_t i = 0; i < b.at.size() && i < a.at.size(); ++i) {
    if (a.at[i] < 0 || b.at[i] < 0 || a.at[i] == b.at[i])
      continue;
    trace.report(rank, other.name + ": index " + std::to_string(i) +
                           " of dimension " + std::to_string(otherDim) +
                           " holds " + std::to_string(b.at[i]) +
                           " where it should hold " + std::to_string(a.at[i]) +
                           ", as dimension " + std::to_string(firstDim) +
                           " of " + first.name + " does");
    return;
  }
}

/// How many indices of a dimension there are on all ranks together, without
/// zeros that stand behind them; 0 where nothing is known of any.
static int64_t sizeWithoutZeros(OpTrace &trace, const TracedValue &value,
                                size_t dim) {
  int64_t size = 0, whole = 0;
  bool anyZeros = false;
  for (int64_t rank = 0; value.space && rank < trace.numRanks(); ++rank) {
    Digits digits =
        digitsAlong(value, rank, dim, dim, [](int64_t, int64_t, int64_t) {});
    whole = digits.size;
    for (int64_t digit : digits.at) {
      anyZeros |= digit == Digits::none;
      size = std::max(size, digit + 1);
    }
  }
  return anyZeros ? size : whole;
}

void checkGroups(OpTrace &trace, const NamedValue &heads,
                 const NamedValue &groups, size_t dim, int64_t rank) {
  Digits a = digitsOf(trace, heads, rank, dim, dim),
         b = digitsOf(trace, groups, rank, dim, dim);
  int64_t count = static_cast<int64_t>(a.at.size());
  int64_t slots = static_cast<int64_t>(b.at.size());
  int64_t numHeads = sizeWithoutZeros(trace, *heads.value, dim);
  int64_t numGroups = sizeWithoutZeros(trace, *groups.value, dim);
  for (int64_t i = 0; i < count; ++i) {
    int64_t slot = i * slots / count;
    bool isZeros = b.at[slot] == Digits::none && numGroups > 0;
    if (a.at[i] < 0 || (b.at[slot] < 0 && !isZeros))
      continue;
    int64_t want = a.at[i] * numGroups / numHeads;
    if (b.at[slot] == want)
      continue;
    std::string held =
        isZeros ? "zeros" : "group " + std::to_string(b.at[slot]);
    trace.report(rank, groups.name + ": index " + std::to_string(slot) +
                           " of dimension " + std::to_string(dim) + " holds " +
                           held + " where it should hold group " +
                           std::to_string(want) + ", that of head " +
                           std::to_string(a.at[i]) + " of " + heads.name);
    return;
  }
}

void checkPlain(OpTrace &trace, const NamedValue &named) {
  if (named.value->covers.empty())
    return;
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank)
    for (int64_t word : *named.value->coversOf(rank)) {
      if (word == 0)
        continue;
      if (word < 0)
        return;
      const Cover &cover = trace.covers()[word];
      trace.report(
          rank,
          cover.isRun
              ? named.name + ": holds a state where it should hold a value"
              : named.name + ": is a sum over " + textOf(cover.intervals) +
                    " of " + std::to_string(cover.size) +
                    " terms only; add it up over the ranks first");
      return;
    }
}

void sameStructure(OpTrace &trace, unsigned number, const TracedValue &source) {
  TracedValue &value = trace.result(number);
  value.space = source.space;
  value.ids = source.ids;
}

} // namespace cp
