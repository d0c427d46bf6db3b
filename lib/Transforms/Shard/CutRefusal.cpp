//===- CutRefusal.cpp - Cuts that an op cannot have -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CutRefusal.h"

#include "Explain/RemarkText.h"

using namespace mlir;

namespace cp {

using Kind = CutRefusal::Kind;

/// Of the cut that collectCuts refused.
static Kind kindOf(const DimFactors &factors, const FactorCuts &cuts) {
  if (factors.empty())
    return Kind::WholeDimension;
  return cuts.factors[factors.front()].empty() ? Kind::Uneven : Kind::Unlike;
}

/// The first operand that brought the cut of a factor.
static CutRefusal atFactor(Kind kind, Operation *op, const ShardingRule &rule,
                           int64_t factor) {
  for (auto [number, dims] : llvm::enumerate(rule.operands)) {
    LayoutAttr layout = LayoutAttr::of(op->getOperand(number).getType());
    for (auto [dim, factors] : llvm::enumerate(dims))
      if (layout && !layout.getCuts()[dim].empty() && !factors.empty() &&
          factors.front() == factor)
        return {kind, static_cast<unsigned>(number), static_cast<int64_t>(dim)};
  }
  return {kind, 0, 0};
}

Layout recut(Layout layout, const TensorFactors &factors, int64_t factor,
             const std::vector<Cut> &chosen) {
  for (auto [cuts, of] : llvm::zip_equal(layout.dims, factors)) {
    if (!cuts.empty() && of.size() == 1 && of.front() == factor)
      cuts = chosen;
    // Documents end within the elements of a dimension that is split.
    if (of.size() > 1 &&
        llvm::any_of(cuts, [](const Cut &cut) { return isPerDocument(cut); }))
      cuts = inContiguousOrder(cuts);
  }
  return layout;
}

std::optional<CutRefusal> collectOperandCuts(Operation *op,
                                             const ShardingRule &rule,
                                             FactorCuts &cuts,
                                             TakenLayout taken, MaySum maySum) {
  for (auto [number, dims] : llvm::enumerate(rule.operands)) {
    LayoutAttr layout = LayoutAttr::of(op->getOperand(number).getType());
    if (!layout || layout.isReplicated())
      continue;
    if (auto dim =
            collectCuts(rule, dims, taken(layout.toLayout(), dims), cuts))
      return CutRefusal{kindOf(dims[*dim], cuts), static_cast<unsigned>(number),
                        *dim};
  }
  llvm::SmallDenseSet<int> seen;
  for (auto [factor, factorCuts] : llvm::enumerate(cuts.factors)) {
    for (const Cut &cut : factorCuts) {
      if (isBySizes(cut) && rule.isSummed(factor))
        return atFactor(Kind::Room, op, rule, factor);
      if (rule.isReduction(factor) && !maySum(cut.axis))
        return atFactor(Kind::Summed, op, rule, factor);
      if (!seen.insert(cut.axis).second)
        return atFactor(Kind::AxisTwice, op, rule, factor);
    }
  }
  return std::nullopt;
}

static std::string reasonOf(const CutRefusal &refusal,
                            const ShardingRule &rule) {
  switch (refusal.kind) {
  case Kind::WholeDimension:
    return "the op needs this dimension whole";
  case Kind::Uneven: {
    int64_t factor = rule.operands[refusal.operand][refusal.dim].front();
    return "the op takes it in " + std::to_string(rule.sizes[factor]) +
           " pieces, which the ranks cannot share evenly";
  }
  case Kind::Unlike:
    return "another operand is cut in another way along it";
  case Kind::Summed:
    return "the op sums over this dimension";
  case Kind::Room:
    return "the op sums over this dimension, whose parts have room for more "
           "than they hold";
  case Kind::AxisTwice:
    return "the axis cuts another dimension of the op already";
  }
  return "";
}

void CutRemarks::refused(Operation *op, const CutRefusal &refusal,
                         const ShardingRule &rule, const FactorCuts &instead) {
  auto remark = remark::missed(
      op->getLoc(),
      remark::RemarkOpts::name("refused").category("cut").function(
          function.getName()));
  if (!remark)
    return;
  bool anyCut =
      llvm::any_of(instead.factors, [](const auto &c) { return !c.empty(); });
  LayoutAttr layout = LayoutAttr::of(op->getOperand(refusal.operand).getType());
  remark << remark::metric("layer", layers.of(op))
         << remark::metric("op", op->getName().getStringRef())
         << remark::metric("operand", refusal.operand)
         << remark::metric("dim", refusal.dim)
         << remark::metric("layout", textOf(layout))
         << remark::metric("why", reasonOf(refusal, rule))
         << remark::metric("instead", anyCut ? "the sequence is cut"
                                             : "every rank has the whole");
}

} // namespace cp
