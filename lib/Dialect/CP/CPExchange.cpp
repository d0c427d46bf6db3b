//===- CPExchange.cpp - Exchanges that can be merged ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {
namespace {

SmallVector<Value> both(ValueRange first, ValueRange next) {
  SmallVector<Value> values(first);
  llvm::append_range(values, next);
  return values;
}

SmallVector<Type> bothTypes(Operation *first, Operation *next) {
  SmallVector<Type> types(first->getResultTypes());
  llvm::append_range(types, next->getResultTypes());
  return types;
}

/// Joins two optional arrays of one entry per operand; absent means `otherwise`
/// for each.
template <typename ElementTy>
SmallVector<ElementTy> joined(std::optional<ArrayRef<ElementTy>> first,
                              size_t firstCount,
                              std::optional<ArrayRef<ElementTy>> next,
                              size_t nextCount, ElementTy otherwise) {
  SmallVector<ElementTy> all(firstCount + nextCount, otherwise);
  if (first)
    llvm::copy(*first, all.begin());
  if (next)
    llvm::copy(*next, all.begin() + firstCount);
  return all;
}

/// The attribute for an array, or null when every entry is what absence means.
template <typename AttrTy, typename ElementTy>
AttrTy unlessAll(MLIRContext *context, ArrayRef<ElementTy> values,
                 ElementTy otherwise) {
  if (llvm::all_of(values, [&](ElementTy v) { return v == otherwise; }))
    return {};
  return AttrTy::get(context, values);
}

} // namespace

//===----------------------------------------------------------------------===//
// AllToAllOp
//===----------------------------------------------------------------------===//

Attribute AllToAllOp::getRoute() {
  return ArrayAttr::get(getContext(),
                        {StringAttr::get(getContext(), getOperationName()),
                         getMesh(), getAxes()});
}

Operation *AllToAllOp::mergeWith(OpBuilder &builder, Operation *other) {
  auto next = cast<AllToAllOp>(other);
  size_t a = getSources().size(), b = next.getSources().size();
  auto flags = [&](auto first, auto second) {
    return unlessAll<DenseBoolArrayAttr, bool>(
        getContext(), joined<bool>(first, a, second, b, false), false);
  };
  auto counts = [&](auto first, auto second, int64_t otherwise) {
    return unlessAll<DenseI64ArrayAttr, int64_t>(
        getContext(), joined<int64_t>(first, a, second, b, otherwise),
        otherwise);
  };
  auto dims = [&](ArrayRef<int64_t> first, ArrayRef<int64_t> second) {
    SmallVector<int64_t> all(first);
    llvm::append_range(all, second);
    return DenseI64ArrayAttr::get(getContext(), all);
  };
  return AllToAllOp::create(
      builder, builder.getFusedLoc({getLoc(), next.getLoc()}),
      bothTypes(*this, next), both(getSources(), next.getSources()), getMesh(),
      getAxes(), dims(getConcatDims(), next.getConcatDims()),
      dims(getSplitDims(), next.getSplitDims()),
      flags(getConcatZigzag(), next.getConcatZigzag()),
      flags(getSplitZigzag(), next.getSplitZigzag()),
      counts(getConcatStriped(), next.getConcatStriped(), 0),
      counts(getSplitStriped(), next.getSplitStriped(), 0),
      counts(getRepeats(), next.getRepeats(), 1),
      counts(getRepeatUnits(), next.getRepeatUnits(), 1));
}

//===----------------------------------------------------------------------===//
// HaloOp
//===----------------------------------------------------------------------===//

Attribute HaloOp::getRoute() {
  Builder builder(getContext());
  return builder.getArrayAttr({builder.getStringAttr(getOperationName()),
                               getMesh(), getAxes(), getDimAttr(),
                               getBeforeAttr(),
                               builder.getBoolAttr(!getInitial().empty()),
                               builder.getBoolAttr(getZigzag())});
}

Operation *HaloOp::mergeWith(OpBuilder &builder, Operation *other) {
  auto next = cast<HaloOp>(other);
  return HaloOp::create(
      builder, builder.getFusedLoc({getLoc(), next.getLoc()}),
      bothTypes(*this, next), both(getSources(), next.getSources()),
      both(getInitial(), next.getInitial()), getMesh(), getAxes(), getDimAttr(),
      getBeforeAttr(), builder.getBoolAttr(getZigzag()));
}

} // namespace cp
