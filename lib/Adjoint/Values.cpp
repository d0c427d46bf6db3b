//===- Values.cpp - Values that adjoints are made of ----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Values.h"

#include "cp/Adjoint/Adjoint.h"
#include "cp/IR/CPDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {

Value constantOf(OpBuilder &builder, Location loc, Type type, double value) {
  TypedAttr attr = builder.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    attr = DenseElementsAttr::get(tensor, attr);
  return arith::ConstantOp::create(builder, loc, attr);
}

Value emptyOf(OpBuilder &builder, Location loc, RankedTensorType type) {
  return tensor::EmptyOp::create(builder, loc, type.getShape(),
                                 type.getElementType(), type.getEncoding());
}

Value zerosOf(OpBuilder &builder, Location loc, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return constantOf(builder, loc, type, 0);
  Value zero = constantOf(builder, loc, tensor.getElementType(), 0);
  return linalg::FillOp::create(builder, loc, zero,
                                emptyOf(builder, loc, tensor))
      .getResult(0);
}

/// One op over all elements of `shape`, of operands with these maps; `body`
/// gives what is yielded, of one argument each and, last, the result's element.
static Value
overElements(OpBuilder &builder, Location loc, ValueRange operands, Value init,
             ArrayRef<AffineMap> maps, int64_t kept,
             function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  SmallVector<utils::IteratorType> loops(maps[0].getNumDims(),
                                         utils::IteratorType::reduction);
  std::fill_n(loops.begin(), kept, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, TypeRange{init.getType()}, operands,
             ValueRange{init}, maps, loops,
             [&](OpBuilder &b, Location at, ValueRange args) {
               linalg::YieldOp::create(b, at, body(b, at, args));
             })
      .getResult(0);
}

/// The first `count` of `rank` dimensions; of none too, which getMajorSubMap
/// does not give.
static AffineMap firstDims(OpBuilder &builder, int64_t rank, int64_t count) {
  SmallVector<AffineExpr> dims;
  for (int64_t i = 0; i < count; ++i)
    dims.push_back(builder.getAffineDimExpr(i));
  return AffineMap::get(rank, 0, dims, builder.getContext());
}

Value scaled(OpBuilder &builder, Location loc, Value value, Value factor) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t rank = type.getRank();
  auto dims = [&](int64_t count) { return firstDims(builder, rank, count); };
  Value empty = emptyOf(builder, loc, type);
  int64_t few = cast<RankedTensorType>(factor.getType()).getRank();
  return overElements(builder, loc, {value, factor}, empty,
                      {dims(rank), dims(few), dims(rank)}, rank,
                      [](OpBuilder &b, Location at, ValueRange args) -> Value {
                        return arith::MulFOp::create(b, at, args[0], args[1]);
                      });
}

Value innerProduct(OpBuilder &builder, Location loc, Value a, Value b,
                   int64_t kept) {
  auto type = cast<RankedTensorType>(a.getType());
  int64_t rank = type.getRank();
  AffineMap all = firstDims(builder, rank, rank);
  Value zeros =
      zerosOf(builder, loc, type.clone(type.getShape().take_front(kept)));
  return overElements(
      builder, loc, {a, b}, zeros, {all, all, firstDims(builder, rank, kept)},
      kept, [](OpBuilder &b, Location at, ValueRange args) -> Value {
        return arith::AddFOp::create(
            b, at, args[2], arith::MulFOp::create(b, at, args[0], args[1]));
      });
}

StringRef adviceWithoutAdjoint(Operation *op) {
  if (isa<MambaMixerOp, AttentionBlockOp>(op))
    return "run cp-decompose first";
  if (isa<ReshardOp>(op))
    return "differentiate the function before its tensors get layouts, or run "
           "cp-partition and cp-lower-reshards first";
  return "implement AdjointOpInterface for it, or keep gradients from it by "
         "cp.stop_gradient";
}

RankedTensorType summed(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.clone(sumsOf(type.getElementType()));
}

Value sumOver(OpBuilder &builder, Location loc, Value value, int64_t dim) {
  RankedTensorType type = summed(value);
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dim);
  Value zeros = zerosOf(builder, loc, type.clone(shape));
  value = withElements(builder, loc, value, type.getElementType());
  return linalg::ReduceOp::create(
             builder, loc, value, zeros, dim,
             [](OpBuilder &b, Location at, ValueRange args) {
               linalg::YieldOp::create(
                   b, at,
                   arith::AddFOp::create(b, at, args[0], args[1]).getResult());
             })
      ->getResult(0);
}

Value sumOfRepeats(OpBuilder &builder, Location loc, Value value, int64_t dim,
                   int64_t times, int64_t unit) {
  if (times == 1)
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> source(type.getShape());
  source[dim] /= times;
  SmallVector<int64_t> shape(source);
  shape[dim] /= unit;
  shape.insert(shape.begin() + dim + 1, {times, unit});
  SmallVector<ReassociationIndices> groups, back;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    int64_t first = i + (i > dim ? 2 : 0), firstBack = i + (i > dim ? 1 : 0);
    groups.push_back(i == dim ? ReassociationIndices{i, i + 1, i + 2}
                              : ReassociationIndices{first});
    back.push_back(i == dim ? ReassociationIndices{i, i + 1}
                            : ReassociationIndices{firstBack});
  }
  Value parts = tensor::ExpandShapeOp::create(builder, loc, type.clone(shape),
                                              value, groups);
  Value sum = sumOver(builder, loc, parts, dim + 1);
  return tensor::CollapseShapeOp::create(
      builder, loc, RankedTensorType::get(source, getElementTypeOrSelf(sum)),
      sum, back);
}

} // namespace cp
