//===- FitHeads.cpp - As many heads as ranks can share ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Heads are cut with the groups that they share: head i of h uses group i g/h
// of g, on each rank as in the whole. Ranks that do not divide the groups get
// finer ones, each group several times, and what is missing then are heads of
// zeros behind the last.
//
//===----------------------------------------------------------------------===//

#include "FitHeads.h"

#include "VerifyUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {
namespace {

struct Fit {
  /// How often each group stands.
  int64_t times = 1;
  /// Of the rank that has most.
  int64_t groups = 0, heads = 0;
};

} // namespace

/// The fewest heads on the busiest rank, and the fewest groups for these.
static Fit bestFit(int64_t heads, int64_t groups, int64_t parts) {
  Fit best;
  int64_t most = heads / groups;
  auto consider = [&](int64_t times) {
    int64_t local = llvm::divideCeil(groups * times, parts);
    int64_t busiest = local * (most / times);
    bool isBetter = best.heads == 0 || busiest < best.heads ||
                    (busiest == best.heads && times < best.times);
    if (isBetter)
      best = {times, local, busiest};
  };
  // Divisors come in pairs, and of any real model a few.
  for (int64_t times = 1; times <= most / times && times < 1 << 16; ++times)
    if (most % times == 0) {
      consider(times);
      consider(most / times);
    }
  return best;
}

static RankedTensorType resized(Value value, int64_t dim, int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return type.clone(shape);
}

static Value repeated(OpBuilder &builder, Location loc, Value value,
                      int64_t dim, int64_t times) {
  if (times == 1)
    return value;
  Type type = resized(value, dim, shapeOf(value)[dim] * times);
  return RepeatOp::create(builder, loc, type, value, dim, /*unit=*/1, times);
}

static SmallVector<OpFoldResult> indices(OpBuilder &builder,
                                         ArrayRef<int64_t> values) {
  return getAsIndexOpFoldResult(builder.getContext(), values);
}

/// With zeros behind it up to `size`.
static Value padded(OpBuilder &builder, Location loc, Value value, int64_t dim,
                    int64_t size) {
  ArrayRef<int64_t> have = shapeOf(value);
  if (have[dim] == size)
    return value;
  auto type = resized(value, dim, size);
  SmallVector<int64_t> zeros(have.size(), 0), ones(have.size(), 1);
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  Value empty = tensor::EmptyOp::create(
      builder, loc, type.getShape(), type.getElementType(), type.getEncoding());
  Value into = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  return tensor::InsertSliceOp::create(
      builder, loc, value, into, indices(builder, zeros),
      indices(builder, have), indices(builder, ones));
}

/// Makes a result longer, and gives what uses it the part that was there.
static void padResult(OpBuilder &builder, OpResult result, int64_t dim,
                      int64_t size) {
  auto had = cast<RankedTensorType>(result.getType());
  if (had.getDimSize(dim) == size)
    return;
  result.setType(resized(result, dim, size));
  if (result.use_empty())
    return;
  SmallVector<int64_t> zeros(had.getRank(), 0), ones(had.getRank(), 1);
  auto part = tensor::ExtractSliceOp::create(
      builder, result.getLoc(), had, result, indices(builder, zeros),
      indices(builder, had.getShape()), indices(builder, ones));
  result.replaceAllUsesExcept(part, part);
}

LogicalResult fitHeads(Operation *op, OpBuilder &builder, int64_t parts,
                       const HeadTensors &tensors) {
  auto [first, firstDim] = tensors.heads.front();
  auto [shared, sharedDim] = tensors.groups.front();
  int64_t heads = shapeOf(first->get())[firstDim];
  int64_t groups = shapeOf(shared->get())[sharedDim];
  // Unknown sizes are refused where cuts are chosen.
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(groups))
    return success();
  if (heads < parts)
    return op->emitOpError("hidden_c1: ")
           << parts << " ranks cannot share " << heads
           << " heads; use fewer ranks there, or " << tensors.otherwise
           << ", which cuts heads over tp alone";
  Fit fit = bestFit(heads, groups, parts);
  int64_t all = 0;
  if (llvm::MulOverflow(fit.heads, parts, all))
    return op->emitOpError("hidden_c1: ")
           << heads << " heads on " << parts
           << " ranks are more than 64 bits count; use fewer ranks";
  Location loc = op->getLoc();
  builder.setInsertionPoint(op);
  for (auto [operand, dim] : tensors.heads)
    operand->set(padded(builder, loc, operand->get(), dim, all));
  for (auto [operand, dim] : tensors.groups)
    operand->set(padded(builder, loc,
                        repeated(builder, loc, operand->get(), dim, fit.times),
                        dim, fit.groups * parts));
  if (all == heads)
    return success();
  builder.setInsertionPointAfter(op);
  for (auto [result, dim] : tensors.results)
    padResult(builder, result, dim, all);
  // Its values are no longer those of the whole program's op.
  op->removeAttr(numberAttr);
  return success();
}

} // namespace cp
