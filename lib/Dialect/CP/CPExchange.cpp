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
SmallVector<int64_t> joined(std::optional<ArrayRef<int64_t>> first,
                            size_t firstCount,
                            std::optional<ArrayRef<int64_t>> next,
                            size_t nextCount, int64_t otherwise) {
  SmallVector<int64_t> all(firstCount + nextCount, otherwise);
  if (first)
    llvm::copy(*first, all.begin());
  if (next)
    llvm::copy(*next, all.begin() + firstCount);
  return all;
}

/// The attribute for an array, or null when every entry is what absence means.
DenseI64ArrayAttr unlessAll(MLIRContext *context, ArrayRef<int64_t> values,
                            int64_t otherwise) {
  if (llvm::all_of(values, [&](int64_t v) { return v == otherwise; }))
    return {};
  return DenseI64ArrayAttr::get(context, values);
}

/// The cuts of the operands of two exchanges, one behind the other.
ArrayAttr joinedCuts(AllToAllOp first, std::optional<ArrayAttr> ofFirst,
                     AllToAllOp next, std::optional<ArrayAttr> ofNext) {
  if (!ofFirst && !ofNext)
    return {};
  SmallVector<Attribute> all;
  auto append = [&](AllToAllOp op, std::optional<ArrayAttr> cuts) {
    auto contiguous = CutAttr::getContiguous(cast<StringAttr>(op.getAxes()[0]));
    for (size_t i = 0, e = op.getSources().size(); i < e; ++i)
      all.push_back(cuts ? (*cuts)[i] : contiguous);
  };
  append(first, ofFirst);
  append(next, ofNext);
  return ArrayAttr::get(first.getContext(), all);
}

/// What all exchanges of a kind over one group have in common.
template <typename OpTy> Attribute groupOf(OpTy op) {
  return ArrayAttr::get(
      op.getContext(),
      {StringAttr::get(op.getContext(), OpTy::getOperationName()), op.getMesh(),
       op.getAxes()});
}

} // namespace

//===----------------------------------------------------------------------===//
// AllToAllOp
//===----------------------------------------------------------------------===//

Attribute AllToAllOp::getRoute() { return groupOf(*this); }

Operation *AllToAllOp::mergeWith(OpBuilder &builder, Operation *other) {
  auto next = cast<AllToAllOp>(other);
  size_t a = getSources().size(), b = next.getSources().size();
  auto counts = [&](auto first, auto second) {
    return unlessAll(getContext(), joined(first, a, second, b, 1), 1);
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
      joinedCuts(*this, getConcatCuts(), next, next.getConcatCuts()),
      joinedCuts(*this, getSplitCuts(), next, next.getSplitCuts()),
      counts(getRepeats(), next.getRepeats()),
      counts(getRepeatUnits(), next.getRepeatUnits()));
}

//===----------------------------------------------------------------------===//
// AllReduceOp
//===----------------------------------------------------------------------===//

Attribute AllReduceOp::getRoute() { return groupOf(*this); }

Operation *AllReduceOp::mergeWith(OpBuilder &builder, Operation *other) {
  auto next = cast<AllReduceOp>(other);
  return AllReduceOp::create(
      builder, builder.getFusedLoc({getLoc(), next.getLoc()}),
      both(getSources(), next.getSources()), getMesh(), getAxes());
}

//===----------------------------------------------------------------------===//
// AllGatherOp, ReduceScatterOp
//===----------------------------------------------------------------------===//

void AllGatherOp::build(OpBuilder &builder, OperationState &state, Type result,
                        Value source, MeshAttr mesh, ArrayAttr cuts,
                        int64_t dim) {
  build(builder, state, TypeRange{result}, ValueRange{source}, mesh, cuts,
        static_cast<uint64_t>(dim), StringAttr());
}

void ReduceScatterOp::build(OpBuilder &builder, OperationState &state,
                            Type result, Value source, MeshAttr mesh,
                            ArrayAttr cuts, int64_t dim) {
  build(builder, state, TypeRange{result}, ValueRange{source}, mesh, cuts,
        static_cast<uint64_t>(dim));
}

/// What is the same for all tensors of an exchange along one dimension of each.
template <typename OpTy>
static Attribute dimRouteOf(OpTy op, StringAttr gradScale) {
  Builder builder(op.getContext());
  return builder.getArrayAttr(
      {builder.getStringAttr(OpTy::getOperationName()), op.getMesh(),
       op.getCuts(), op.getDimAttr(),
       gradScale ? gradScale : builder.getStringAttr("")});
}

Attribute AllGatherOp::getRoute() {
  return dimRouteOf(*this, getGradScaleAttr());
}

Operation *AllGatherOp::mergeWith(OpBuilder &builder, Operation *other) {
  auto next = cast<AllGatherOp>(other);
  return AllGatherOp::create(
      builder, builder.getFusedLoc({getLoc(), next.getLoc()}),
      bothTypes(*this, next), both(getSources(), next.getSources()), getMesh(),
      getCuts(), getDim(), getGradScaleAttr());
}

Attribute ReduceScatterOp::getRoute() {
  return dimRouteOf(*this, StringAttr());
}

Operation *ReduceScatterOp::mergeWith(OpBuilder &builder, Operation *other) {
  auto next = cast<ReduceScatterOp>(other);
  return ReduceScatterOp::create(
      builder, builder.getFusedLoc({getLoc(), next.getLoc()}),
      bothTypes(*this, next), both(getSources(), next.getSources()), getMesh(),
      getCuts(), getDim());
}

//===----------------------------------------------------------------------===//
// HaloOp
//===----------------------------------------------------------------------===//

Attribute HaloOp::getRoute() {
  Builder builder(getContext());
  return builder.getArrayAttr({builder.getStringAttr(getOperationName()),
                               getMesh(), localCutsAttr(getMesh(), toCuts()),
                               getDimAttr(),
                               builder.getI64IntegerAttr(getRows().count),
                               builder.getBoolAttr(getRows().isReverse),
                               builder.getBoolAttr(!getInitial().empty())});
}

Operation *HaloOp::mergeWith(OpBuilder &builder, Operation *other) {
  auto next = cast<HaloOp>(other);
  return HaloOp::create(builder, builder.getFusedLoc({getLoc(), next.getLoc()}),
                        bothTypes(*this, next),
                        both(getSources(), next.getSources()),
                        both(getInitial(), next.getInitial()), getMesh(),
                        getCuts(), getDim(), getRows());
}

} // namespace cp
