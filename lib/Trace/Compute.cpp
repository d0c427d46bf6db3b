//===- Compute.cpp - Ops by the rule of their dimensions --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gradients.h"
#include "Models.h"
#include "Rules.h"
#include "cp/Trace/Runs.h"
#include "llvm/ADT/SetVector.h"

#include <numeric>

using namespace mlir;

namespace cp {
namespace {

/// Where an index is read: the first operand that has ids along it.
struct IndexSource {
  int64_t operand = -1;
  size_t dim = 0;
};

/// The space of a result: runs of dimensions that stand so in one operand keep
/// that one's borders.
IdSpace spaceOf(ArrayRef<int64_t> indices, ArrayRef<int64_t> shape,
                ArrayRef<IndexSource> sources,
                ArrayRef<const TracedValue *> operands) {
  SmallVector<int64_t> sizes, base;
  for (size_t dim = 0; dim < shape.size();) {
    IndexSource source =
        indices[dim] < 0 ? IndexSource() : sources[indices[dim]];
    if (source.operand < 0) {
      sizes.push_back(shape[dim]);
      base.push_back(shape[dim++]);
      continue;
    }
    const IdSpace &space = *operands[source.operand]->space;
    size_t end = source.dim;
    do {
      sizes.push_back(space.wholeSize(end++));
      ++dim;
    } while (dim < shape.size() && indices[dim] >= 0 &&
             sources[indices[dim]].operand == source.operand &&
             sources[indices[dim]].dim == end);
    llvm::append_range(base, space.sizesBetween(space.strides[source.dim],
                                                space.strides[end]));
  }
  IdSpace result = IdSpace::of(sizes);
  result.sizes = base;
  return result;
}

} // namespace

/// Each norm group is a whole, aligned part of the channels.
static std::optional<std::string> brokenGroup(const Digits &digits,
                                              int64_t groups) {
  int64_t size = static_cast<int64_t>(digits.at.size()) / groups;
  for (int64_t i = 0; i < size * groups; ++i) {
    int64_t first = digits.at[i / size * size];
    if (digits.at[i] < 0 || first < 0 || digits.at[i] / size == first / size)
      continue;
    return "x: index " + std::to_string(i) + " of the last dimension holds " +
           std::to_string(digits.at[i]) + ", which is in another group of " +
           std::to_string(size) + " than " + std::to_string(first);
  }
  return std::nullopt;
}

/// An op that computes, on all ranks.
class ComputeTrace {
public:
  ComputeTrace(OpTrace &trace, Correspondence found)
      : trace(trace), op(trace.getOperation()), found(std::move(found)),
        sources(this->found.size), carried(trace.numRanks(), 0) {
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      operands.push_back(&trace.operand(i));
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      names.push_back({"operand " + std::to_string(i), operands[i]});
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      for (auto [dim, index] : llvm::enumerate(this->found.operands[i]))
        if (isRead(i) && index >= 0 && sources[index].operand < 0)
          sources[index] = {static_cast<int64_t>(i), dim};
  }

  void run() {
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      trace.result(i);
    auto all = llvm::seq<size_t>(0, operands.size());
    if (llvm::none_of(all, [&](size_t i) { return isRead(i); }) ||
        passStates() || !collectSums())
      return;
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      trace.result(i).space = std::make_shared<IdSpace>(
          spaceOf(found.results[i], trace.result(i).shape, sources, operands));
    for (int64_t rank = 0; rank < trace.numRanks(); ++rank)
      runOn(rank);
  }

private:
  /// Whether there are ids that the op reads.
  bool isRead(size_t operand) const {
    return operands[operand]->space && found.uses[operand] != Use::Unread;
  }

  /// States pass ops of one operand, such as casts; what becomes of them in
  /// others is not known. Gives whether there are any.
  bool passStates() {
    auto holdsStates = [&](const TracedValue *value) {
      return !value->covers.empty() &&
             llvm::any_of(*value->coversOf(0), [&](int64_t word) {
               return word > 0 && trace.covers()[word].isRun;
             });
    };
    if (llvm::none_of(operands, holdsStates))
      return false;
    if (operands.size() > 1 || op->getNumResults() > 1) {
      trace.giveUp();
      return true;
    }
    sameStructure(trace, 0, *operands[0]);
    trace.result(0).covers = operands[0]->covers;
    return true;
  }

