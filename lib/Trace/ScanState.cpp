//===- ScanState.cpp - Summaries over ranks on ids --------------*- C++ -*-===//
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
namespace {

/// So many integers does a double tell apart.
constexpr int64_t mostParts = 52;

/// Who takes part in a scan over ranks.
struct Scan {
  explicit Scan(ScanStateOp op)
      : op(op), groups(groupsOf(op)), parts(*partsPerRank(op.toCuts())),
        tensors(op.getSummary().size()) {}

  int64_t numParts() const {
    return parts * static_cast<int64_t>(groups.front().size());
  }
  /// Whether a tensor of the summary is what a pair's state is multiplied by.
  bool isDecay(unsigned tensor) { return !op.getCombine() && tensor == 0; }
  /// The elements of dimension 0 that may be of different tokens: one where a
  /// summary is one unit, whatever the sizes of its tensors.
  int64_t batches(OpTrace &trace) {
    bool isOneUnit = op.getCombine() && op.getUnitDims() == 0;
    return isOneUnit ? 1 : trace.operand(tensors - 1).numBatches();
  }
  /// What batch element `batch` of a tensor covers on a rank.
  int64_t coverOfBatch(OpTrace &trace, unsigned tensor, int64_t rank,
                       int64_t batch) {
    NamedValue named = summary(trace, tensor);
    if (batches(trace) == named.value->numBatches())
      return coverOf(trace, named, rank, batch).value_or(0);
    // All of it is of the same tokens, as a scalar is.
    int64_t word = coverOf(trace, named, rank, 0).value_or(0);
    for (int64_t i = 1; i < named.value->numBatches(); ++i)
      if (coverOf(trace, named, rank, i).value_or(word) != word)
        return unknownId;
    return word;
  }
  /// "the decay", "operand 2".
  NamedValue summary(OpTrace &trace, unsigned tensor) {
    if (op.getCombine())
      return {"operand " + std::to_string(tensor), &trace.operand(tensor)};
    return {tensor == 0 ? "the decay" : "the state", &trace.operand(tensor)};
  }

  ScanStateOp op;
  std::vector<std::vector<int64_t>> groups;
  /// How many parts a rank has.
  int64_t parts;
  unsigned tensors;
};

/// One tensor of the summaries of all ranks: decays of one, and all others one
/// bit a part, so that a prefix tells by its bits what it has taken in.
CallBuffer bitsOf(const Scan &scan, const TracedValue &value, bool isDecay) {
  CallBuffer buffer{value.shape, {}};
  int64_t count = value.numElements() / value.numBatches();
  for (size_t rank = 0; rank < scan.groups.size(); ++rank) {
    const std::vector<int64_t> &group = scan.groups[rank];
    int64_t position =
        llvm::find(group, static_cast<int64_t>(rank)) - group.begin();
    std::vector<double> numbers(value.numElements(), 1);
    for (size_t e = 0; !isDecay && e < numbers.size(); ++e)
      numbers[e] = static_cast<double>(
          int64_t(1) << (scan.parts * position +
                         static_cast<int64_t>(e) / count % scan.parts));
    buffer.ranks.push_back(wordsOfNumbers(numbers));
  }
  return buffer;
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

/// What a rank brings, per element of dimension 0: all tensors the same.
std::vector<int64_t> ownCovers(OpTrace &trace, Scan &scan, int64_t rank) {
  std::vector<int64_t> words;
  for (int64_t batch = 0, e = scan.batches(trace); batch < e; ++batch) {
    int64_t word = scan.coverOfBatch(trace, scan.tensors - 1, rank, batch);
    for (unsigned i = 0; i + 1 < scan.tensors; ++i) {
      // A scalar decay is of all batch elements.
      if (scan.isDecay(i) && trace.operand(i).shape.empty())
        continue;
      int64_t other = scan.coverOfBatch(trace, i, rank, batch);
      if (word > 0 && other > 0 && word != other)
        trace.report(rank,
                     scan.op.getCombine()
                         ? "operand " + std::to_string(i) + " and operand " +
                               std::to_string(scan.tensors - 1) +
                               " do not cover the same tokens"
                         : "decay and state do not cover the same tokens");
    }
    words.push_back(word);
  }
  return words;
}

/// What a prefix covers that has taken in the parts whose bits are set.
int64_t coverOfBits(OpTrace &trace, const Scan &scan, uint64_t bits,
                    int64_t batch, ArrayRef<std::vector<int64_t>> own,
                    int64_t rank) {
  ArrayRef<int64_t> group = scan.groups[rank];
  std::vector<std::pair<int64_t, int64_t>> all;
  for (int64_t part = 0; bits >> part; ++part) {
    if (!(bits >> part & 1))
      continue;
    if (part / scan.parts >= static_cast<int64_t>(group.size()))
      return unknownId;
    int64_t word = own[group[part / scan.parts]]
                      [batch / scan.parts * scan.parts + part % scan.parts];
    if (word <= 0)
      return unknownId;
    llvm::append_range(all, trace.covers()[word].intervals);
  }
  auto run = joined(all);
  if (run)
    return trace.covers().wordOf({true, 0, *run});
  trace.report(rank, "takes in the same tokens twice");
  return unknownId;
}

/// Gives the results from `first` on, a prefix or a total, the covers that
/// their bits say.
void setCovers(OpTrace &trace, Scan &scan, unsigned first,
               const CallBuffer &bits, ArrayRef<std::vector<int64_t>> own) {
  int64_t batches = scan.batches(trace);
  // A total has one batch element for all parts.
  int64_t step = first == 0 ? 1 : scan.parts;
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    std::vector<double> numbers = numbersOfWords(bits.ranks[rank]);
    int64_t count = static_cast<int64_t>(numbers.size()) * step / batches;
    std::vector<int64_t> words;
    for (int64_t batch = 0; batch < batches; batch += step)
      words.push_back(coverOfBits(
          trace, scan, static_cast<uint64_t>(numbers[batch / step * count]),
          batch, own, rank));
    for (unsigned i = 0; i < scan.tensors; ++i)
      coverBatches(trace.result(first + i), words);
  }
}

} // namespace

llvm::Error traceScanState(OpTrace &trace, ScanStateOp op) {
  Scan scan(op);
  if (scan.numParts() > mostParts)
    return llvm::createStringError(
        "cp.scan_state over " + std::to_string(scan.numParts()) +
        " parts, but at most " + std::to_string(mostParts) +
        " can be traced; use fewer ranks");
  std::vector<CallBuffer> inputs;
  for (unsigned i = 0; i < scan.tensors; ++i)
    inputs.push_back(bitsOf(scan, trace.operand(i), scan.isDecay(i)));
  auto sums = worldOf(trace).call(op, inputs, /*asDoubles=*/true);
  if (!sums)
    return sums.takeError();
  std::vector<std::vector<int64_t>> own;
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank)
    own.push_back(ownCovers(trace, scan, rank));
  unsigned results = op->getNumResults();
  for (unsigned i = 0; i < results; ++i)
    ofOnePart(trace.operand(i % scan.tensors),
              i < scan.tensors ? 1 : scan.parts, trace.result(i));
  for (unsigned first = 0; first < results; first += scan.tensors)
    setCovers(trace, scan, first, (*sums)[first + scan.tensors - 1], own);
  return llvm::Error::success();
}

} // namespace cp
