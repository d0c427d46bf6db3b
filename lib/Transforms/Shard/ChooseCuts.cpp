//===- ChooseCuts.cpp - How each op is cut --------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutAssigner.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace cp {

std::vector<Cut> LayoutAssigner::ordered(Operation *op,
                                         const std::vector<Cut> &cuts) const {
  return orders.isContiguous(op) ? inContiguousOrder(cuts) : cuts;
}

FactorCuts LayoutAssigner::strategyCuts(SequenceOpInterface op,
                                        const ShardingRule &rule) {
  FactorCuts cuts;
  cuts.factors.resize(rule.sizes.size());
  CutStrategy wanted = sharding.strategyOf(op);
  cuts.factors[op.getSequenceFactor()] =
      ordered(op, sharding.onSequence(wanted));
  std::vector<Cut> hidden = sharding.onHidden(wanted);
  int64_t factor = op.getHiddenFactor();
  // Windows, and what needs all of a sequence, may have channels that ranks do
  // not divide; each then does all of them. Heads have been made to fit.
  if (!hidden.empty() && factor >= 0 &&
      (ShapedType::isDynamic(rule.sizes[factor]) ||
       rule.sizes[factor] % partsOf(mesh, hidden) == 0))
    cuts.factors[factor] = hidden;
  addBatchCut(op, rule, /*mayBePartial=*/true, cuts);
  return cuts;
}

void LayoutAssigner::addBatchCut(Operation *op, const ShardingRule &rule,
                                 bool mayBePartial, FactorCuts &cuts) {
  int64_t batch = factorOf(op, rule, batchDims);
  if (batch >= 0 && cuts.factors[batch].empty() &&
      (mayBePartial || !rule.isReduction(batch)) &&
      rule.sizes[batch] % partsOf(mesh, sharding.batch) == 0)
    cuts.factors[batch] = sharding.batch;
}

/// The weight of a projection, or of its adjoint, which may have it first: what
/// has two dimensions, and no tokens.
static const TensorFactors *
weightOf(Operation *op, const ShardingRule &rule,
         const DenseMap<Value, int64_t> &sequenceDims) {
  for (size_t number : {1, 0})
    if (rule.operands.size() > 1 && rule.operands[number].size() == 2 &&
        !sequenceDims.contains(op->getOperand(number)))
      return &rule.operands[number];
  return nullptr;
}

void LayoutAssigner::addTensorCut(Operation *op, const ShardingRule &rule,
                                  FactorCuts &cuts) {
  auto parallel = op->getAttrOfType<StringAttr>(parallelAttr);
  const TensorFactors *weight = weightOf(op, rule, sequenceDims);
  if (!parallel || sharding.tensorParallel.empty() || !weight)
    return;
  // The weight is [rows out, rows in]. What is repeated behind the projection
  // is fewer groups than ranks, of which each needs some whole.
  bool columns = parallel == "columns";
  const DimFactors &factors = (*weight)[columns ? 0 : 1];
  if (factors.empty() ||
      (columns && llvm::any_of(op->getUsers(), llvm::IsaPred<RepeatOp>)) ||
      (rule.isReduction(factors.front()) && !startsFromZero(op, rule)))
    return;
  // Its input may have come cut over these axes: then it is a sum over them.
  if (llvm::any_of(cuts.factors, [&](ArrayRef<Cut> taken) {
        return llvm::any_of(
            taken, [&](const Cut &cut) { return isTensorAxis(cut.axis); });
      }))
    return;
  std::vector<Cut> &cutsOfFactor = cuts.factors[factors.front()];
  int64_t size = rule.sizes[factors.front()];
  if (cutsOfFactor.empty() &&
      size % partsOf(mesh, sharding.tensorParallel) == 0)
    cutsOfFactor = sharding.tensorParallel;
}

std::vector<Cut> LayoutAssigner::rowsOf(Operation *op, const ShardingRule &rule,
                                        int64_t sequence) {
  if (!sharding.tensorRows)
    return sharding.sequence;
  FactorCuts others;
  others.factors.resize(rule.sizes.size());
  addTensorCut(op, rule, others);
  if (llvm::any_of(others.factors, [](const auto &c) { return !c.empty(); }))
    return sharding.sequence;
  bool areTerms = passedBy(op) == PartialSums::Passed::Sums;
  for (auto [value, dims] : llvm::zip(op->getOperands(), rule.operands)) {
    LayoutAttr attribute = LayoutAttr::of(value.getType());
    Layout layout = attribute ? attribute.toLayout() : Layout();
    for (auto [cuts, factors] : llvm::zip(layout.dims, dims))
      if ((factors.empty() || factors.front() != sequence) &&
          llvm::any_of(cuts,
                       [&](const Cut &cut) { return isTensorAxis(cut.axis); }))
        return sharding.sequence;
    areTerms &= llvm::any_of(layout.partial,
                             [&](int axis) { return isTensorAxis(axis); });
  }
  return areTerms ? sharding.sequence : sharding.rows();
}

