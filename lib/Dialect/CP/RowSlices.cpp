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

struct RowRange {
  SmallVector<OpFoldResult> offsets, sizes, strides;

  RowRange(Value value, int64_t first, int64_t count) {
    SmallVector<int64_t> shape(shapeOf(value)), from(shape.size(), 0),
        ones(shape.size(), 1);
    shape[1] = count;
    from[1] = first;
    MLIRContext *context = value.getContext();
    offsets = getAsIndexOpFoldResult(context, from);
    sizes = getAsIndexOpFoldResult(context, shape);
    strides = getAsIndexOpFoldResult(context, ones);
  }
};

} // namespace

Value sliceRows(OpBuilder &builder, Location loc, Value value, int64_t first,
                int64_t count) {
  RowRange range(value, first, count);
  return tensor::ExtractSliceOp::create(builder, loc, value, range.offsets,
                                        range.sizes, range.strides);
}

Value putRows(OpBuilder &builder, Location loc, Value rows, Value into,
              int64_t at) {
  RowRange range(into, at, shapeOf(rows)[1]);
  return tensor::InsertSliceOp::create(builder, loc, rows, into, range.offsets,
                                       range.sizes, range.strides);
}

} // namespace cp
