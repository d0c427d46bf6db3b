//===- RepeatGroups.cpp - Repeats move to before the exchange ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RepeatGroups.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {
namespace {

/// Where a factor stands in an operand, and how many elements make one of it.
struct FactorPlace {
  OpOperand *operand;
  int64_t dim, unit;
};

/// The operands that run over `factor` as the major factor of a dimension.
SmallVector<FactorPlace> placesOf(int64_t factor, const ShardingRule &rule,
                                  Operation *op) {
  SmallVector<FactorPlace> places;
  for (OpOperand &operand : op->getOpOperands()) {
    for (auto [dim, factors] :
         llvm::enumerate(rule.operands[operand.getOperandNumber()])) {
      if (factors.empty() || factors.front() != factor)
        continue;
      int64_t unit = 1;
      for (int64_t minor : ArrayRef(factors).drop_front())
        unit *= rule.sizes[minor];
      places.push_back({&operand, static_cast<int64_t>(dim), unit});
    }
  }
  return places;
}

/// Where a dimension of an expanded shape stands in the merged one. A dimension
/// of one element is no factor there, so the rule does not tell.
SmallVector<FactorPlace> placeInMerged(tensor::ExpandShapeOp expand,
                                       int64_t dim) {
  ArrayRef<int64_t> shape = expand.getResultType().getShape();
  for (auto [merged, group] :
       llvm::enumerate(expand.getReassociationIndices())) {
    auto *place = llvm::find(group, dim);
    if (place == group.end())
      continue;
    if (llvm::any_of(llvm::make_range(group.begin(), place),
                     [&](int64_t major) { return shape[major] != 1; }))
      return {};
    int64_t unit = 1;
    for (int64_t minor : llvm::make_range(place + 1, group.end()))
      unit *= shape[minor];
    return {{&expand.getSrcMutable(), static_cast<int64_t>(merged), unit}};
  }
  return {};
}

SmallVector<FactorPlace> placesAbove(RepeatOp repeat, Operation *op,
                                     const ShardingRule &rule) {
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return placeInMerged(expand, repeat.getDim());
  const DimFactors &factors = rule.results[0][repeat.getDim()];
  return factors.size() == 1 ? placesOf(factors.front(), rule, op)
                             : SmallVector<FactorPlace>();
}

RankedTensorType repeated(RankedTensorType type, int64_t dim, int64_t times) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] *= times;
  return type.clone(shape);
}

/// A slice says its sizes itself; what is repeated it has in full.
void repeatSizes(Operation *op, int64_t dim, int64_t times) {
  auto repeatIn = [&](auto slice) {
    SmallVector<int64_t> sizes(slice.getStaticSizes());
    sizes[dim] *= times;
    slice.setStaticSizes(sizes);
  };
  if (auto extracted = dyn_cast<tensor::ExtractSliceOp>(op))
    repeatIn(extracted);
  else if (auto inserted = dyn_cast<tensor::InsertSliceOp>(op))
    repeatIn(inserted);
}

/// The op below `repeat` with repeated operands, if the repeat can go above it.
Operation *hoistOnce(RepeatOp repeat, SmallVectorImpl<RepeatOp> &hoisted) {
  Operation *op = repeat.getSource().getDefiningOp();
  auto rules = dyn_cast_if_present<ShardingRuleOpInterface>(op);
  if (!rules || isa<RepeatOp>(op) || op->getNumResults() != 1)
    return nullptr;
  FailureOr<ShardingRule> rule = rules.getShardingRule();
  if (failed(rule) || !rule->sumsOf(0).empty())
    return nullptr;
  SmallVector<FactorPlace> places = placesAbove(repeat, op, *rule);
  if (places.empty())
    return nullptr;
  OpBuilder builder(repeat);
  Operation *clone = builder.clone(*op);
  builder.setInsertionPoint(clone);
  for (const FactorPlace &place : places) {
    OpOperand &operand = clone->getOpOperand(place.operand->getOperandNumber());
    auto type = cast<RankedTensorType>(operand.get().getType());
    auto above = RepeatOp::create(
        builder, repeat.getLoc(), repeated(type, place.dim, repeat.getTimes()),
        operand.get(), place.dim,
        place.unit * static_cast<int64_t>(repeat.getUnit()), repeat.getTimes());
    operand.set(above);
    hoisted.push_back(above);
  }
  repeatSizes(clone, places.front().dim,
              static_cast<int64_t>(repeat.getTimes()));
  clone->getResult(0).setType(repeat.getType());
  // Who compares it with the whole program's must know.
  if (clone->hasAttr(numberAttr))
    clone->setAttr(repeatedAttr,
                   builder.getDenseI64ArrayAttr(
                       {static_cast<int64_t>(repeat.getDim()),
                        static_cast<int64_t>(repeat.getUnit()),
                        static_cast<int64_t>(repeat.getTimes())}));
  cast<ShardingRuleOpInterface>(clone).localizeSizes();
  return clone;
}

} // namespace

void hoistRepeat(RepeatOp repeat) {
  SmallVector<RepeatOp> work = {repeat};
  while (!work.empty()) {
    RepeatOp next = work.pop_back_val();
    Operation *below = next.getSource().getDefiningOp();
    Operation *clone = hoistOnce(next, work);
    if (!clone)
      continue;
    next.replaceAllUsesWith(clone->getResult(0));
    next.erase();
    if (below->use_empty())
      below->erase();
  }
}

} // namespace cp
