//===- Projection.cpp - Contractions with a weight --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/Projection.h"

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

} // namespace cp
