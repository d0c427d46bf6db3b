//===- NarrowGathers.cpp - Gather only what is used -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace cp {
#define GEN_PASS_DEF_NARROWGATHERS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// Where in the group's parts a slice along the gathered dimension is.
struct Source {
  /// The rank's number in the group, and the slice's start in its part.
  int64_t position, start;
};

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The one rank that holds elements [offset, offset + size) of the gathered
/// dimension side by side; nothing when they are of several, or not so.
std::optional<Source> sourceOf(AllGatherOp gather, int64_t offset,
                               int64_t size) {
  int64_t whole = typeOf(gather.getResults()[0]).getDimSize(gather.getDim());
  Cut cut = jointCut(gather.toCuts());
  int64_t ranks = gather.getGroupSize();
  Holder first = holderOf(cut, ranks, whole, offset);
  Holder last = holderOf(cut, ranks, whole, offset + size - 1);
  // A rank's elements ascend in the whole, so as many as there are between the
  // two are all of them.
  if (first.position != last.position || last.local - first.local != size - 1)
    return std::nullopt;
  return Source{first.position, first.local};
}

/// Whether the slice is known, takes whole steps and has something to take.
bool isPlain(tensor::ExtractSliceOp slice) {
  return slice.getOffsets().empty() && slice.getSizes().empty() &&
         slice.getStrides().empty() &&
         llvm::all_of(slice.getStaticStrides(),
                      [](int64_t stride) { return stride == 1; }) &&
         llvm::all_of(slice.getStaticSizes(),
                      [](int64_t size) { return size > 0; });
}

tensor::ExtractSliceOp createSlice(OpBuilder &builder, Location loc,
                                   RankedTensorType type, Value source,
                                   ArrayRef<int64_t> offsets,
                                   ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> ones(sizes.size(), 1);
  MLIRContext *context = builder.getContext();
  return tensor::ExtractSliceOp::create(
      builder, loc, type, source, getAsIndexOpFoldResult(context, offsets),
      getAsIndexOpFoldResult(context, sizes),
      getAsIndexOpFoldResult(context, ones));
}

/// Gathers a slice of each part, and takes that of the rank which has what is
/// wanted. Gives the slice of the part, or null when it would not be less.
tensor::ExtractSliceOp narrow(tensor::ExtractSliceOp slice) {
  auto gather = slice.getSource().getDefiningOp<AllGatherOp>();
  if (!gather || gather.getSources().size() != 1 || !gather->hasOneUse() ||
      !isPlain(slice) || !typeOf(gather.getResults()[0]).hasStaticShape())
    return {};
  int64_t dim = gather.getDim();
  Value source = gather.getSources()[0];
  RankedTensorType part = typeOf(source);
  SmallVector<int64_t> offsets(slice.getStaticOffsets());
  SmallVector<int64_t> sizes(slice.getStaticSizes());
  if (sizes[dim] >= part.getDimSize(dim))
    return {};
  std::optional<Source> held = sourceOf(gather, offsets[dim], sizes[dim]);
  if (!held)
    return {};
  OpBuilder builder(gather);
  offsets[dim] = held->start;
  auto first = createSlice(builder, slice.getLoc(), part.clone(sizes), source,
                           offsets, sizes);
  SmallVector<int64_t> all = sizes;
  all[dim] *= gather.getGroupSize();
  auto narrowed = AllGatherOp::create(
      builder, gather.getLoc(), part.clone(all), first, gather.getMesh(),
      cutsAttr(gather.getMesh(), inContiguousOrder(gather.toCuts())), dim);
  SmallVector<int64_t> place(sizes.size(), 0);
  place[dim] = held->position * sizes[dim];
  builder.setInsertionPoint(slice);
  auto wanted = createSlice(builder, slice.getLoc(), slice.getType(),
                            narrowed.getResults()[0], place, sizes);
  slice.replaceAllUsesWith(wanted.getResult());
  slice.erase();
  gather.erase();
  return first;
}

struct NarrowGathers : impl::NarrowGathersBase<NarrowGathers> {
  void runOnOperation() override {
    SmallVector<tensor::ExtractSliceOp> slices;
    getOperation()->walk(
        [&](tensor::ExtractSliceOp slice) { slices.push_back(slice); });
    // The slice of a part may be one of a gather over other axes.
    for (tensor::ExtractSliceOp slice : slices)
      while (slice)
        slice = narrow(slice);
  }
};

} // namespace
} // namespace cp
