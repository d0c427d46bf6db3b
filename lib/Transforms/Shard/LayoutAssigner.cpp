//===- LayoutAssigner.cpp - One sweep that gives layouts --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutAssigner.h"

#include "Explain/RemarkText.h"
#include "cp/IR/ShardingAdvice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace cp {

LayoutAttr LayoutAssigner::attr(const Layout &layout) {
  return LayoutAttr::get(meshAttr.getContext(), layout);
}

LogicalResult LayoutAssigner::run(FunctionOpInterface function) {
  if (!llvm::hasSingleElement(function.getFunctionBody()))
    return function->emitOpError("must have one block: control flow is not "
                                 "sharded yet");
  if (failed(assignArguments(function)))
    return failure();
  if (failed(orders.run(function)))
    return failure();
  findGradients(function);
  if (wantsRemarks(function))
    remarks.emplace(function);
  SmallVector<Operation *> ops;
  for (Operation &op : function.getFunctionBody().front())
    ops.push_back(&op);
  for (Operation *op : ops)
    if (failed(visit(op)))
      return failure();
  finish(function);
  return success();
}

/// Activations are added up at once, since ops between would round; but several
/// sums of the same tensor, such as its cotangent from each projection that
/// reads it, become one first.
PartialSums::Passed LayoutAssigner::passedBy(Operation *op) const {
  bool isOfTokens = llvm::any_of(op->getOperands(), [&](Value value) {
    return sequenceDims.contains(value);
  });
  if (!isOfTokens)
    return PartialSums::Passed::SumsAndParts;
  return isa<arith::AddFOp>(op) &&
                 !getElementTypeOrSelf(op->getResult(0)).isBF16()
             ? PartialSums::Passed::Sums
             : PartialSums::Passed::None;
}

LogicalResult LayoutAssigner::visit(Operation *op) {
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return visitReshard(reshard);
  if (isFree(op))
    return success();
  if (op->hasTrait<OpTrait::IsTerminator>())
    return visitTerminator(op);
  auto rules = dyn_cast<ShardingRuleOpInterface>(op);
  if (!rules)
    return visitWithoutRule(op);
  FailureOr<ShardingRule> rule = rules.getShardingRule();
  if (failed(rule))
    return failure();
  layGradients(op);
  noteSequence(op, *rule, sequenceFactorOf(op, *rule, sequenceDims),
               sequenceDims);
  noteFactor(op, *rule, factorOf(op, *rule, batchDims), batchDims);
  FactorCuts cuts = chooseCuts(op, *rule);
  if (failed(checkDivides(op, *rule, cuts)))
    return failure();
  PartialSums sums(op, *rule, cuts, passedBy(op));
  auto layoutOf = [&](const TensorFactors &dims, std::vector<int> partial) {
    Layout layout = layoutFor(*rule, dims, cuts, mesh);
    layout.partial = std::move(partial);
    return attr(layout);
  };
  for (auto [operand, dims] :
       llvm::zip_equal(op->getOpOperands(), rule->operands))
    if (isTensor(operand.get()))
      values.materialize(operand, layoutOf(dims, sums.ofOperand(operand)));
  for (auto [i, result, dims] :
       llvm::enumerate(op->getResults(), rule->results)) {
    if (!isTensor(result))
      continue;
    LayoutAttr layout = layoutOf(dims, sums.ofResult(i));
    // Operands may know a size that the result does not say.
    auto type = cast<RankedTensorType>(result.getType());
    if (failed(layout.verifyEncoding(type.getShape(), type.getElementType(),
                                     [&]() { return op->emitOpError(); })))
      return failure();
    setLayout(result, layout);
  }
  // A constant's value has its type.
  rules.localizeSizes();
  returnAsTheyCame(op);
  return success();
}

