//===- ReshardRemarks.cpp - What the reshards are for -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReshardRemarks.h"

#include "RemarkText.h"
#include "cp/Layout/Plan.h"
#include "cp/Layout/Saturating.h"
#include "cp/Transforms/Layers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace cp {
namespace {

/// The collective that a step becomes.
StringRef nameOf(Step::Kind kind) {
  switch (kind) {
  case Step::Kind::AllToAll:
    return AllToAllOp::getOperationName();
  case Step::Kind::AllGather:
    return AllGatherOp::getOperationName();
  case Step::Kind::Slice:
    return SliceOp::getOperationName();
  case Step::Kind::AllReduce:
    return AllReduceOp::getOperationName();
  case Step::Kind::ReduceScatter:
    return ReduceScatterOp::getOperationName();
  case Step::Kind::Reorder:
    return ReorderOp::getOperationName();
  case Step::Kind::Unslice:
    return UnsliceOp::getOperationName();
  }
  llvm_unreachable("all steps are handled");
}

/// Whether an operand's layout cuts a factor of its op.
bool cuts(const ShardingRule &rule, const TensorFactors &dims,
          const Layout &layout, int64_t factor) {
  for (auto [factors, dim] : llvm::zip(dims, layout.dims))
    if (!dim.empty() && !factors.empty() && factors.front() == factor)
      return true;
  return false;
}

/// Why an op that depends along the sequence has this operand resharded.
std::string sequenceReason(SequenceOpInterface op, const ShardingRule &rule,
                           const TensorFactors &dims, const Layout &to) {
  int64_t sequence = op.getSequenceFactor();
  if (cuts(rule, dims, to, sequence))
    return "its sequence stays cut";
  if (!cuts(rule, dims, to, op.getHiddenFactor()))
    return "it needs this operand whole";
  bool hasSequence = llvm::any_of(dims, [&](const DimFactors &factors) {
    return llvm::is_contained(factors, sequence);
  });
  return hasSequence ? "it needs the whole sequence, cut along its hidden "
                       "dimension instead"
                     : "it is cut along its hidden dimension";
}

/// The first other operand that came with the cut of `to`, or -1.
int64_t leaderOf(OpOperand &use, const ShardingRule &rule, const Layout &to) {
  const TensorFactors &own = rule.operands[use.getOperandNumber()];
  for (auto [factors, dim] : llvm::zip(own, to.dims)) {
    if (dim.empty() || factors.empty())
      continue;
    for (OpOperand &other : use.getOwner()->getOpOperands()) {
      LayoutAttr layout = LayoutAttr::of(other.get().getType());
      if (layout && !other.get().getDefiningOp<ReshardOp>() &&
          cuts(rule, rule.operands[other.getOperandNumber()], layout.toLayout(),
               factors.front()))
        return other.getOperandNumber();
    }
  }
  return -1;
}

std::string reasonOf(OpOperand &use, const Layout &from, const Layout &to) {
  Operation *op = use.getOwner();
  if (op->hasTrait<OpTrait::IsTerminator>())
    return "the function's result has this layout";
  auto rules = dyn_cast<ShardingRuleOpInterface>(op);
  FailureOr<ShardingRule> rule = failure();
  if (rules)
    rule = rules.getShardingRule();
  if (failed(rule))
    return "it has no sharding rule, so it needs whole tensors";
  if (from.partial != to.partial)
    return "it needs the sum over the ranks";
  if (auto sequence = dyn_cast<SequenceOpInterface>(op))
    return sequenceReason(sequence, *rule,
                          rule->operands[use.getOperandNumber()], to);
  int64_t leader = leaderOf(use, *rule, to);
  if (leader >= 0)
    return "operand " + std::to_string(leader) + " is cut like this";
  return "no cut of its operands fits it";
}

/// What each rank sends in all steps.
SmallVector<int64_t> bytesOf(ArrayRef<PlannedStep> steps, const Layout &from,
                             const std::vector<int64_t> &shape,
                             int64_t element) {
  SmallVector<int64_t> bytes;
  int64_t ranks = from.mesh.numRanks();
  for (int64_t rank = 0; ranks <= mostExplainedRanks && rank < ranks; ++rank) {
    int64_t sent = 0;
    const Layout *before = &from;
    for (const PlannedStep &step : steps) {
      sent = addSaturating(
          sent, multiplySaturating(elementsSent(step, *before, shape, rank),
                                   element));
      before = &step.after;
    }
    bytes.push_back(sent);
  }
  return bytes;
}

OpOperand &firstUse(ReshardOp op) {
  OpOperand *first = &*op->use_begin();
  for (OpOperand &use : op->getUses())
    if (use.getOwner()->isBeforeInBlock(first->getOwner()))
      first = &use;
  return *first;
}

void remarkOn(ReshardOp op, FunctionOpInterface function,
              const Layers &layers) {
  LayoutAttr from = LayoutAttr::of(op.getSource().getType());
  LayoutAttr to = LayoutAttr::of(op.getType());
  RankedTensorType type = op.getType();
  if (!from || !to || !type.hasStaticShape() || op->use_empty())
    return;
  std::vector<int64_t> shape(type.getShape().begin(), type.getShape().end());
  auto remark = remark::passed(
      op.getLoc(),
      remark::RemarkOpts::name("reshard").category("reshard").function(
          function.getName()));
  if (!remark)
    return;
  std::optional<std::vector<PlannedStep>> steps =
      plan(from.toLayout(), to.toLayout(), shape);
  OpOperand &use = firstUse(op);
  remark << remark::metric("layer", layers.of(op))
         << remark::metric("from", textOf(from))
         << remark::metric("to", textOf(to))
         << remark::metric("for", use.getOwner()->getName().getStringRef())
         << remark::metric("operand", use.getOperandNumber())
         << remark::metric("why",
                           reasonOf(use, from.toLayout(), to.toLayout()));
  // What has no way is an error when it is lowered.
  if (!steps)
    return;
  auto names = llvm::map_range(
      *steps, [](const Step &step) { return nameOf(step.kind()); });
  remark << remark::metric("steps", llvm::join(names, ", "));
  addBytes(remark, bytesOf(*steps, from.toLayout(), shape, elementBytes(type)));
}

} // namespace

void remarkReshards(FunctionOpInterface function) {
  if (!wantsRemarks(function))
    return;
  Layers layers(function);
  function.walk([&](ReshardOp op) { remarkOn(op, function, layers); });
}

} // namespace cp
