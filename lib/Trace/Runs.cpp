//===- Runs.cpp - What states have gone over --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Trace/Runs.h"

using namespace mlir;

namespace cp {

std::optional<int64_t> coverOf(OpTrace &trace, const NamedValue &named,
                               int64_t rank, int64_t batch) {
  Plane covers = named.value->coversOf(rank), ids = named.value->idsOf(rank);
  int64_t count = named.value->numElements() / named.value->numBatches();
  std::optional<int64_t> found;
  for (int64_t i = batch * count; i < (batch + 1) * count; ++i) {
    if ((*ids)[i] == noId && (*covers)[i] == 0)
      continue;
    if ((*covers)[i] == unknownId)
      return unknownId;
    if (found && *found != (*covers)[i]) {
      trace.report(rank,
                   named.name + ": its elements do not cover the same tokens");
      return unknownId;
    }
    found = (*covers)[i];
  }
  return found;
}

int64_t runOf(OpTrace &trace, const Digits &rows, int64_t batch,
              int64_t count) {
  int64_t first = rows.at[batch * count];
  int64_t last = rows.at[(batch + 1) * count - 1];
  if (first < 0 || last < first)
    return unknownId;
  return trace.covers().wordOf({true, 0, {{first, last + 1}}});
}

int64_t joinRuns(OpTrace &trace, std::optional<int64_t> before, int64_t run) {
  if (before == unknownId || run == unknownId)
    return unknownId;
  std::vector<std::pair<int64_t, int64_t>> all = trace.covers()[run].intervals;
  if (before.value_or(0) > 0)
    llvm::append_range(all, trace.covers()[*before].intervals);
  auto sum = joined(all);
  return sum ? trace.covers().wordOf({true, 0, *sum}) : unknownId;
}

void checkPrefix(OpTrace &trace, const NamedValue &state, int64_t rank,
                 int64_t batch, int64_t row, int64_t length, bool mayBePlain,
                 bool isReverse) {
  if (row < 0)
    return;
  int64_t start = row / length * length, end = start + length;
  std::optional<int64_t> word = coverOf(trace, state, rank, batch);
  if (word == unknownId)
    return;
  std::vector<std::pair<int64_t, int64_t>> want, got;
  if (isReverse ? row + 1 < end : row > start)
    want.push_back(isReverse ? std::pair(row + 1, end) : std::pair(start, row));
  if (word.value_or(0) > 0)
    got = trace.covers()[*word].intervals;
  else if (word && !mayBePlain)
    return trace.report(rank, state.name +
                                  ": holds a value where it should hold a "
                                  "state");
  if (got == want)
    return;
  trace.report(rank, state.name + ": covers " + (got.empty() ? "" : "tokens ") +
                         textOf(got, length) + " where it should cover " +
                         (want.empty() ? "" : "tokens ") +
                         textOf(want, length) +
                         (isReverse ? ", all behind the last row's"
                                    : ", all before the first row's"));
}

void setSummary(OpTrace &trace, unsigned number, ArrayRef<NamedValue> parts,
                ArrayRef<size_t> dims,
                ArrayRef<std::vector<int64_t>> coversByRank) {
  TracedValue &value = trace.result(number);
  const NamedValue &x = parts.front();
  if (!x.value->space) {
    value.isUnknown = true;
    return;
  }
  int64_t length = lengthOf(*x.value), count = x.value->shape[1];
  const IdSpace &space = *x.value->space;
  SmallVector<int64_t> sizes = {space.strides[0] / space.strides[2] / length};
  for (auto [part, dim] : llvm::zip(parts, dims))
    sizes.push_back(part.value->space ? part.value->space->wholeSize(dim)
                                      : part.value->shape[dim]);
  value.space = std::make_shared<IdSpace>(IdSpace::of(sizes));
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    // The batch element first, then what the parts say.
    SmallVector<Digits> digits = {rowsOf(trace, x, rank)};
    for (int64_t i = 0; i < value.shape[0]; ++i) {
      int64_t row = digits[0].at[i * count];
      digits[0].at[i] = row < 0 ? Digits::unknown : row / length;
    }
    for (auto [part, dim] : llvm::zip(parts, dims))
      digits.push_back(digitsOf(trace, part, rank, dim, dim));
    value.ids.push_back(idsFrom(value, digits));
    auto marks = std::make_shared<Words>(value.numElements());
    for (size_t e = 0; e < marks->size(); ++e)
      (*marks)[e] = coversByRank[rank][e * value.shape[0] / marks->size()];
    value.covers.push_back(std::move(marks));
  }
}

void setKept(OpTrace &trace, unsigned number,
             ArrayRef<std::vector<int64_t>> coversByRank) {
  // Inside of a run they have no order that could be lost.
  TracedValue &kept = trace.result(number);
  kept.space = std::make_shared<IdSpace>(IdSpace::of(kept.shape));
  for (const std::vector<int64_t> &words : coversByRank) {
    auto ids = std::make_shared<Words>(kept.numElements());
    auto marks = std::make_shared<Words>(kept.numElements());
    for (size_t e = 0; e < ids->size(); ++e) {
      (*ids)[e] = static_cast<int64_t>(e) + 1;
      (*marks)[e] = words[e * words.size() / ids->size()];
    }
    kept.ids.push_back(std::move(ids));
    kept.covers.push_back(std::move(marks));
  }
}

void checkKept(OpTrace &trace, const NamedValue &kept, int64_t rank,
               int64_t batch, int64_t run, int64_t length) {
  int64_t word = coverOf(trace, kept, rank, batch).value_or(0);
  if (run <= 0 || word <= 0 || word == run)
    return;
  trace.report(rank, kept.name + ": is of tokens " +
                         textOf(trace.covers()[word].intervals, length) +
                         " where it should be of tokens " +
                         textOf(trace.covers()[run].intervals, length) +
                         ", which x holds");
}

} // namespace cp
