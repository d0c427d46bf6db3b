//===- Heads.cpp - Channels as heads ----------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Heads.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {

static SmallVector<ReassociationIndices> lastTwo() {
  return {{0}, {1}, {2, 3}};
}

Value splitHeads(ImplicitLocOpBuilder &builder, Value x, int64_t major,
                 int64_t minor) {
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<int64_t> shape = {type.getDimSize(0), type.getDimSize(1), major,
                                minor};
  return tensor::ExpandShapeOp::create(
      builder, RankedTensorType::get(shape, type.getElementType()), x,
      lastTwo());
}

Value mergeHeads(ImplicitLocOpBuilder &builder, Value x) {
  return tensor::CollapseShapeOp::create(builder, x, lastTwo());
}

} // namespace cp