bool LayoutAssigner::isTensorAxis(int axis) const {
  return llvm::any_of(sharding.tensorParallel,
                      [&](const Cut &cut) { return cut.axis == axis; });
}

Layout LayoutAssigner::onTensorAxes(Layout layout, const TensorFactors &dims,
                                    const FactorCuts &chosen) const {
  for (auto [cuts, factors] : llvm::zip_equal(layout.dims, dims)) {
    bool isChosen =
        factors.size() == 1 && !chosen.factors[factors.front()].empty();
    if (isChosen && !cuts.empty())
      cuts = chosen.factors[factors.front()];
    else
      llvm::erase_if(cuts,
                     [&](const Cut &cut) { return !isTensorAxis(cut.axis); });
  }
  return layout;
}

FactorCuts LayoutAssigner::chooseCuts(Operation *op, const ShardingRule &rule) {
  if (auto sequenceOp = dyn_cast<SequenceOpInterface>(op))
    return strategyCuts(sequenceOp, rule);
  FactorCuts cuts;
  cuts.factors.resize(rule.sizes.size());
  int64_t sequence = sequenceFactorOf(op, rule, sequenceDims);
  // A sum over all tokens, or of what is not of tokens: each rank adds up its
  // own, and the ranks' sums are less to exchange than what they are of. A sum
  // over what tensor parallelism cuts is as much as one token's row.
  bool fromZero = startsFromZero(op, rule);
  bool mayBePartial = (sequence < 0 || rule.isReduction(sequence)) && fromZero;
  // In bf16 terms are rounded before they are added, as projections are known
  // to do.
  bool mayRound = op->hasAttr(parallelAttr) ||
                  !getElementTypeOrSelf(op->getResult(0)).isBF16();
  auto maySum = [&](int axis) {
    return mayBePartial || (fromZero && mayRound && isTensorAxis(axis));
  };
  bool isSequence =
      sequence >= 0 && (mayBePartial || !rule.isReduction(sequence));
  // The order is chosen for the op, whatever its operands come in.
  bool isChosen = orders.isMixed() || sharding.tensorRows;
  int64_t chosen = isChosen && isSequence ? sequence : -1;
  std::vector<Cut> inOrder = ordered(op, rowsOf(op, rule, sequence));
  std::optional<CutRefusal> refusal = collectOperandCuts(
      op, rule, cuts,
      [&](Layout layout, const TensorFactors &factors) {
        return recut(std::move(layout), factors, chosen, inOrder);
      },
      maySum);
  if (refusal) {
    cuts.factors.assign(rule.sizes.size(), {});
    if (isSequence)
      cuts.factors[sequence] = inOrder;
    addBatchCut(op, rule, mayBePartial, cuts);
    FactorCuts withTensorCuts = cuts;
    if (isSequence && !collectOperandCuts(
                          op, rule, withTensorCuts,
                          [&](Layout layout, const TensorFactors &factors) {
                            return onTensorAxes(std::move(layout), factors,
                                                cuts);
                          },
                          maySum))
      cuts = std::move(withTensorCuts);
  }
  addTensorCut(op, rule, cuts);
  if (refusal && remarks)
    remarks->refused(op, *refusal, rule, cuts);
  return cuts;
}

LogicalResult LayoutAssigner::checkDivides(Operation *op,
                                           const ShardingRule &rule,
                                           const FactorCuts &cuts) {
  for (auto [size, factorCuts] : llvm::zip(rule.sizes, cuts.factors)) {
    if (factorCuts.empty())
      continue;
    Layout alone{mesh, {factorCuts}, {}};
    if (ShapedType::isDynamic(size))
      return op->emitOpError("assign_c2: a dimension that is cut over ")
             << axesText(mesh, factorCuts) << " must have a known size, but "
             << "is '?'; write the number into the types";
    if (check(alone, {size}))
      return op->emitOpError("assign_c2: a dimension of ")
             << size << " cannot be cut over the " << partsOf(mesh, factorCuts)
             << " ranks of " << axesText(mesh, factorCuts)
             << "; use another number of ranks, or mixer=sequence";
  }
  return success();
}

} // namespace cp
