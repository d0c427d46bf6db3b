//===- PartialSums.cpp - Sums that ranks have yet to add up ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartialSums.h"

#include "Materializer.h"
#include "cp/Layout/Saturating.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace cp {

static ArrayRef<int64_t> partialAxesOf(Value value) {
  LayoutAttr layout =
      isTensor(value) ? LayoutAttr::of(value.getType()) : LayoutAttr();
  return layout ? layout.getPartial() : ArrayRef<int64_t>();
}

static std::optional<int64_t> bytesOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  return multiplySaturating(elementBytes(type), type.getNumElements());
}

/// Whether a result is more bytes than an operand, or neither is known.
static bool grows(Value operand, Value result) {
  std::optional<int64_t> before = bytesOf(operand), after = bytesOf(result);
  return !before || !after || *after > *before;
}

/// Up to here a sum of parts among zeros, which goes with other sums, is taken
/// for less than a gather of its own, though it sends the zeros too.
static constexpr int64_t littleBytes = int64_t(1) << 20;

SmallVector<int64_t> termAxesOf(Value value) {
  SmallVector<int64_t> axes(partialAxesOf(value));
  std::optional<int64_t> bytes = bytesOf(value);
  if (!bytes || *bytes > littleBytes ||
      !isa<FloatType>(getElementTypeOrSelf(value)))
    return axes;
  if (LayoutAttr layout = LayoutAttr::of(value.getType()))
    for (const std::vector<Cut> &cuts : layout.toLayout().dims)
      for (const Cut &cut : cuts)
        axes.push_back(cut.axis);
  return axes;
}

bool startsFromZero(Operation *op, const ShardingRule &rule) {
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    return rule.uses[operand.getOperandNumber()] != Use::Term ||
           isFreeZero(operand.get());
  });
}

PartialSums::PartialSums(Operation *op, const ShardingRule &rule,
                         const FactorCuts &cuts, Passed may)
    : op(op), rule(rule), cuts(cuts), may(may) {
  if (may == Passed::None || op->getNumResults() != 1)
    return;
  llvm::SmallSetVector<int, 4> axes;
  for (OpOperand &operand : op->getOpOperands()) {
    SmallVector<int64_t> own = axesOf(operand.get());
    bool isTerm = rule.uses[operand.getOperandNumber()] == Use::Term;
    if (!own.empty() && !isTerm && grows(operand.get(), op->getResult(0)))
      return;
    axes.insert(own.begin(), own.end());
  }
  llvm::copy_if(axes, std::back_inserter(passed),
                [&](int axis) { return passes(axis); });
}

SmallVector<int64_t> PartialSums::axesOf(Value operand) const {
  return may == Passed::SumsAndParts
             ? termAxesOf(operand)
             : SmallVector<int64_t>(partialAxesOf(operand));
}

/// Whether the axis cuts the op.
static bool isCut(const FactorCuts &cuts, int axis) {
  return llvm::any_of(cuts.factors, [&](const std::vector<Cut> &factor) {
    return llvm::any_of(factor,
                        [&](const Cut &cut) { return cut.axis == axis; });
  });
}

bool PartialSums::passes(int axis) const {
  SmallVector<Sum> sums;
  for (OpOperand &operand : op->getOpOperands()) {
    bool isStart = rule.uses[operand.getOperandNumber()] == Use::Term &&
                   isFreeZero(operand.get());
    bool mayBePartial = llvm::is_contained(axesOf(operand.get()), axis);
    sums.push_back(isStart || mayBePartial ? Sum::Partial : Sum::Replicated);
  }
  // Where all types must be equal, a partial layout is that of every operand.
  if (op->hasTrait<OpTrait::SameOperandsAndResultType>() &&
      llvm::is_contained(sums, Sum::Replicated))
    return false;
  unsigned culprit = 0;
  return !isCut(cuts, axis) &&
         sumThrough(rule, sums, /*sumIsCut=*/false, culprit) == Sum::Partial;
}

std::vector<int> PartialSums::ofResult(unsigned result) const {
  std::vector<int> axes = passed;
  for (int64_t factor : rule.sumsOf(result))
    for (const Cut &cut : cuts.factors[factor])
      axes.push_back(cut.axis);
  llvm::sort(axes);
  return axes;
}

std::vector<int> PartialSums::ofOperand(OpOperand &operand) const {
  // Terms are what the result is.
  if (rule.uses[operand.getOperandNumber()] == Use::Term)
    return ofResult(0);
  std::vector<int> axes;
  llvm::copy_if(axesOf(operand.get()), std::back_inserter(axes),
                [&](int axis) { return llvm::is_contained(passed, axis); });
  llvm::sort(axes);
  return axes;
}

} // namespace cp
