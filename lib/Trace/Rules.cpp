//===- Rules.cpp - Which dimensions correspond ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <map>

using namespace mlir;

namespace cp {
namespace {

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
  SmallVector<int64_t> reductions;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      reductions.push_back(static_cast<int64_t>(loop));
  found.reductions.assign(found.results.size(), reductions);
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
  found.reductions.resize(1);
  found.size = rank;
}

/// Of all these, and dweight a sum over all but the last dimension.
void fromNormGrad(RmsNormGradOp op, Correspondence &found) {
  int64_t rank = op.getX().getType().getRank();
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  found.operands = {all, all};
  if (op.getWeight())
    found.operands.push_back({rank - 1});
  if (op.getGate())
    found.operands.push_back(all);
  found.results = {all, {rank - 1}};
  found.reductions = {{}, llvm::to_vector(llvm::seq<int64_t>(0, rank - 1))};
  if (op.getDgate()) {
    found.results.push_back(all);
    found.reductions.emplace_back();
  }
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
  for (size_t i = 0; i < rule.results.size(); ++i) {
    SmallVector<int64_t> &reductions = found.reductions.emplace_back();
    for (auto &[factors, number] : numbers)
      if (llvm::all_of(factors, [&](int64_t factor) {
            return llvm::is_contained(rule.sumsOf(i), factor);
          }))
        reductions.push_back(number);
  }
}

} // namespace

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
  else if (auto normGrad = dyn_cast<RmsNormGradOp>(op))
    fromNormGrad(normGrad, found);
  else if (isa<EmbeddingOp>(op))
    found.operands = {{0, 1}, {2, 3}}, found.results = {{0, 1, 3}},
    found.reductions.resize(1), found.counted = {2}, found.size = 4;
  else
    fromRule(*rule, found);
  // What the terms are made of, and how, does not matter to their sum.
  found.sums =
      llvm::any_of(rule->sums,
                   [](const auto &sums) { return !sums.empty(); }) ||
      llvm::all_of(found.uses, [](Use use) { return use != Use::Other; });
  return found;
}

} // namespace cp
