//===- ShardingModels.cpp - Sharding rules of upstream ops ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardingModels.h"

#include "cp/IR/CPDialect.h"
#include "cp/IR/ShardingAdvice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace cp;

TensorFactors cp::identityFactors(Type type) {
  TensorFactors dims;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
      dims.push_back({dim});
  return dims;
}

ShardingRule cp::elementwiseRule(Operation *op, ArrayRef<Use> uses) {
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

namespace cp {
namespace {

//===----------------------------------------------------------------------===//
// Element by element: dimension i is factor i everywhere
//===----------------------------------------------------------------------===//

template <typename OpTy, Use... uses>
struct Elementwise
    : ShardingRuleOpInterface::ExternalModel<Elementwise<OpTy, uses...>, OpTy> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    return elementwiseRule(op, {uses...});
  }
};

/// What works on each element by itself and has no other rule, by its name
/// alone. Nothing is known of sums.
struct AnyElementwise : ShardingRuleOpInterface::FallbackModel<AnyElementwise> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    return elementwiseRule(op, {});
  }
  void localizeSizes(Operation *) const {}
};

/// A constant has any layout if all its elements are one.
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

/// Whether each result is what there was of it plus something that is computed
/// without it.
bool addsToResults(linalg::LinalgOp op) {
  Block &body = op->getRegion(0).front();
  return llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
    BlockArgument soFar = op.getMatchingBlockArgument(&init);
    unsigned result = op.getTiedOpResult(&init).getResultNumber();
    auto sum =
        body.getTerminator()->getOperand(result).getDefiningOp<arith::AddFOp>();
    return sum && soFar.hasOneUse() &&
           *soFar.user_begin() == sum.getOperation() && sum->hasOneUse();
  });
}

/// Whether reduction loops sum up, so that parts of a sum can be added. Ranks
/// add floating-point numbers only.
bool sumsUp(linalg::LinalgOp op) {
  if (!llvm::all_of(op.getDpsInits(), [](Value init) {
        return isa<FloatType>(getElementTypeOrSelf(init));
      }))
    return false;
  return linalg::isaContractionOpInterface(op) || addsToResults(op);
}

/// How a structured op uses its operands. What a sum starts from is a term.
SmallVector<Use> structuredUses(linalg::LinalgOp op) {
  bool sums = op.getNumReductionLoops() > 0 && sumsUp(op);
  bool isContraction = linalg::isaContractionOpInterface(op);
  Use use = Use::Other;
  if ((sums && isAddition(op)) || isContraction ||
      isa<linalg::FillOp, linalg::TransposeOp, linalg::BroadcastOp>(op))
    use = Use::Additive;
  else if (isAddition(op))
    use = Use::Term;
  SmallVector<Use> uses(op->getNumOperands(), use);
  for (OpOperand &init : op.getDpsInitsMutable()) {
    Use &start = uses[init.getOperandNumber()];
    if (!op.payloadUsesValueFromOperand(&init))
      start = Use::Unread;
    else if (use != Use::Other || sums)
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

/// Every structured op says by itself how its loops run over its operands.
struct Structured : ShardingRuleOpInterface::FallbackModel<Structured> {
  void localizeSizes(Operation *) const {}
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
    SmallVector<unsigned> loops;
    structured.getReductionDims(loops);
    rule.sums.assign(rule.results.size(),
                     DimFactors(loops.begin(), loops.end()));
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
// Attaching
//===----------------------------------------------------------------------===//

/// Gives `Model` to the ops of a dialect that `isMeant`, have no rule yet and
/// are not refused by name: one that upstream adds has it too.
template <typename Model, typename FilterFn>
void attachToOthers(MLIRContext *context, StringRef dialect, FilterFn isMeant) {
  // Upstream's list by dialect misses whole dialects.
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (name.getDialectNamespace() == dialect && isMeant(name) &&
        !name.hasInterface<ShardingRuleOpInterface>() &&
        shardingAdvice(name.getStringRef()).empty())
      name.attachInterface<Model>();
}

bool isElementwise(RegisteredOperationName name) {
  return name.hasTrait<OpTrait::Elementwise>();
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
  arith::ConstantOp::attachInterface<Constant>(*context);
  // The others are not linear: rounding each summand, say, is not rounding the
  // sum.
  attachToOthers<AnyElementwise>(context, "arith", isElementwise);
}

void attachMath(MLIRContext *context, math::MathDialect *) {
  attachToOthers<AnyElementwise>(context, "math", isElementwise);
}

void attachLinalg(MLIRContext *context, linalg::LinalgDialect *) {
  attachToOthers<Structured>(context, "linalg",
                             [](RegisteredOperationName name) {
                               return name.hasInterface<linalg::LinalgOp>();
                             });
}

} // namespace

void registerShardingRuleModels(DialectRegistry &registry) {
  registry.addExtension(attachArith);
  registry.addExtension(attachMath);
  registry.addExtension(attachLinalg);
  registerTensorShardingModels(registry);
}

} // namespace cp