  /// Sums that are not complete pass what is linear in them. False where
  /// nothing more can be said.
  bool collectSums() {
    int64_t factors = 0;
    for (auto [i, value] : llvm::enumerate(operands)) {
      if (value->covers.empty() || found.uses[i] == Use::Unread)
        continue;
      factors += found.uses[i] == Use::Additive;
      if (found.uses[i] == Use::Other) {
        checkPlain(trace, names[i]);
        trace.giveUp();
        return false;
      }
      carry(names[i]);
    }
    for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
      if (carried[rank] > 0 && factors > 1)
        trace.report(rank, "multiplies two sums of which neither is complete");
      for (auto [i, value] : llvm::enumerate(operands))
        if (carried[rank] > 0 && found.uses[i] == Use::Term && value->space &&
            value->covers.empty())
          trace.report(rank, names[i].name + ": is added to " +
                                 sumText(carried[rank]) +
                                 ", so that every rank adds it");
    }
    return true;
  }

  std::string sumText(int64_t word) const {
    const Cover &cover = trace.covers()[word];
    return "a sum over " + textOf(cover.intervals) + " of " +
           std::to_string(cover.size) + " terms only";
  }

  /// Whether two sums lack the same: as sums over other numbers of channels do
  /// that are cut alike.
  bool isSameShare(int64_t a, int64_t b) const {
    return a == b || reduced(trace.covers()[a]) == reduced(trace.covers()[b]);
  }
  /// Whether ranks' sums, of these covers, become whole where all that differ
  /// are added up.
  bool becomesWhole(ArrayRef<int64_t> words) const {
    std::vector<std::pair<int64_t, int64_t>> all;
    int64_t size = 0;
    for (int64_t word :
         llvm::SmallSetVector<int64_t, 8>(words.begin(), words.end())) {
      if (word <= 0)
        return false;
      const Cover &cover = trace.covers()[word];
      llvm::append_range(all, cover.intervals);
      size = cover.size;
    }
    auto sum = joined(all);
    return sum && sum->size() == 1 &&
           sum->front() == std::pair(int64_t(0), size);
  }
  /// Whether the same exchange makes both whole: of each rank's own tokens in
  /// one order, say, and of those in another. Then either stands for both.
  bool becomeWholeTogether(ArrayRef<int64_t> a, ArrayRef<int64_t> b) const {
    for (size_t i = 0; i < a.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if ((a[i] == a[j]) != (b[i] == b[j]))
          return false;
    return becomesWhole(a) && becomesWhole(b);
  }
  /// The intervals, and the size behind them, as small as they can be.
  static std::vector<std::pair<int64_t, int64_t>> reduced(const Cover &cover) {
    auto shares = cover.intervals;
    shares.push_back({0, cover.size});
    int64_t common = 0;
    for (auto [begin, end] : shares)
      common = std::gcd(common, std::gcd(begin, end));
    for (auto &[begin, end] : shares) {
      begin /= std::max<int64_t>(common, 1);
      end /= std::max<int64_t>(common, 1);
    }
    return shares;
  }

  /// What an operand covers on a rank.
  int64_t wordOf(const NamedValue &named, int64_t rank) {
    int64_t word = 0;
    for (int64_t batch = 0; batch < named.value->numBatches(); ++batch) {
      int64_t next = coverOf(trace, named, rank, batch).value_or(0);
      if (word > 0 && next > 0 && word != next) {
        trace.report(rank, named.name +
                               ": its elements do not cover the same tokens");
        return unknownId;
      }
      word = next == 0 ? word : next;
    }
    return word;
  }

  void carry(const NamedValue &named) {
    SmallVector<int64_t> words;
    for (int64_t rank = 0; rank < trace.numRanks(); ++rank)
      words.push_back(wordOf(named, rank));
    bool isTogether = becomeWholeTogether(carried, words);
    for (auto [rank, word] : llvm::enumerate(words)) {
      int64_t &sum = carried[rank];
      if (sum > 0 && word > 0 && !isTogether && !isSameShare(sum, word))
        trace.report(static_cast<int64_t>(rank),
                     named.name + ": is " + sumText(word) + ", beside " +
                         sumText(sum));
      if (sum == 0 || word == unknownId)
        sum = word;
    }
  }

  void runOn(int64_t rank) {
    SmallVector<Digits> known;
    for (int64_t index = 0; index < found.size; ++index)
      known.push_back(read(index, rank));
    for (int64_t index : found.counted)
      checkCounted(index, known[index], rank);
    if (auto norm = dyn_cast<RmsNormOp>(op))
      if (auto broken = brokenGroup(known.back(), norm.getGroups()))
        trace.report(rank, *broken);
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      int64_t cover = carried[rank];
      for (int64_t index : found.reductions[i])
        cover = sumOver(index, known[index], rank, cover);
      write(i, known, rank, cover);
    }
  }

