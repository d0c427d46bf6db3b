//===- ShardingModels.cpp - Sharding rules of upstream ops ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace cp {
namespace {

//===----------------------------------------------------------------------===//
// Element by element: dimension i is factor i everywhere
//===----------------------------------------------------------------------===//

TensorFactors identityFactors(Type type) {
  TensorFactors dims;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
      dims.push_back({dim});
  return dims;
}

ShardingRule elementwiseRule(Operation *op, ArrayRef<Use> uses) {
  ShardingRule rule;
  for (Type type : op->getOperandTypes())
    rule.operands.push_back(identityFactors(type));
  for (Type type : op->getResultTypes())
    rule.results.push_back(identityFactors(type));
  if (auto tensor = dyn_cast<RankedTensorType>(op->getResult(0).getType()))
    llvm::append_range(rule.sizes, tensor.getShape());
  rule.uses.assign(uses.begin(), uses.end());
  rule.uses.resize(op->getNumOperands(), Use::Other);
  return rule;
}

template <typename OpTy, Use... uses>
struct Elementwise
    : ShardingRuleOpInterface::ExternalModel<Elementwise<OpTy, uses...>, OpTy> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    return elementwiseRule(op, {uses...});
  }
};

/// A constant has any layout if all its elements are one.
struct Empty : ShardingRuleOpInterface::ExternalModel<Empty, tensor::EmptyOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    ShardingRule rule = elementwiseRule(op, {});
    rule.isZero = true;
    return rule;
  }
};

struct Constant
    : ShardingRuleOpInterface::ExternalModel<Constant, arith::ConstantOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    ShardingRule rule = elementwiseRule(op, {});
    if (!isa<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue()))
      for (DimFactors &factors : rule.results[0])
        factors.clear();
    rule.isZero = matchPattern(op, m_AnyZeroFloat());
    return rule;
  }
  void localizeSizes(Operation *op) const {
    auto constant = cast<arith::ConstantOp>(op);
    auto type = dyn_cast<RankedTensorType>(constant.getType());
    if (!type)
      return;
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      constant.setValueAttr(
          DenseElementsAttr::get(type, splat.getSplatValue<Attribute>()));
    else if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
      constant.setValueAttr(dense.reshape(type));
  }
};

//===----------------------------------------------------------------------===//
// Structured ops: factors are loops
//===----------------------------------------------------------------------===//

TensorFactors mappedFactors(AffineMap map) {
  TensorFactors dims;
  for (AffineExpr expr : map.getResults()) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    dims.push_back(loop ? DimFactors{static_cast<int64_t>(loop.getPosition())}
                        : DimFactors());
  }
  return dims;
}

/// Whether the payload is the sum of two of its arguments.
bool isAddition(linalg::LinalgOp op) {
  Block &body = op->getRegion(0).front();
  Operation &sum = body.front();
  return llvm::hasNItems(body.getOperations(), 2) && isa<arith::AddFOp>(sum) &&
         body.getTerminator()->getOperand(0) == sum.getResult(0) &&
         llvm::all_of(sum.getOperands(), [&](Value value) {
           return isa<BlockArgument>(value) && value.getParentBlock() == &body;
         });
}

/// Whether reduction loops sum up, so that parts of a sum can be added.
bool sumsUp(linalg::LinalgOp op) {
  return linalg::isaContractionOpInterface(op) ||
         (isAddition(op) &&
          op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)));
}

/// How a structured op uses its operands. What a sum starts from is a term.
SmallVector<Use> structuredUses(linalg::LinalgOp op) {
  bool sums = op.getNumReductionLoops() > 0 && sumsUp(op);
  Use use = Use::Other;
  if (sums || linalg::isaContractionOpInterface(op) ||
      isa<linalg::FillOp, linalg::TransposeOp, linalg::BroadcastOp>(op))
    use = Use::Additive;
  else if (isAddition(op))
    use = Use::Term;
  SmallVector<Use> uses(op->getNumOperands(), use);
  for (OpOperand &init : op.getDpsInitsMutable()) {
    Use &start = uses[init.getOperandNumber()];
    if (!op.payloadUsesValueFromOperand(&init))
      start = Use::Unread;
    else if (use != Use::Other)
      start = Use::Term;
  }
  return uses;
}

/// Loops that every rank must run in full: those whose number is computed with,
/// which a part of the loop would count from zero, those that run along two
/// dimensions of one operand, and reductions that are no sums.
llvm::SmallDenseSet<int64_t> wholeLoops(linalg::LinalgOp op) {
  llvm::SmallDenseSet<int64_t> whole;
  op->walk([&](linalg::IndexOp index) { whole.insert(index.getDim()); });
  for (AffineMap map : op.getIndexingMapsArray()) {
    llvm::SmallDenseSet<int64_t> seen;
    for (AffineExpr result : map.getResults())
      result.walk([&](AffineExpr part) {
        auto loop = dyn_cast<AffineDimExpr>(part);
        if (loop && (part != result || !seen.insert(loop.getPosition()).second))
          whole.insert(loop.getPosition());
      });
  }
  if (sumsUp(op))
    return whole;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      whole.insert(loop);
  return whole;
}

void forbidCuts(const llvm::SmallDenseSet<int64_t> &loops,
                SmallVectorImpl<TensorFactors> &tensors) {
  for (TensorFactors &dims : tensors)
    for (DimFactors &factors : dims)
      if (!factors.empty() && loops.contains(factors.front()))
        factors.clear();
}