/// Whether an operand was gathered for its op over all axes of this sum, which
/// lies as the operand does.
static bool wasGatheredFor(ReshardOp gather, OpResult sum) {
  auto type = cast<RankedTensorType>(sum.getType());
  if (!gather || gather.getType().getShape() != type.getShape())
    return false;
  LayoutAttr have = LayoutAttr::of(gather.getSource().getType());
  if (!have || !have.getPartial().empty())
    return false;
  Layout from = have.toLayout(), sums = LayoutAttr::of(type).toLayout();
  Layout to = LayoutAttr::of(gather.getType()).toLayout();
  return sums.dims == to.dims && llvm::all_of(sums.partial, [&](int axis) {
           return isCutOver(from, axis);
         });
}

void LayoutAssigner::keepDims(Value from, Value to) {
  for (DenseMap<Value, int64_t> *dims : {&sequenceDims, &batchDims})
    if (auto it = dims->find(from); it != dims->end()) {
      int64_t dim = it->second;
      (*dims)[to] = dim;
    }
}

void LayoutAssigner::returnAsTheyCame(Operation *op) {
  for (OpResult result : op->getResults()) {
    LayoutAttr layout =
        isTensor(result) ? LayoutAttr::of(result.getType()) : LayoutAttr();
    if (!layout || layout.getPartial().empty())
      continue;
    for (Value operand : op->getOperands()) {
      auto gather = operand.getDefiningOp<ReshardOp>();
      if (!wasGatheredFor(gather, result))
        continue;
      Value source = gather.getSource();
      OpBuilder builder(op->getContext());
      builder.setInsertionPointAfter(op);
      auto type = cast<RankedTensorType>(result.getType())
                      .cloneWithEncoding(LayoutAttr::of(source.getType()));
      auto back = ReshardOp::create(builder, op->getLoc(), type, result,
                                    LayoutAttr(), LayoutAttr());
      result.replaceAllUsesExcept(back, back);
      keepDims(source, back);
      break;
    }
  }
}

/// A reshard that is already there pins its result's layout.
LogicalResult LayoutAssigner::visitReshard(ReshardOp op) {
  LayoutAttr to = LayoutAttr::of(op.getType());
  if (!to)
    return op.emitOpError("is of the local view ('from' and 'to'), but its "
                          "function has no cp.view; give it cp.view = "
                          "\"local\", or the types layouts");
  if (!LayoutAttr::of(op.getSource().getType()))
    op.getSourceMutable().set(values.adopt(op.getSource(), to));
  keepDims(op.getSource(), op.getResult());
  return success();
}

/// Without a rule an op may see replicas only.
LogicalResult LayoutAssigner::visitWithoutRule(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isTensor(operand.get()))
      continue;
    LayoutAttr layout = LayoutAttr::of(operand.get().getType());
    if (layout && !layout.getPartial().empty()) {
      layout = withoutSums(layout);
      values.materialize(operand, layout);
    }
    if (layout && !layout.isReplicated())
      return op->emitOpError("verify_c2: has no sharding rule, but operand ")
             << operand.getOperandNumber() << " is cut (" << layout << "); "
             << withoutRule(op) << ", or gather the operand by a cp.reshard";
  }
  for (Value value : llvm::concat<Value>(SmallVector<Value>(op->getOperands()),
                                         SmallVector<Value>(op->getResults())))
    if (isTensor(value) && !LayoutAttr::of(value.getType()))
      setLayout(value, LayoutAttr::getReplicated(
                           meshAttr,
                           cast<RankedTensorType>(value.getType()).getRank()));
  return success();
}

void LayoutAssigner::finish(FunctionOpInterface function) {
  Block &body = function.getFunctionBody().front();
  auto replicate = [&](Value value) {
    if (!isTensor(value) || LayoutAttr::of(value.getType()))
      return;
    int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    // Of what has several uses it is another one.
    Value made = values.adopt(value, LayoutAttr::getReplicated(meshAttr, rank));
    if (made != value)
      value.replaceAllUsesWith(made);
  };
  // From the end, since what only such ops read is dead too.
  auto eraseDead = [&] {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op))
        op.erase();
  };
  eraseDead();
  for (Operation &op : llvm::make_early_inc_range(body))
    for (Value result : op.getResults())
      replicate(result);
  eraseDead();
  Operation *terminator = body.getTerminator();
  function.setType(function.cloneTypeWith(body.getArgumentTypes(),
                                          terminator->getOperandTypes()));
}

} // namespace cp
