//===- TensorShardingModels.cpp - Rules of tensor ops -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardingModels.h"

#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cp {
namespace {

struct Empty : ShardingRuleOpInterface::ExternalModel<Empty, tensor::EmptyOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    ShardingRule rule = elementwiseRule(op, {});
    rule.isZero = true;
    return rule;
  }
};

struct ExtractSlice
    : ShardingRuleOpInterface::ExternalModel<ExtractSlice,
                                             tensor::ExtractSliceOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    ShardingRule rule = elementwiseRule(op, {Use::Additive});
    rule.sizes.assign(slice.getSourceType().getShape().begin(),
                      slice.getSourceType().getShape().end());
    rule.results[0].clear();
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    for (auto [dim, size] : llvm::enumerate(slice.getSourceType().getShape())) {
      // Of what a rank does not have in full it knows no place.
      if (dropped.test(dim) || ShapedType::isDynamic(size) ||
          slice.getStaticSizes()[dim] != size)
        rule.operands[0][dim].clear();
      if (!dropped.test(dim))
        rule.results[0].push_back(rule.operands[0][dim]);
    }
    return rule;
  }
  void localizeSizes(Operation *op) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    // Which dimension is dropped does not show in a part's shape, so sizes are
    // those of the source's parts; its type is the last to become local.
    RankedTensorType source = slice.getSourceType();
    LayoutAttr layout = LayoutAttr::of(source);
    if (!layout || LayoutAttr::of(slice.getType()))
      return;
    slice.setStaticSizes(
        localShape(layout.toLayout(), slice.getStaticSizes().vec()));
  }
};

/// Upstream's verifier cuts the indices of merged dimensions to 32 bits before
/// it looks at them, and passes others here as they are.
LogicalResult checkGroups(Operation *op, ArrayRef<ReassociationIndices> groups,
                          RankedTensorType expanded) {
  int64_t next = 0, rank = expanded.getRank();
  // A scalar, and one element.
  if (groups.empty() && expanded.hasStaticShape() &&
      expanded.getNumElements() == 1)
    return success();
  bool inOrder = llvm::all_of(groups, [&](const ReassociationIndices &group) {
    return llvm::all_of(group, [&](int64_t dim) { return dim == next++; });
  });
  if (inOrder && next == rank)
    return success();
  return op->emitOpError("must list each of the ")
         << rank << " dimensions that it merges or splits once and in order";
}

/// A merged dimension runs over the factors of the dimensions it merges.
ShardingRule reshapeRule(ArrayRef<ReassociationIndices> groups,
                         RankedTensorType expanded, bool expands) {
  ShardingRule rule;
  TensorFactors merged, apart = identityFactors(expanded);
  for (const ReassociationIndices &group : groups) {
    DimFactors factors;
    for (int64_t dim : group)
      if (expanded.getDimSize(dim) != 1 || group.size() == 1)
        factors.push_back(dim);
    // A cut of a merged dimension goes through its major factor, so no other
    // one may be cut where it stands by itself.
    for (int64_t minor : ArrayRef(factors).drop_front(!factors.empty()))
      apart[minor].clear();
    merged.push_back(factors);
  }
  if (groups.empty())
    llvm::for_each(apart, [](DimFactors &factors) { factors.clear(); });
  rule.sizes.assign(expanded.getShape().begin(), expanded.getShape().end());
  rule.operands.push_back(expands ? merged : apart);
  rule.results.push_back(expands ? apart : merged);
  rule.uses.push_back(Use::Additive);
  return rule;
}

struct ExpandShape
    : ShardingRuleOpInterface::ExternalModel<ExpandShape,
                                             tensor::ExpandShapeOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    auto expand = cast<tensor::ExpandShapeOp>(op);
    if (failed(checkGroups(op, expand.getReassociationIndices(),
                           expand.getResultType())))
      return failure();
    ShardingRule rule = reshapeRule(expand.getReassociationIndices(),
                                    expand.getResultType(), /*expands=*/true);
    // Sizes given as values are of no dimension.
    rule.operands.resize(op->getNumOperands());
    rule.uses.resize(op->getNumOperands(), Use::Other);
    return rule;
  }
  void localizeSizes(Operation *op) const {
    auto expand = cast<tensor::ExpandShapeOp>(op);
    expand.setStaticOutputShape(expand.getResultType().getShape());
  }
};

