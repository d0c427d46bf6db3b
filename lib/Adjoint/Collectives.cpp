//===- Collectives.cpp - Adjoints of exchanges ----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cotangent of what ranks hold is such that the derivative of the loss is
// the sum over all ranks of <cotangent, change>. So ranks that hold one value
// each have a term of its cotangent, and what a collective does has the
// transposed map for its adjoint: a gather the scattered sum, and so on (dualOf
// in cp/Layout/Step.h).
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"

#include "Models.h"
#include "Values.h"
#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {

Value onPositions(OpBuilder &builder, Location loc, Value value, MeshAttr mesh,
                  ArrayAttr axes, ArrayRef<int64_t> positions) {
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  int64_t size = groupSize(mesh, axes);
  SmallVector<Attribute> marks(size, builder.getFloatAttr(element, 0.0));
  for (int64_t position : positions)
    marks[position] = builder.getFloatAttr(element, 1.0);
  Value all = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(RankedTensorType::get(size, element), marks));
  SmallVector<Attribute> cuts;
  for (StringAttr axis : axes.getAsRange<StringAttr>())
    cuts.push_back(CutAttr::getContiguous(axis));
  Value mark = SliceOp::create(builder, loc, RankedTensorType::get(1, element),
                               all, mesh, builder.getArrayAttr(cuts), 0);
  Value factor = tensor::CollapseShapeOp::create(
      builder, loc, RankedTensorType::get({}, element), mark,
      ArrayRef<ReassociationIndices>());
  return scaled(builder, loc, value, factor);
}

namespace {

//===----------------------------------------------------------------------===//
// Gathers, slices, sums
//===----------------------------------------------------------------------===//

/// The cotangent as `grad_scale` has it: multiplied or divided by `ranks`.
Value scaledBy(AdjointContext &context, Value cotangent, StringRef scale,
               int64_t ranks) {
  if (scale == "none")
    return cotangent;
  OpBuilder &builder = context.getBuilder();
  Value factor = constantOf(
      builder, context.getLoc(),
      cast<RankedTensorType>(cotangent.getType()).clone(ArrayRef<int64_t>()),
      scale == "up" ? double(ranks) : 1.0 / double(ranks));
  return scaled(builder, context.getLoc(), cotangent, factor);
}

/// The type of the source, with the elements of `cotangent`.
Type likeSource(Value source, Value cotangent) {
  return cast<RankedTensorType>(source.getType())
      .clone(getElementTypeOrSelf(cotangent));
}

/// The one cotangent of an op, wide, if it is there and wanted.
Value wantedCotangent(AdjointContext &context) {
  return context.isWanted(0) ? context.wideCotangent() : Value();
}

/// The operands whose cotangents are asked for and there.
struct Asked {
  SmallVector<unsigned> numbers;
  SmallVector<Value> cotangents;

