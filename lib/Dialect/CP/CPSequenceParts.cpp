//===- CPSequenceParts.cpp - A rank's rows as two parts ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/SequenceParts.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {

/// Splits dimension `dim` into `outer` times `inner`, then makes one of the
/// dimensions `join` and `join` + 1 of that.
static Value regroup(OpBuilder &builder, Value value, int64_t dim,
                     int64_t outer, int64_t inner, int64_t join) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = inner;
  shape.insert(shape.begin() + dim, outer);
  // Of the larger shape, with the dimensions at `at` as one.
  auto grouping = [&](int64_t at) {
    SmallVector<ReassociationIndices> groups;
    for (int64_t i = 0, e = shape.size(); i < e; ++i)
      if (i == at + 1)
        groups.back().push_back(i);
      else
        groups.push_back({i});
    return groups;
  };
  Location loc = value.getLoc();
  Value split = tensor::ExpandShapeOp::create(builder, loc, type.clone(shape),
                                              value, grouping(dim));
  return tensor::CollapseShapeOp::create(builder, loc, split, grouping(join));
}

Value seenAsParts(OpBuilder &builder, Value value, int64_t dim) {
  int64_t rows = cast<RankedTensorType>(value.getType()).getDimSize(dim);
  return regroup(builder, value, dim, 2, rows / 2, /*join=*/dim - 1);
}

Value seenAsOne(OpBuilder &builder, Value value, int64_t dim) {
  int64_t parts = cast<RankedTensorType>(value.getType()).getDimSize(dim - 1);
  return regroup(builder, value, dim - 1, parts / 2, 2, /*join=*/dim);
}

} // namespace cp