template <typename OpTy>
struct Structured
    : ShardingRuleOpInterface::ExternalModel<Structured<OpTy>, OpTy> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    auto structured = cast<linalg::LinalgOp>(op);
    if (!structured.hasPureTensorSemantics())
      return op->emitOpError("works on buffers, which have no layouts; shard "
                             "the program while it is on tensors");
    ShardingRule rule;
    rule.sizes = structured.getStaticLoopRanges();
    for (OpOperand &operand : op->getOpOperands())
      rule.operands.push_back(
          mappedFactors(structured.getMatchingIndexingMap(&operand)));
    for (OpOperand &init : structured.getDpsInitsMutable())
      rule.results.push_back(
          mappedFactors(structured.getMatchingIndexingMap(&init)));
    for (auto [loop, kind] :
         llvm::enumerate(structured.getIteratorTypesArray()))
      if (kind == utils::IteratorType::reduction)
        rule.reductions.push_back(loop);
    rule.uses = structuredUses(structured);
    llvm::SmallDenseSet<int64_t> whole = wholeLoops(structured);
    forbidCuts(whole, rule.operands);
    forbidCuts(whole, rule.results);
    auto fill = dyn_cast<linalg::FillOp>(op);
    rule.isZero = fill && matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
    return rule;
  }
};

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

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
    SmallVector<int64_t> sizes(slice.getStaticSizes());
    RankedTensorType source = slice.getSourceType();
    LayoutAttr layout = LayoutAttr::of(source);
    if (!layout || LayoutAttr::of(slice.getType()))
      return;
    Mesh mesh = layout.getMesh().toMesh();
    for (auto [dim, cuts] : llvm::enumerate(layout.toLayout().dims))
      for (const Cut &cut : cuts)
        sizes[dim] /= mesh.axes[cut.axis].size;
    slice.setStaticSizes(sizes);
  }
};

/// Upstream's verifier cuts the indices of merged dimensions to 32 bits before
/// it looks at them, and passes others here as they are.
LogicalResult checkGroups(Operation *op, ArrayRef<ReassociationIndices> groups,
                          int64_t rank) {
  int64_t next = 0;
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
                           expand.getResultType().getRank())))
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
                           collapse.getSrcType().getRank())))
      return failure();
    return reshapeRule(collapse.getReassociationIndices(),
                       collapse.getSrcType(), /*expands=*/false);
  }
};

//===----------------------------------------------------------------------===//
// Attaching
//===----------------------------------------------------------------------===//

template <typename... OpTys> void attachElementwise(MLIRContext *context) {
  (OpTys::template attachInterface<Elementwise<OpTys>>(*context), ...);
}

template <typename... OpTys> void attachStructured(MLIRContext *context) {
  (OpTys::template attachInterface<Structured<OpTys>>(*context), ...);
}

void attachArith(MLIRContext *context, arith::ArithDialect *) {
  constexpr Use additive = Use::Additive, term = Use::Term;
  arith::AddFOp::attachInterface<Elementwise<arith::AddFOp, term, term>>(
      *context);
  arith::SubFOp::attachInterface<Elementwise<arith::SubFOp, term, term>>(
      *context);
  arith::MulFOp::attachInterface<
      Elementwise<arith::MulFOp, additive, additive>>(*context);
  arith::DivFOp::attachInterface<Elementwise<arith::DivFOp, additive>>(
      *context);
  arith::NegFOp::attachInterface<Elementwise<arith::NegFOp, additive>>(
      *context);
  arith::ExtFOp::attachInterface<Elementwise<arith::ExtFOp, additive>>(
      *context);
  // Rounding each summand is not rounding the sum.
  attachElementwise<arith::TruncFOp, arith::MaximumFOp, arith::MinimumFOp,
                    arith::CmpFOp, arith::SelectOp>(context);
  arith::ConstantOp::attachInterface<Constant>(*context);
}

void attachMath(MLIRContext *context, math::MathDialect *) {
  attachElementwise<math::ExpOp, math::LogOp, math::TanhOp, math::SqrtOp,
                    math::RsqrtOp, math::ErfOp, math::AbsFOp, math::SinOp,
                    math::CosOp>(context);
}

void attachLinalg(MLIRContext *context, linalg::LinalgDialect *) {
  attachStructured<linalg::GenericOp, linalg::ContractOp, linalg::FillOp,
                   linalg::MatmulOp, linalg::BatchMatmulOp, linalg::TransposeOp,
                   linalg::BroadcastOp, linalg::MapOp, linalg::ElementwiseOp,
                   linalg::AddOp, linalg::MulOp>(context);
}

void attachTensor(MLIRContext *context, tensor::TensorDialect *) {
  tensor::EmptyOp::attachInterface<Empty>(*context);
  tensor::ExtractSliceOp::attachInterface<ExtractSlice>(*context);
  tensor::ExpandShapeOp::attachInterface<ExpandShape>(*context);
  tensor::CollapseShapeOp::attachInterface<CollapseShape>(*context);
}

} // namespace

void registerShardingRuleModels(DialectRegistry &registry) {
  registry.addExtension(attachArith);
  registry.addExtension(attachMath);
  registry.addExtension(attachLinalg);
  registry.addExtension(attachTensor);
}

} // namespace cp
