//===- RowSlices.cpp - Rows of a tensor of tokens ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/RowSlices.h"

#include "VerifyUtils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {
namespace {

struct Range {
  SmallVector<OpFoldResult> offsets, sizes, strides;

  Range(Value value, int64_t dim, int64_t first, int64_t count) {
    SmallVector<int64_t> shape(shapeOf(value)), from(shape.size(), 0),
        ones(shape.size(), 1);
    shape[dim] = count;
    from[dim] = first;
    MLIRContext *context = value.getContext();
    offsets = getAsIndexOpFoldResult(context, from);
    sizes = getAsIndexOpFoldResult(context, shape);
    strides = getAsIndexOpFoldResult(context, ones);
  }
};

} // namespace

/// Without elements; slices of what has a dimension of size 0 would begin
/// behind its end, which the verifier of slices refuses.
static bool isEmpty(Value value) {
  return llvm::is_contained(shapeOf(value), 0);
}

Value sliceAlong(OpBuilder &builder, Location loc, Value value, int64_t dim,
                 int64_t first, int64_t count) {
  if (isEmpty(value)) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = count;
    return tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
  }
  Range range(value, dim, first, count);
  return tensor::ExtractSliceOp::create(builder, loc, value, range.offsets,
                                        range.sizes, range.strides);
}

Value putAlong(OpBuilder &builder, Location loc, Value piece, Value into,
               int64_t dim, int64_t at) {
  if (isEmpty(into))
    return into;
  Range range(into, dim, at, shapeOf(piece)[dim]);
  return tensor::InsertSliceOp::create(builder, loc, piece, into, range.offsets,
                                       range.sizes, range.strides);
}

Value sliceRows(OpBuilder &builder, Location loc, Value value, int64_t first,
                int64_t count) {
  return sliceAlong(builder, loc, value, 1, first, count);
}

Value putRows(OpBuilder &builder, Location loc, Value rows, Value into,
              int64_t at) {
  return putAlong(builder, loc, rows, into, 1, at);
}

} // namespace cp
