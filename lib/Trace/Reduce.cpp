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
    if (sum.size != 0 && sum.size != cover.size)
      return unknownId;
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

namespace {
/// One of the tensors that a reduction adds up, from operand `number` to the
/// result of that number.
class Summand {
public:
  using Groups = std::vector<std::vector<int64_t>>;

  Summand(OpTrace &trace, unsigned number, const Groups &groups)
      : trace(trace), source(trace.operand(number)), number(number),
        groups(groups) {}

  /// The ids of each rank as numbers, whose mean is that id where all are
  /// equal, whoever adds them up. Constants, and what is unknown, have none.
  CallBuffer terms() {
    CallBuffer ids{source.shape, {}};
    for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
      if (!source.space) {
        ids.ranks.push_back(wordsOfNumbers(std::vector<double>(
            ShapedType::getNumElements(source.shape), 0.0)));
        continue;
      }
      if (auto unlike = unlikeIn(source, groups[rank], rank))
        trace.report(rank, *unlike);
      words.push_back(coverOfAll(trace, {"the source", &source}, rank));
      Plane plane = source.idsOf(rank);
      ids.ranks.push_back(
          wordsOfNumbers(std::vector<double>(plane->begin(), plane->end())));
    }
    return ids;
  }

  /// What the sums are of, and what they cover.
  void setResult(const CallBuffer &sums) {
    TracedValue &value = trace.result(number);
    value.isUnknown = source.isUnknown;
    if (!source.space)
      return;
    value.space = source.space;
    for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
      auto size = static_cast<int64_t>(groups[rank].size());
      auto plane = std::make_shared<Words>();
      for (double sum : numbersOfWords(sums.ranks[rank])) {
        int64_t total = static_cast<int64_t>(sum);
        plane->push_back(total % size ? unknownId : total / size);
      }
      SmallVector<int64_t> ofGroup;
      for (int64_t other : groups[rank])
        ofGroup.push_back(words[other]);
      int64_t word = coverOfSum(trace, ofGroup, rank);
      if (word != 0) {
        value.covers.resize(trace.numRanks());
        value.covers[rank] = std::make_shared<Words>(plane->size(), word);
      }
      value.ids.push_back(std::move(plane));
    }
  }

private:
  OpTrace &trace;
  const TracedValue &source;
  unsigned number;
  const Groups &groups;
  /// What the term of each rank covers.
  SmallVector<int64_t> words;
};
} // namespace

llvm::Error traceReduce(OpTrace &trace, RuntimeOpInterface op) {
  auto groups = groupsOf(op);
  std::vector<Summand> summands;
  std::vector<CallBuffer> terms;
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    summands.emplace_back(trace, i, groups);
    terms.push_back(summands.back().terms());
  }
  auto sums = worldOf(trace).call(op, terms, /*asDoubles=*/true);
  if (!sums)
    return sums.takeError();
  for (auto [summand, sum] : llvm::zip_equal(summands, *sums))
    summand.setResult(sum);
  return llvm::Error::success();
}

} // namespace cp