struct CollapseShape
    : ShardingRuleOpInterface::ExternalModel<CollapseShape,
                                             tensor::CollapseShapeOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    auto collapse = cast<tensor::CollapseShapeOp>(op);
    if (failed(checkGroups(op, collapse.getReassociationIndices(),
                           collapse.getSrcType())))
      return failure();
    return reshapeRule(collapse.getReassociationIndices(),
                       collapse.getSrcType(), /*expands=*/false);
  }
};

/// Keeps the factors of dimensions of one size only: of others a rank has
/// neither all nor a known part.
void keepEqualDims(ShardingRule &rule, Operation *op) {
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  for (auto [type, dims] : llvm::zip(op->getOperandTypes(), rule.operands)) {
    auto operand = dyn_cast<RankedTensorType>(type);
    for (int64_t dim = 0; operand && dim < result.getRank(); ++dim)
      if (operand.getDimSize(dim) != result.getDimSize(dim))
        for (TensorFactors &tensor :
             llvm::concat<TensorFactors>(rule.operands, rule.results))
          if (!tensor.empty())
            tensor[dim].clear();
  }
}

struct InsertSlice
    : ShardingRuleOpInterface::ExternalModel<InsertSlice,
                                             tensor::InsertSliceOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    auto slice = cast<tensor::InsertSliceOp>(op);
    if (slice.getType().getRank() != slice.getSourceType().getRank())
      return op->emitOpError("adds dimensions, which cannot be sharded; expand "
                             "and insert in two ops");
    ShardingRule rule = elementwiseRule(op, {Use::Term, Use::Term});
    keepEqualDims(rule, op);
    return rule;
  }
  void localizeSizes(Operation *op) const {
    auto slice = cast<tensor::InsertSliceOp>(op);
    // The result is local already, the operands are not yet: what has the
    // destination's size is as long as the result's.
    SmallVector<int64_t> sizes(slice.getStaticSizes());
    for (auto [size, whole, local] : llvm::zip_equal(
             sizes,
             cast<RankedTensorType>(slice.getDest().getType()).getShape(),
             slice.getType().getShape()))
      if (size == whole)
        size = local;
    slice.setStaticSizes(sizes);
  }
};

/// One tensor behind the other, along a dimension that stays whole. Put
/// together of parts of sums, as is a tensor with a slice in it, it is a part
/// itself.
struct Concat
    : ShardingRuleOpInterface::ExternalModel<Concat, tensor::ConcatOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    SmallVector<Use> terms(op->getNumOperands(), Use::Term);
    ShardingRule rule = elementwiseRule(op, terms);
    int64_t dim = cast<tensor::ConcatOp>(op).getDim();
    for (TensorFactors &tensor :
         llvm::concat<TensorFactors>(rule.operands, rule.results))
      tensor[dim].clear();
    return rule;
  }
};

/// What is padded stays whole, and so does what the padding is counted along.
struct Pad : ShardingRuleOpInterface::ExternalModel<Pad, tensor::PadOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    auto pad = cast<tensor::PadOp>(op);
    ShardingRule rule = elementwiseRule(op, {});
    keepEqualDims(rule, op);
    for (BlockArgument index : pad.getRegion().getArguments())
      if (!index.use_empty())
        rule.operands[0][index.getArgNumber()].clear(),
            rule.results[0][index.getArgNumber()].clear();
    return rule;
  }
};

template <typename OpTy>
struct SameShape
    : ShardingRuleOpInterface::ExternalModel<SameShape<OpTy>, OpTy> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    return elementwiseRule(op, {});
  }
};

void attachTensor(MLIRContext *context, tensor::TensorDialect *) {
  tensor::EmptyOp::attachInterface<Empty>(*context);
  tensor::ExtractSliceOp::attachInterface<ExtractSlice>(*context);
  tensor::InsertSliceOp::attachInterface<InsertSlice>(*context);
  tensor::ExpandShapeOp::attachInterface<ExpandShape>(*context);
  tensor::CollapseShapeOp::attachInterface<CollapseShape>(*context);
  tensor::ConcatOp::attachInterface<Concat>(*context);
  tensor::PadOp::attachInterface<Pad>(*context);
  tensor::SplatOp::attachInterface<SameShape<tensor::SplatOp>>(*context);
  tensor::BitcastOp::attachInterface<SameShape<tensor::BitcastOp>>(*context);
}

} // namespace

void registerTensorShardingModels(DialectRegistry &registry) {
  registry.addExtension(attachTensor);
}

} // namespace cp