  /// What stands along an index, on which all operands must agree.
  Digits read(int64_t index, int64_t rank) {
    IndexSource source = sources[index];
    if (source.operand < 0)
      return {};
    const NamedValue &first = names[source.operand];
    Digits known = digitsOf(trace, first, rank, source.dim, source.dim);
    for (auto [i, dims] : llvm::enumerate(found.operands))
      for (auto [dim, other] : llvm::enumerate(dims)) {
        bool isFirst =
            static_cast<int64_t>(i) == source.operand && dim == source.dim;
        if (other != index || isFirst || !isRead(i))
          continue;
        // Rows are tokens, in however many parts a rank sees them.
        if (first.value->hasRows && names[i].value->hasRows && dim < 2) {
          if (dim == 0)
            checkSameRows(trace, first, names[i], rank, lengthOf(*first.value));
          continue;
        }
        checkSame(trace, first, source.dim, names[i], dim, rank);
        Digits more = digitsOf(trace, names[i], rank, dim, dim);
        for (auto [to, from] : llvm::zip(known.at, more.at))
          to = to == Digits::none ? from : to;
      }
    return known;
  }

  void checkCounted(int64_t index, const Digits &digits, int64_t rank) {
    IndexSource source = sources[index];
    for (auto [i, digit] : llvm::enumerate(digits.at))
      if (digit >= 0 && digit != static_cast<int64_t>(i))
        return trace.report(
            rank, names[source.operand].name + ": index " + std::to_string(i) +
                      " of dimension " + std::to_string(source.dim) +
                      " holds " + std::to_string(digit) +
                      ", but the op computes with its number here");
  }

  /// The cover of a sum over an index, with what it covers already.
  int64_t sumOver(int64_t index, const Digits &digits, int64_t rank,
                  int64_t cover) {
    IndexSource source = sources[index];
    if (source.operand < 0 ||
        llvm::any_of(digits.at, [](int64_t digit) { return digit < 0; }))
      return cover;
    auto intervals = intervalsOf(digits.at);
    std::string of = " of dimension " + std::to_string(source.dim) + " of " +
                     names[source.operand].name;
    if (!intervals) {
      trace.report(rank, "takes in the same index twice," + of);
      return unknownId;
    }
    if (static_cast<int64_t>(digits.at.size()) == digits.size)
      return cover;
    if (found.sums)
      return carried[rank] == 0
                 ? coverWithin(trace, cover, {false, digits.size, *intervals})
                 : unknownId;
    trace.report(rank, "works on " + textOf(*intervals) + of +
                           " instead of all " + std::to_string(digits.size));
    return cover;
  }

  /// The ids of a result from what stands along its indices.
  void write(unsigned number, ArrayRef<Digits> known, int64_t rank,
             int64_t cover) {
    TracedValue &value = trace.result(number);
    ArrayRef<int64_t> indices = found.results[number];
    auto words = std::make_shared<Words>(value.numElements());
    for (size_t e = 0; e < words->size(); ++e) {
      int64_t rest = static_cast<int64_t>(e), at = 0, least = 0;
      for (size_t dim = value.shape.size(); dim-- > 0;) {
        int64_t local = rest % value.shape[dim];
        rest /= value.shape[dim];
        bool isOwn = indices[dim] < 0 || sources[indices[dim]].operand < 0;
        int64_t digit = isOwn ? local : known[indices[dim]].at[local];
        least = std::min(least, digit);
        at += digit * value.space->strides[dim + 1];
      }
      (*words)[e] = least == Digits::unknown ? unknownId
                    : least == Digits::none  ? noId
                                             : at + 1;
    }
    size_t size = words->size();
    value.ids.push_back(std::move(words));
    if (cover == 0)
      return;
    value.covers.resize(trace.numRanks());
    value.covers[rank] = std::make_shared<Words>(size, cover);
  }

  OpTrace &trace;
  Operation *op;
  Correspondence found;
  /// By index.
  SmallVector<IndexSource> sources;
  SmallVector<const TracedValue *> operands;
  SmallVector<NamedValue> names;
  /// By rank: the cover that operands bring.
  SmallVector<int64_t> carried;
};

void traceCompute(OpTrace &trace) {
  FailureOr<Correspondence> found = correspondenceOf(trace.getOperation());
  if (failed(found))
    return trace.setUnknown();
  ComputeTrace(trace, std::move(*found)).run();
}

} // namespace cp
