//===- Shapes.cpp - Adjoints of what moves elements -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Models.h"
#include "Values.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {
namespace {

template <typename OpTy, auto function>
struct Model : AdjointOpInterface::ExternalModel<Model<OpTy, function>, OpTy> {
  LogicalResult buildAdjoint(Operation *op, AdjointContext &context) const {
    Value cotangent = context.wideCotangent();
    return cotangent ? function(context, cast<OpTy>(op), cotangent) : success();
  }
};

/// The type of `value` with the elements of `cotangent`.
RankedTensorType typeLike(Value value, Value cotangent) {
  return cast<RankedTensorType>(value.getType())
      .clone(getElementTypeOrSelf(cotangent));
}

LogicalResult expand(AdjointContext &context, tensor::ExpandShapeOp op,
                     Value cotangent) {
  context.add(0, tensor::CollapseShapeOp::create(
                     context.getBuilder(), context.getLoc(),
                     typeLike(op.getSrc(), cotangent), cotangent,
                     op.getReassociationIndices()));
  return success();
}

LogicalResult collapse(AdjointContext &context, tensor::CollapseShapeOp op,
                       Value cotangent) {
  context.add(0, tensor::ExpandShapeOp::create(
                     context.getBuilder(), context.getLoc(),
                     typeLike(op.getSrc(), cotangent), cotangent,
                     op.getReassociationIndices()));
  return success();
}

/// Where a slice lies; fails where that is not known when it is compiled, or
/// it leaves elements out in between.
template <typename OpTy> LogicalResult checkSlice(OpTy op) {
  if (!llvm::any_of(op.getStaticOffsets(), ShapedType::isDynamic) &&
      !llvm::any_of(op.getStaticSizes(), ShapedType::isDynamic) &&
      llvm::all_of(op.getStaticStrides(),
                   [](int64_t stride) { return stride == 1; }))
    return success();
  return op.emitOpError("differentiate_c4: has a derivative where its offsets "
                        "and sizes are constants and its strides 1; make them "
                        "so");
}

Value sliceOf(AdjointContext &context, Value value, ArrayRef<int64_t> offsets,
              ArrayRef<int64_t> sizes) {
  OpBuilder &builder = context.getBuilder();
  auto list = [&](ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(builder.getContext(), values);
  };
  SmallVector<OpFoldResult> strides(offsets.size(), builder.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(builder, context.getLoc(), value,
                                        list(offsets), list(sizes), strides);
}

/// A value of the sizes of a slice, which may have dropped some that are 1.
Value withRank(AdjointContext &context, Value value, ArrayRef<int64_t> sizes) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == sizes)
    return value;
  auto whole = RankedTensorType::get(sizes, type.getElementType());
  auto groups = getReassociationIndicesForReshape(type, whole);
  if (static_cast<int64_t>(sizes.size()) > type.getRank())
    return tensor::ExpandShapeOp::create(context.getBuilder(), context.getLoc(),
                                         whole, value, *groups);
  return tensor::CollapseShapeOp::create(context.getBuilder(), context.getLoc(),
                                         whole, value, *groups);
}

LogicalResult extract(AdjointContext &context, tensor::ExtractSliceOp op,
                      Value cotangent) {
  if (failed(checkSlice(op)))
    return failure();
  context.addSlice(0, withRank(context, cotangent, op.getStaticSizes()),
                   op.getStaticOffsets());
  return success();
}

LogicalResult insert(AdjointContext &context, tensor::InsertSliceOp op,
                     Value cotangent) {
  if (failed(checkSlice(op)))
    return failure();
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  ArrayRef<int64_t> offsets = op.getStaticOffsets(),
                    sizes = op.getStaticSizes();
  if (context.isWanted(0))
    context.add(0,
                withRank(context, sliceOf(context, cotangent, offsets, sizes),
                         op.getSourceType().getShape()));
  if (!context.isWanted(1))
    return success();
  // What the slice has hidden.
  auto hole = RankedTensorType::get(sizes, getElementTypeOrSelf(cotangent));
  auto list = [&](ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(builder.getContext(), values);
  };
  SmallVector<OpFoldResult> strides(offsets.size(), builder.getIndexAttr(1));
  context.add(1, tensor::InsertSliceOp::create(
                     builder, loc, zerosOf(builder, loc, hole), cotangent,
                     list(offsets), list(sizes), strides));
  return success();
}

LogicalResult concat(AdjointContext &context, tensor::ConcatOp op,
                     Value cotangent) {
  auto dim = static_cast<size_t>(op.getDim());
  SmallVector<int64_t> offsets(op.getResultType().getRank(), 0);
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    ArrayRef<int64_t> sizes =
        cast<RankedTensorType>(input.getType()).getShape();
    // A slice of nothing at the end would lie outside.
    if (context.isWanted(i) && !llvm::is_contained(sizes, 0))
      context.add(i, sliceOf(context, cotangent, offsets, sizes));
    offsets[dim] += sizes[dim];
  }
  return success();
}

template <typename OpTy, auto function> void attach(MLIRContext *context) {
  OpTy::template attachInterface<Model<OpTy, function>>(*context);
}

} // namespace

void registerShapeAdjoints(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attach<tensor::ExpandShapeOp, expand>(context);
    attach<tensor::CollapseShapeOp, collapse>(context);
    attach<tensor::ExtractSliceOp, extract>(context);
    attach<tensor::InsertSliceOp, insert>(context);
    attach<tensor::ConcatOp, concat>(context);
  });
}

} // namespace cp
