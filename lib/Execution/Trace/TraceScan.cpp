//===- TraceScan.cpp - Summaries over ranks on ids --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tracer.h"

using namespace mlir;

namespace cp {
namespace {

/// The summaries of all ranks: decays of one, and states that are one bit each,
/// so that a prefix tells by its bits what it has taken in.
std::vector<CallBuffer> bitsOf(const TracedValue &decay,
                               const TracedValue &state, int64_t parts,
                               ArrayRef<std::vector<int64_t>> groups) {
  CallBuffer ones{decay.shape, {}}, bits{state.shape, {}};
  int64_t count = state.numElements() / state.numBatches();
  for (size_t rank = 0; rank < groups.size(); ++rank) {
    int64_t position = llvm::find(groups[rank], static_cast<int64_t>(rank)) -
                       groups[rank].begin();
    ones.ranks.push_back(
        wordsOfNumbers(std::vector<double>(decay.numElements(), 1)));
    std::vector<double> numbers(state.numElements());
    for (size_t e = 0; e < numbers.size(); ++e)
      numbers[e] = static_cast<double>(
          int64_t(1) << (parts * position +
                         static_cast<int64_t>(e) / count % parts));
    bits.ranks.push_back(wordsOfNumbers(numbers));
  }
  return {ones, bits};
}

/// Gives a result the ids of `source`, or those of the first of each `parts`
/// batch elements, which have the same but for what they cover.
void ofOnePart(const TracedValue &source, int64_t parts, TracedValue &value) {
  value.space = source.space;
  value.ids = source.ids;
  if (parts == 1)
    return;
  size_t count = source.numElements() / source.numBatches();
  for (Plane &plane : value.ids) {
    if (!plane)
      continue;
    auto one = std::make_shared<Words>();
    for (size_t begin = 0; begin < plane->size(); begin += parts * count)
      one->insert(one->end(), plane->begin() + begin,
                  plane->begin() + begin + count);
    plane = one;
  }
}

/// Lets each batch element cover what its word says, on one more rank.
void coverBatches(TracedValue &value, ArrayRef<int64_t> words) {
  auto plane = std::make_shared<Words>(value.numElements());
  for (size_t e = 0; e < plane->size(); ++e)
    (*plane)[e] =
        words[value.shape.empty() ? 0 : e * words.size() / plane->size()];
  value.covers.push_back(plane);
}

} // namespace

std::vector<int64_t> OpTrace::ownCovers(int64_t rank) {
  NamedValue decay{"the decay", &operand(0u)}, state{"the state", &operand(1u)};
  std::vector<int64_t> words;
  for (int64_t batch = 0; batch < state.value->numBatches(); ++batch) {
    int64_t word = coverOf(state, rank, batch).value_or(0);
    int64_t other = decay.value->shape.empty()
                        ? word
                        : coverOf(decay, rank, batch).value_or(0);
    if (word > 0 && other > 0 && word != other)
      report(rank, "decay and state do not cover the same tokens");
    words.push_back(word);
  }
  return words;
}

int64_t OpTrace::coverOfBits(uint64_t bits, int64_t parts, int64_t batch,
                             ArrayRef<int64_t> group,
                             ArrayRef<std::vector<int64_t>> own, int64_t rank) {
  std::vector<std::pair<int64_t, int64_t>> all;
  for (int64_t part = 0; bits >> part; ++part) {
    if (!(bits >> part & 1))
      continue;
    if (part / parts >= static_cast<int64_t>(group.size()))
      return unknownId;
    int64_t word =
        own[group[part / parts]][batch / parts * parts + part % parts];
    if (word <= 0)
      return unknownId;
    llvm::append_range(all, tracer.covers[word].intervals);
  }
  auto run = joined(all);
  if (run)
    return tracer.covers.wordOf({true, 0, *run});
  report(rank, "takes in the same tokens twice");
  return unknownId;
}

llvm::Error OpTrace::scanState() {
  auto scan = cast<ScanStateOp>(op);
  const TracedValue &decay = operand(0u), &state = operand(1u);
  auto groups = groupsOf(op);
  int64_t parts = *partsPerRank(scan.toCuts()), batches = state.numBatches();
  int64_t most = parts * static_cast<int64_t>(groups.front().size());
  // So many integers does a double tell apart.
  if (most > 52)
    return llvm::createStringError(
        "cp.scan_state over " + std::to_string(most) +
        " parts, but at most 52 can be traced; use fewer ranks");
  auto prefixes = tracer.world.call(scan, bitsOf(decay, state, parts, groups),
                                    /*asDoubles=*/true);
  if (!prefixes)
    return prefixes.takeError();
  std::vector<std::vector<int64_t>> own;
  for (int64_t rank = 0; rank < numRanks(); ++rank)
    own.push_back(ownCovers(rank));
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    ofOnePart(operand(i % 2), i < 2 ? 1 : parts, result(i));
  for (int64_t rank = 0; rank < numRanks(); ++rank)
    for (unsigned first = 0; first < op->getNumResults(); first += 2) {
      // A total has one batch element for all parts.
      int64_t step = first == 0 ? 1 : parts;
      std::vector<double> numbers =
          numbersOfWords((*prefixes)[first + 1].ranks[rank]);
      int64_t count = static_cast<int64_t>(numbers.size()) * step / batches;
      std::vector<int64_t> words;
      for (int64_t batch = 0; batch < batches; batch += step)
        words.push_back(
            coverOfBits(static_cast<uint64_t>(numbers[batch / step * count]),
                        parts, batch, groups[rank], own, rank));
      coverBatches(result(first), words);
      coverBatches(result(first + 1), words);
    }
  return llvm::Error::success();
}

} // namespace cp
