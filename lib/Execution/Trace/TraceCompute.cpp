//===- TraceCompute.cpp - Ops by the rule of their dimensions ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tracer.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace cp {
namespace {

/// Which dimensions of an op run over one index, by numbers; -1 for one that
/// runs over none.
struct Correspondence {
  SmallVector<SmallVector<int64_t>> operands, results;
  SmallVector<Use> uses;
  /// Indices that are summed, and whether it is a sum.
  SmallVector<int64_t> reductions;
  bool sums = false;
  /// Indices whose number the op computes with.
  SmallVector<int64_t> counted;
  int64_t size = 0;
};

SmallVector<int64_t> indicesOf(AffineMap map) {
  SmallVector<int64_t> indices;
  for (AffineExpr expr : map.getResults()) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    indices.push_back(loop ? static_cast<int64_t>(loop.getPosition()) : -1);
  }
  return indices;
}

/// Loops are indices, those too that a rank must run in full.
void fromMaps(linalg::LinalgOp op, Correspondence &found) {
  for (OpOperand &operand : op->getOpOperands())
    found.operands.push_back(indicesOf(op.getMatchingIndexingMap(&operand)));
  for (OpOperand &init : op.getDpsInitsMutable())
    found.results.push_back(indicesOf(op.getMatchingIndexingMap(&init)));
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      found.reductions.push_back(loop);
  op->walk(
      [&](linalg::IndexOp index) { found.counted.push_back(index.getDim()); });
  found.size = op.getNumLoops();
}

/// x and gate alike, weight along the last dimension.
void fromNorm(RmsNormOp op, Correspondence &found) {
  int64_t rank = op.getX().getType().getRank();
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  found.operands.push_back(all);
  if (op.getWeight())
    found.operands.push_back({rank - 1});
  if (op.getGate())
    found.operands.push_back(all);
  found.results.push_back(all);
  found.size = rank;
}

/// An index for each list of factors that a dimension runs over.
void fromRule(const ShardingRule &rule, Correspondence &found) {
  std::map<std::vector<int64_t>, int64_t> numbers;
  auto read = [&](ArrayRef<TensorFactors> tensors,
                  SmallVector<SmallVector<int64_t>> &into) {
    for (const TensorFactors &dims : tensors) {
      SmallVector<int64_t> &indices = into.emplace_back();
      for (const DimFactors &factors : dims)
        indices.push_back(
            factors.empty() ? -1
                            : numbers
                                  .try_emplace({factors.begin(), factors.end()},
                                               numbers.size())
                                  .first->second);
    }
  };
  read(rule.operands, found.operands);
  read(rule.results, found.results);
  found.size = numbers.size();
  for (auto &[factors, number] : numbers)
    if (llvm::all_of(factors, [&](int64_t f) { return rule.isReduction(f); }))
      found.reductions.push_back(number);
}

