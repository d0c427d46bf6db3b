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

Value zerosOf(OpBuilder &builder, Location loc, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return constantOf(builder, loc, type, 0);
  Value zero = constantOf(builder, loc, tensor.getElementType(), 0);
  Value empty = tensor::EmptyOp::create(builder, loc, tensor.getShape(),
                                        tensor.getElementType());
  return linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
}

StringRef adviceWithoutAdjoint(Operation *op) {
  if (isa<MambaMixerOp, AttentionBlockOp>(op))
    return "run cp-decompose first";
  if (isa<ReshardOp>(op))
    return "differentiate the function before its tensors get layouts";
  return "implement AdjointOpInterface for it, or keep gradients from it by "
         "cp.stop_gradient";
}

} // namespace cp
