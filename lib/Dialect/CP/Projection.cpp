//===- Projection.cpp - Contractions with a weight --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/Projection.h"

#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {

Value createProjection(ImplicitLocOpBuilder &builder, Value x, Value weight) {
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = cast<RankedTensorType>(weight.getType()).getShape()[0];
  Type element = type.getElementType();
  Value empty = tensor::EmptyOp::create(builder, shape, element);
  Value zero =
      arith::ConstantOp::create(builder, builder.getFloatAttr(element, 0.0));
  Value init = linalg::FillOp::create(builder, zero, empty).getResult(0);
  AffineExpr batch, length, out, in;
  bindDims(builder.getContext(), batch, length, out, in);
  auto map = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(4, 0, exprs, builder.getContext());
  };
  ArrayAttr maps = builder.getAffineMapArrayAttr(
      {map({batch, length, in}), map({out, in}), map({batch, length, out})});
  return linalg::ContractOp::create(builder, TypeRange{init.getType()},
                                    ValueRange{x, weight}, ValueRange{init},
                                    maps)
      .getResult(0);
}

static Value addBias(ImplicitLocOpBuilder &b, Value y, Value bias) {
  auto type = cast<RankedTensorType>(y.getType());
  AffineMap whole = b.getMultiDimIdentityMap(type.getRank());
  AffineMap last = whole.getMinorSubMap(1);
  Value out =
      tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto add = linalg::GenericOp::create(
      b, TypeRange{type}, ValueRange{y, bias}, ValueRange{out},
      ArrayRef<AffineMap>{whole, last, whole}, loops,
      [](OpBuilder &nested, Location loc, ValueRange args) {
        Value sum = arith::AddFOp::create(nested, loc, args[0], args[1]);
        linalg::YieldOp::create(nested, loc, sum);
      });
  return add.getResult(0);
}

Value createLinear(ImplicitLocOpBuilder &builder, Value x, Value weight,
                   Value bias, Parallel parallel) {
  Value y = createProjection(builder, x, weight);
  StringRef text = parallel == Parallel::Columns ? "columns" : "rows";
  y.getDefiningOp()->setAttr(parallelAttr, builder.getStringAttr(text));
  return bias ? addBias(builder, y, bias) : y;
}

} // namespace cp