FailureOr<Correspondence> correspondenceOf(Operation *op) {
  Correspondence found;
  FailureOr<ShardingRule> rule =
      cast<ShardingRuleOpInterface>(op).getShardingRule();
  if (failed(rule))
    return failure();
  found.uses = rule->uses;
  found.uses.resize(op->getNumOperands(), Use::Other);
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    fromMaps(structured, found);
  else if (auto norm = dyn_cast<RmsNormOp>(op))
    fromNorm(norm, found);
  else if (isa<EmbeddingOp>(op))
    found.operands = {{0, 1}, {2, 3}}, found.results = {{0, 1, 3}},
    found.counted = {2}, found.size = 4;
  else
    fromRule(*rule, found);
  found.sums =
      llvm::all_of(found.uses, [](Use use) { return use != Use::Other; });
  return found;
}

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
    do
      sizes.push_back(space.wholeSize(end++));
    while (++dim < shape.size() && indices[dim] >= 0 &&
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

void OpTrace::compute() {
  FailureOr<Correspondence> found = correspondenceOf(op);
  if (failed(found))
    return setUnknown();
  SmallVector<const TracedValue *> operands;
  SmallVector<NamedValue> names;
  SmallVector<IndexSource> sources(found->size);
  bool hasIds = false;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    operands.push_back(&operand(i));
    names.push_back({"operand " + std::to_string(i), operands[i]});
    if (!operands[i]->space || found->uses[i] == Use::Unread)
      continue;
    hasIds = true;
    for (auto [dim, index] : llvm::enumerate(found->operands[i]))
      if (index >= 0 && sources[index].operand < 0)
        sources[index] = {static_cast<int64_t>(i), dim};
  }
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    result(i);
  if (!hasIds)
    return;
  // Sums that are not complete, or states, may pass ops of one operand only, or
  // those that are linear in them.
  std::vector<std::vector<Plane>> passed;
  SmallVector<std::optional<int64_t>> carried(numRanks());
  for (auto [i, value] : llvm::enumerate(operands)) {
    if (value->covers.empty() || found->uses[i] == Use::Unread)
      continue;
    bool alone = llvm::count_if(operands, [](const TracedValue *other) {
                   return other->space != nullptr;
                 }) == 1;
    if (found->uses[i] == Use::Other) {
      bool isRun = llvm::any_of(*value->coversOf(0), [&](int64_t word) {
        return word > 0 && tracer.covers[word].isRun;
      });
      if (isRun && alone && op->getNumResults() == 1) {
        sameStructure(0, *value);
        result(0).covers = value->covers;
        return;
      }
      if (!isRun)
        checkPlain(names[i]);
      ++tracer.trace.untraced[op->getName().getStringRef().str()];
      return setUnknown();
    }
    for (int64_t rank = 0; rank < numRanks(); ++rank) {
      std::optional<int64_t> word;
      for (int64_t batch = 0; batch < value->shape[0]; ++batch)
        word = coverOf(names[i], rank, batch);
      if (carried[rank] && word && carried[rank] != word)
        report(rank, names[i].name + ": is a sum over other terms than another "
                                     "operand");
      if (word)
        carried[rank] = word;
    }
  }
  // What is a term beside a sum that is not complete must be one too.
  for (auto [i, value] : llvm::enumerate(operands))
    if (found->uses[i] == Use::Term && value->space && value->covers.empty())
      for (int64_t rank = 0; rank < numRanks(); ++rank)
        if (carried[rank].value_or(0) > 0) {
          report(rank, names[i].name + ": is added to a sum over " +
                           textOf(tracer.covers[*carried[rank]].intervals) +
                           " of " +
                           std::to_string(tracer.covers[*carried[rank]].size) +
                           " terms only, so that every rank adds it");
          break;
        }
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    result(i).space = std::make_shared<IdSpace>(
        spaceOf(found->results[i], result(i).shape, sources, operands));
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    SmallVector<Digits> known(found->size);
    for (auto [index, source] : llvm::enumerate(sources)) {
      if (source.operand < 0)
        continue;
      const NamedValue &first = names[source.operand];
      known[index] = along(first, rank, source.dim, source.dim);
      for (auto [i, dims] : llvm::enumerate(found->operands))
        for (auto [dim, other] : llvm::enumerate(dims))
          if (other == static_cast<int64_t>(index) && operands[i]->space &&
              found->uses[i] != Use::Unread &&
              (static_cast<int64_t>(i) != source.operand ||
               dim != source.dim)) {
            checkSame(first, source.dim, names[i], dim, rank);
            Digits more = along(names[i], rank, dim, dim);
            for (auto [to, from] : llvm::zip(known[index].at, more.at))
              to = to == Digits::none ? from : to;
          }
    }
    for (int64_t index : found->counted)
      for (auto [i, digit] : llvm::enumerate(known[index].at))
        if (digit >= 0 && digit != static_cast<int64_t>(i)) {
          report(rank, "counts index " + std::to_string(i) + " of " +
                           names[sources[index].operand].name +
                           "'s dimension " +
                           std::to_string(sources[index].dim) +
                           " from 0, but it holds " + std::to_string(digit));
          break;
        }
    if (auto norm = dyn_cast<RmsNormOp>(op))
      if (auto broken = brokenGroup(known.back(), norm.getGroups()))
        report(rank, *broken);
    int64_t cover = carried[rank].value_or(0);
    for (int64_t index : found->reductions) {
      const Digits &digits = known[index];
      if (sources[index].operand < 0 ||
          llvm::any_of(digits.at, [](int64_t digit) { return digit < 0; }))
        continue;
      auto intervals = intervalsOf(digits.at);
      std::string of = " of dimension " + std::to_string(sources[index].dim) +
                       " of " + names[sources[index].operand].name;
      if (!intervals) {
        report(rank, "sums the same index twice," + of);
        cover = unknownId;
      } else if (static_cast<int64_t>(digits.at.size()) == digits.size) {
        continue;
      } else if (!found->sums) {
        report(rank, "works on " + textOf(*intervals) + of +
                         " instead of all " + std::to_string(digits.size));
      } else {
        cover = cover == 0
                    ? tracer.covers.wordOf({false, digits.size, *intervals})
                    : unknownId;
      }
    }
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      TracedValue &value = result(i);
      auto words = std::make_shared<Words>(value.numElements());
      for (size_t e = 0; e < words->size(); ++e) {
        int64_t rest = static_cast<int64_t>(e), number = 0, word = 1;
        for (size_t dim = value.shape.size(); dim-- > 0;) {
          int64_t local = rest % value.shape[dim];
          rest /= value.shape[dim];
          int64_t index = found->results[i][dim];
          int64_t digit = index < 0 || sources[index].operand < 0
                              ? local
                              : known[index].at[local];
          if (digit == Digits::none)
            word = std::min(word, noId);
          if (digit == Digits::unknown)
            word = unknownId;
          number += digit * value.space->strides[dim + 1];
        }
        (*words)[e] = word == 1 ? number + 1 : word;
      }
      value.ids.push_back(words);
      if (cover != 0)
        value.covers.resize(numRanks());
      if (cover != 0)
        value.covers[rank] = std::make_shared<Words>(words->size(), cover);
    }
  }
}

} // namespace cp