  explicit Asked(AdjointContext &context, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      if (Value cotangent =
              context.isWanted(i) ? context.wideCotangent(i) : Value()) {
        numbers.push_back(i);
        cotangents.push_back(cotangent);
      }
  }
};

/// The types of the sources asked for, with the elements of their cotangents.
SmallVector<Type> likeSources(ValueRange sources, const Asked &asked) {
  SmallVector<Type> types;
  for (auto [i, cotangent] : llvm::zip_equal(asked.numbers, asked.cotangents))
    types.push_back(likeSource(sources[i], cotangent));
  return types;
}

LogicalResult allGather(AdjointContext &context, AllGatherOp op) {
  Asked asked(context, op.getSources().size());
  if (asked.numbers.empty())
    return success();
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  SmallVector<Type> types = likeSources(op.getSources(), asked);
  std::optional<StringRef> scale = op.getGradScale();
  if (!scale) {
    auto sums =
        ReduceScatterOp::create(builder, loc, types, asked.cotangents,
                                op.getMesh(), op.getCuts(), op.getDim());
    for (auto [i, value] : llvm::zip_equal(asked.numbers, sums.getResults()))
      context.add(i, value);
    return success();
  }
  for (auto [i, cotangent, type] :
       llvm::zip_equal(asked.numbers, asked.cotangents, types)) {
    Value factored = scaledBy(context, cotangent, *scale, op.getGroupSize());
    context.add(i, SliceOp::create(builder, loc, type, factored, op.getMesh(),
                                   op.getCuts(), op.getDim()));
  }
  return success();
}

LogicalResult slice(AdjointContext &context, SliceOp op) {
  Value cotangent = wantedCotangent(context);
  if (!cotangent)
    return success();
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  if (std::optional<StringRef> scale = op.getGradScale()) {
    cotangent = scaledBy(context, cotangent, *scale, op.getGroupSize());
    Type type = likeSource(op.getSource(), cotangent);
    context.add(0, AllGatherOp::create(builder, loc, type, cotangent,
                                       op.getMesh(), op.getCuts(), op.getDim())
                       .getResults()[0]);
    return success();
  }
  context.add(
      0, UnsliceOp::create(builder, loc, likeSource(op.getSource(), cotangent),
                           cotangent, op.getMesh(), op.getCuts(), op.getDim()));
  return success();
}

LogicalResult unslice(AdjointContext &context, UnsliceOp op) {
  if (Value cotangent = wantedCotangent(context))
    context.add(0, SliceOp::create(context.getBuilder(), context.getLoc(),
                                   likeSource(op.getSource(), cotangent),
                                   cotangent, op.getMesh(), op.getCuts(),
                                   op.getDim()));
  return success();
}

LogicalResult reduceScatter(AdjointContext &context, ReduceScatterOp op) {
  Asked asked(context, op.getSources().size());
  if (asked.numbers.empty())
    return success();
  auto wholes = AllGatherOp::create(
      context.getBuilder(), context.getLoc(),
      likeSources(op.getSources(), asked), asked.cotangents, op.getMesh(),
      op.getCuts(), op.getDim(), /*grad_scale=*/StringAttr());
  for (auto [i, value] : llvm::zip_equal(asked.numbers, wholes.getResults()))
    context.add(i, value);
  return success();
}

LogicalResult allReduce(AdjointContext &context, AllReduceOp op) {
  Asked asked(context, op.getSources().size());
  if (asked.numbers.empty())
    return success();
  auto sum = AllReduceOp::create(context.getBuilder(), context.getLoc(),
                                 asked.cotangents, op.getMesh(), op.getAxes());
  for (auto [number, value] : llvm::zip_equal(asked.numbers, sum.getResults()))
    context.add(number, value);
  return success();
}

//===----------------------------------------------------------------------===//
// From one cut to another
//===----------------------------------------------------------------------===//

/// Entries of an array that says something of each operand.
ArrayAttr entriesOf(std::optional<ArrayAttr> array, const Asked &asked) {
  if (!array)
    return {};
  SmallVector<Attribute> entries;
  for (unsigned i : asked.numbers)
    entries.push_back((*array)[i]);
  return ArrayAttr::get(array->getContext(), entries);
}
DenseI64ArrayAttr entriesOf(MLIRContext *context, ArrayRef<int64_t> array,
                            const Asked &asked) {
  SmallVector<int64_t> entries;
  for (unsigned i : asked.numbers)
    entries.push_back(array[i]);
  return DenseI64ArrayAttr::get(context, entries);
}

LogicalResult allToAll(AdjointContext &context, AllToAllOp op) {
  Asked asked(context, op.getSources().size());
  if (asked.numbers.empty())
    return success();
  auto timesOf = [&](unsigned i) {
    return op.getRepeats() ? (*op.getRepeats())[i] : 1;
  };
  SmallVector<Type> types;
  for (auto [i, cotangent] : llvm::zip_equal(asked.numbers, asked.cotangents)) {
    auto type =
        cast<RankedTensorType>(likeSource(op.getSources()[i], cotangent));
    SmallVector<int64_t> shape(type.getShape());
    shape[op.getSplitDims()[i]] *= timesOf(i);
    types.push_back(type.clone(shape));
  }
  MLIRContext *mlir = op.getContext();
  auto back = AllToAllOp::create(
      context.getBuilder(), context.getLoc(), types, asked.cotangents,
      op.getMesh(), op.getAxes(), entriesOf(mlir, op.getSplitDims(), asked),
      entriesOf(mlir, op.getConcatDims(), asked),
      entriesOf(op.getSplitCuts(), asked), entriesOf(op.getConcatCuts(), asked),
      DenseI64ArrayAttr(), DenseI64ArrayAttr());
  for (auto [i, value] : llvm::zip_equal(asked.numbers, back.getResults())) {
    int64_t unit = op.getRepeatUnits() ? (*op.getRepeatUnits())[i] : 1;
    context.add(i, sumOfRepeats(context.getBuilder(), context.getLoc(), value,
                                op.getSplitDims()[i], timesOf(i), unit));
  }
  return success();
}

LogicalResult reorder(AdjointContext &context, ReorderOp op) {
  if (Value cotangent = wantedCotangent(context))
    context.add(0, ReorderOp::create(context.getBuilder(), context.getLoc(),
                                     cotangent.getType(), cotangent,
                                     op.getDocuments(), op.getMesh(),
                                     op.getTo(), op.getFrom(), op.getDim()));
  return success();
}

LogicalResult shift(AdjointContext &context, ShiftOp op) {
  if (Value cotangent = wantedCotangent(context))
    context.add(0, ShiftOp::create(context.getBuilder(), context.getLoc(),
                                   cotangent.getType(), cotangent, op.getMesh(),
                                   op.getAxes(),
                                   -static_cast<int64_t>(op.getOffset())));
  return success();
}

} // namespace

void registerCollectiveAdjoints(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, CPDialect *) {
    attachAdjoint<AllGatherOp, allGather>(context);
    attachAdjoint<SliceOp, slice>(context);
    attachAdjoint<UnsliceOp, unslice>(context);
    attachAdjoint<ReduceScatterOp, reduceScatter>(context);
    attachAdjoint<AllReduceOp, allReduce>(context);
    attachAdjoint<AllToAllOp, allToAll>(context);
    attachAdjoint<ReorderOp, reorder>(context);
    attachAdjoint<ShiftOp, shift>(context);
    attachAdjoint<HaloOp, adjointOfHalo>(context);
    attachAdjoint<ScanStateOp, adjointOfScanState>(context);
  });
}

} // namespace cp
