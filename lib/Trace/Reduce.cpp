//===- Reduce.cpp - Sums over ranks on ids ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Models.h"
#include "Tracer.h"
#include "cp/Trace/Runs.h"

using namespace mlir;

namespace cp {

/// The first element at which ranks that add theirs do not hold the same one.
static std::optional<std::string> unlikeIn(const TracedValue &value,
                                           const std::vector<int64_t> &group,
                                           int64_t rank) {
  Plane own = value.idsOf(rank), first = value.idsOf(group.front());
  for (size_t i = 0; i < own->size(); ++i)
    if ((*own)[i] > 0 && (*first)[i] > 0 && (*own)[i] != (*first)[i]) {
      const IdSpace &space = *value.space;
      for (size_t dim = 0; dim < value.shape.size(); ++dim) {
        int64_t stride = space.strides[dim + 1], size = space.wholeSize(dim);
        int64_t a = ((*own)[i] - 1) / stride % size;
        int64_t b = ((*first)[i] - 1) / stride % size;
        if (a != b)
          return "adds an element of " + std::to_string(a) + " in dimension " +
                 std::to_string(dim) + " to one of " + std::to_string(b) +
                 " on rank " + std::to_string(group.front());
      }
    }
  return std::nullopt;
}

/// The one cover of all elements of a rank; unknownId where they differ.
static int64_t coverOfAll(OpTrace &trace, const NamedValue &named,
                          int64_t rank) {
  int64_t word = 0;
  for (int64_t batch = 0; batch < named.value->numBatches(); ++batch) {
    int64_t next = coverOf(trace, named, rank, batch).value_or(word);
    if (batch > 0 && next != word)
      return unknownId;
    word = next;
  }
  return word;
}

/// What the sum of the ranks' terms, each of such a cover, covers.
static int64_t coverOfSum(OpTrace &trace, ArrayRef<int64_t> terms,
                          int64_t rank) {
  if (llvm::is_contained(terms, unknownId))
    return unknownId;
  Cover sum;
  for (int64_t word : terms) {
    if (word == 0)
      continue;
    const Cover &cover = trace.covers()[word];
    sum.size = cover.size;
    llvm::append_range(sum.intervals, cover.intervals);
  }
  if (sum.intervals.empty()) {
    if (terms.size() > 1)
      trace.report(rank, "adds up what is whole on each of " +
                             std::to_string(terms.size()) + " ranks already");
    return 0;
  }
  auto all = joined(sum.intervals);
  if (!all || llvm::is_contained(terms, 0)) {
    trace.report(rank, all ? "adds what is whole to sums that are not"
                           : "adds the same terms twice");
    return unknownId;
  }
  sum.intervals = *all;
  bool isComplete = sum.intervals.size() == 1 &&
                    sum.intervals[0] == std::make_pair(int64_t(0), sum.size);
  return isComplete ? 0 : trace.covers().wordOf(sum);
}

llvm::Error traceReduce(OpTrace &trace, RuntimeOpInterface op) {
  const TracedValue &source = trace.operand(0u);
  auto groups = groupsOf(op);
  TracedValue &value = trace.result(0);
  if (source.isConstant())
    return llvm::Error::success();
  // The mean of equal ids is that id, whoever adds them up.
  CallBuffer ids{source.shape, {}};
  SmallVector<int64_t> words;
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    if (auto unlike = unlikeIn(source, groups[rank], rank))
      trace.report(rank, *unlike);
    words.push_back(coverOfAll(trace, {"the source", &source}, rank));
    Plane plane = source.idsOf(rank);
    ids.ranks.push_back(
        wordsOfNumbers(std::vector<double>(plane->begin(), plane->end())));
  }
  auto sums = worldOf(trace).call(op, {ids},
                                  /*asDoubles=*/true);
  if (!sums)
    return sums.takeError();
  value.space = source.space;
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    auto size = static_cast<int64_t>(groups[rank].size());
    auto plane = std::make_shared<Words>();
    for (double sum : numbersOfWords(sums->front().ranks[rank])) {
      int64_t total = static_cast<int64_t>(sum);
      plane->push_back(total % size ? unknownId : total / size);
    }
    SmallVector<int64_t> terms;
    for (int64_t other : groups[rank])
      terms.push_back(words[other]);
    int64_t word = coverOfSum(trace, terms, rank);
    if (word != 0) {
      value.covers.resize(trace.numRanks());
      value.covers[rank] = std::make_shared<Words>(plane->size(), word);
    }
    value.ids.push_back(std::move(plane));
  }
  return llvm::Error::success();
}

} // namespace cp
