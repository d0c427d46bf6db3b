//===- Gradients.cpp - Sums over a rank's own tokens ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cotangent of an operand has the operand's ids. That of a weight is a sum
// over tokens: what it covers is of them all, or of a rank's own.
//
//===----------------------------------------------------------------------===//

#include "Gradients.h"

#include "Models.h"
#include "Tracer.h"
#include "cp/Trace/Runs.h"

#include <set>

using namespace mlir;

namespace cp {

int64_t coverWithin(OpTrace &trace, int64_t outer, const Cover &inner) {
  if (outer == 0)
    return trace.covers().wordOf(inner);
  if (outer == unknownId)
    return unknownId;
  const Cover &sum = trace.covers()[outer];
  Cover both{false, sum.size * inner.size, {}};
  for (auto [begin, end] : sum.intervals)
    for (int64_t at = begin; at < end; ++at)
      for (auto [first, last] : inner.intervals)
        both.intervals.push_back(
            {at * inner.size + first, at * inner.size + last});
  auto all = joined(both.intervals);
  if (sum.isRun || !all)
    return unknownId;
  both.intervals = *all;
  return trace.covers().wordOf(both);
}

int64_t coverOfRows(OpTrace &trace, const NamedValue &x, int64_t rank,
                    Rows which) {
  Digits rows = rowsOf(trace, x, rank);
  int64_t length = lengthOf(*x.value);
  std::map<int64_t, std::set<int64_t>> tokens;
  for (int64_t row : rows.at) {
    if (row < 0 || !tokens[row / length].insert(row % length).second)
      return unknownId;
  }
  int64_t batches = rows.size / length;
  bool areAll =
      which == Rows::OfEach || static_cast<int64_t>(tokens.size()) == batches;
  const std::set<int64_t> &first = tokens.begin()->second;
  if (!llvm::all_of(tokens, [&](const auto &of) { return of.second == first; }))
    return unknownId;
  bool isWhole = static_cast<int64_t>(first.size()) == length;
  if (areAll && isWhole)
    return 0;
  // As a sum over both dimensions counts: by the one that is cut, or by rows.
  std::vector<int64_t> indices;
  for (const auto &[batch, of] : tokens) {
    if (isWhole)
      indices.push_back(batch);
    else if (!areAll || indices.empty())
      for (int64_t token : of)
        indices.push_back(areAll ? token : batch * length + token);
  }
  int64_t size = areAll ? length : isWhole ? batches : rows.size;
  return trace.covers().wordOf({false, size, *intervalsOf(indices)});
}

std::vector<int64_t> coversOfRows(OpTrace &trace, const NamedValue &x,
                                  Rows rows) {
  std::vector<int64_t> covers;
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank)
    covers.push_back(coverOfRows(trace, x, rank, rows));
  return covers;
}

/// Lets all elements of a result cover what each rank's word says.
static void setCovers(OpTrace &trace, TracedValue &value,
                      ArrayRef<int64_t> covers) {
  if (llvm::all_of(covers, [](int64_t word) { return word == 0; }))
    return;
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank)
    value.covers.push_back(
        std::make_shared<Words>(value.numElements(), covers[rank]));
}

void setSumLike(OpTrace &trace, unsigned number, const TracedValue &like,
                ArrayRef<int64_t> covers) {
  TracedValue &value = trace.result(number);
  // Of what was repeated each copy has a term, which the ids do not tell apart.
  if (!like.space || like.isRepeated || like.shape != value.shape) {
    value.isUnknown = true;
    return;
  }
  value.space = like.space;
  value.ids = like.ids;
  setCovers(trace, value, covers);
}

void setSumAlong(OpTrace &trace, unsigned number, const NamedValue &x,
                 ArrayRef<size_t> dims, ArrayRef<int64_t> covers) {
  TracedValue &value = trace.result(number);
  SmallVector<int64_t> sizes;
  for (size_t dim : dims)
    sizes.push_back(x.value->space->wholeSize(dim));
  value.space = std::make_shared<IdSpace>(IdSpace::of(sizes));
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    SmallVector<Digits> digits;
    for (size_t dim : dims)
      digits.push_back(digitsOf(trace, x, rank, dim, dim));
    value.ids.push_back(idsFrom(value, digits));
  }
  setCovers(trace, value, covers);
}

/// A part among zeros is the rank's term of the whole, of which each rank of
/// the group has one.
llvm::Error traceUnslice(OpTrace &trace, UnsliceOp op) {
  const TracedValue &source = trace.operand(0u);
  TracedValue &value = trace.result(0);
  CallBuffer ids{source.shape, {}};
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank)
    ids.ranks.push_back(*source.idsOf(rank));
  auto parts = worldOf(trace).call(op, {ids}, /*asDoubles=*/false);
  if (!parts)
    return parts.takeError();
  if (!source.space)
    return llvm::Error::success();
  value.space = source.space;
  auto groups = groupsOf(op);
  std::vector<int64_t> covers;
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    ArrayRef<int64_t> group = groups[rank];
    auto words = std::make_shared<Words>(value.numElements());
    for (int64_t member : group)
      for (auto [to, from] : llvm::zip(*words, (*parts)[0].ranks[member]))
        to = from != 0 ? from : to;
    value.ids.push_back(std::move(words));
    int64_t position = llvm::find(group, rank) - group.begin();
    auto size = static_cast<int64_t>(group.size());
    int64_t own = coverOf(trace, {"the part", &source}, rank, 0).value_or(0);
    covers.push_back(
        size == 1 ? own
                  : coverWithin(trace, own,
                                {false, size, {{position, position + 1}}}));
  }
  setCovers(trace, value, covers);
  return llvm::Error::success();
}

} // namespace cp
