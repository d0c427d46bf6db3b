//===- LayoutAssigner.cpp - One sweep that gives layouts --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutAssigner.h"

#include "RemarkText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace cp {

bool wantsHidden(Operation *op, bool otherwise) {
  auto strategy = op->getAttrOfType<StringAttr>("strategy");
  return strategy ? strategy.getValue() == "hidden" : otherwise;
}

static bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

static void setLayout(Value value, LayoutAttr layout) {
  auto type = cast<RankedTensorType>(value.getType());
  value.setType(type.cloneWithEncoding(layout));
}

/// Scalars, constants of one value, empty tensors and fills take whatever
/// layout their user needs. (Of other constants every rank has the whole.)
static bool isFree(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue()) ||
           !isa<ElementsAttr>(constant.getValue());
  if (op->hasTrait<OpTrait::ConstantLike>() || isa<tensor::EmptyOp>(op))
    return true;
  auto fill = dyn_cast<linalg::FillOp>(op);
  return fill && !LayoutAttr::of(fill.getOutputs()[0].getType());
}

LayoutAttr LayoutAssigner::attr(const Layout &layout) {
  return LayoutAttr::get(meshAttr.getContext(), layout);
}

LogicalResult LayoutAssigner::run(FunctionOpInterface function) {
  if (!llvm::hasSingleElement(function.getFunctionBody()))
    return function->emitOpError("must have one block: control flow is not "
                                 "sharded yet");
  if (failed(assignArguments(function)))
    return failure();
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

LogicalResult LayoutAssigner::assignArguments(FunctionOpInterface function) {
  bool any = false;
  for (BlockArgument arg : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(arg.getType());
    if (!type)
      continue;
    if (LayoutAttr given = LayoutAttr::of(type)) {
      if (given.getMesh() != meshAttr)
        return function->emitOpError("argument ")
               << arg.getArgNumber() << " has a layout on " << given.getMesh()
               << ", but the option is " << meshAttr;
      continue;
    }
    Layout layout =
        LayoutAttr::getReplicated(meshAttr, type.getRank()).toLayout();
    auto dim = function.getArgAttrOfType<IntegerAttr>(arg.getArgNumber(),
                                                      sequenceAttr);
    if (dim) {
      any = true;
      if (dim.getInt() < 0 || dim.getInt() >= type.getRank())
        return function->emitOpError("argument ")
               << arg.getArgNumber() << ": cp.sequence must be below "
               << type.getRank() << ", but is " << dim.getInt();
      layout.dims[dim.getInt()] = {Cut{axis, Order::Contiguous, 1}};
      int64_t size = type.getShape()[dim.getInt()];
      if (ShapedType::isDynamic(size) || size % mesh.axes[axis].size)
        return function->emitOpError("assign_c1: the sequence of argument ")
               << arg.getArgNumber() << " (" << size
               << " tokens) must be a multiple of the " << mesh.axes[axis].size
               << " ranks of axis \"" << mesh.axes[axis].name
               << "\"; use another number of ranks, or pad the sequence";
      sequenceDims[arg] = dim.getInt();
    }
    setLayout(arg, attr(layout));
  }
  if (!any)
    function->emitWarning("no argument has cp.sequence, so nothing is cut");
  return success();
}

LogicalResult LayoutAssigner::visit(Operation *op) {
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return visitReshard(reshard);
  if (isFree(op) || op->hasTrait<OpTrait::IsTerminator>())
    return success();
  auto rules = dyn_cast<ShardingRuleOpInterface>(op);
  if (!rules)
    return visitWithoutRule(op);
  FailureOr<ShardingRule> rule = rules.getShardingRule();
  if (failed(rule))
    return failure();
  int64_t sequence = sequenceFactor(op, *rule);
  FactorCuts cuts = chooseCuts(op, *rule);
  if (failed(checkDivides(op, *rule, cuts)))
    return failure();
  for (OpOperand &operand : op->getOpOperands())
    if (isTensor(operand.get()))
      materialize(
          operand,
          attr(layoutFor(*rule, rule->operands[operand.getOperandNumber()],
                         cuts, mesh)));
  for (auto [result, dims] : llvm::zip_equal(op->getResults(), rule->results)) {
    if (!isTensor(result))
      continue;
    Layout layout = layoutFor(*rule, dims, cuts, mesh);
    for (int64_t factor : rule->reductions)
      for (const Cut &cut : cuts.factors[factor])
        layout.partial.push_back(cut.axis);
    llvm::sort(layout.partial);
    setLayout(result, attr(layout));
    for (auto [dim, factors] : llvm::enumerate(dims))
      if (factors.size() == 1 && factors.front() == sequence)
        sequenceDims[result] = dim;
  }
  // A constant's value has its type.
  rules.localizeSizes();
  return success();
}

/// A reshard that is already there pins its result's layout.
LogicalResult LayoutAssigner::visitReshard(ReshardOp op) {
  LayoutAttr to = LayoutAttr::of(op.getType());
  if (!to)
    return op.emitOpError("is of the local view ('from' and 'to'), but its "
                          "function has no cp.view; give it cp.view = "
                          "\"local\", or the types layouts");
  if (to.getMesh() != meshAttr)
    return op.emitOpError("has a layout on ")
           << to.getMesh() << ", but the option is " << meshAttr;
  if (!LayoutAttr::of(op.getSource().getType()))
    op.getSourceMutable().set(adopt(op.getSource(), to));
  if (auto it = sequenceDims.find(op.getSource()); it != sequenceDims.end())
    sequenceDims[op.getResult()] = it->second;
  return success();
}

/// Without a rule an op may see replicas only.
LogicalResult LayoutAssigner::visitWithoutRule(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isTensor(operand.get()))
      continue;
    LayoutAttr layout = LayoutAttr::of(operand.get().getType());
    if (layout && !layout.isReplicated())
      return op->emitOpError("verify_c2: has no sharding rule, but operand ")
             << operand.getOperandNumber() << " is cut (" << layout
             << "); implement ShardingRuleOpInterface for it, or gather the "
                "operand by a cp.reshard";
  }
  for (Value value : llvm::concat<Value>(SmallVector<Value>(op->getOperands()),
                                         SmallVector<Value>(op->getResults())))
    if (isTensor(value) && !LayoutAttr::of(value.getType()))
      setLayout(value, LayoutAttr::getReplicated(
                           meshAttr,
                           cast<RankedTensorType>(value.getType()).getRank()));
  return success();
}

int64_t LayoutAssigner::sequenceFactor(Operation *op,
                                       const ShardingRule &rule) {
  if (auto sequenceOp = dyn_cast<SequenceOpInterface>(op))
    return sequenceOp.getSequenceFactor();
  for (auto [value, dims] : llvm::zip(op->getOperands(), rule.operands)) {
    auto it = sequenceDims.find(value);
    if (it == sequenceDims.end())
      continue;
    const DimFactors &factors = dims[it->second];
    if (factors.size() == 1)
      return factors.front();
  }
  return -1;
}

FactorCuts LayoutAssigner::chooseCuts(Operation *op, const ShardingRule &rule) {
  FactorCuts cuts;
  cuts.factors.resize(rule.sizes.size());
  int64_t sequence = sequenceFactor(op, rule);
  auto sequenceOp = dyn_cast<SequenceOpInterface>(op);
  if (sequenceOp && wantsHidden(op, hidden)) {
    cuts.factors[sequenceOp.getHiddenFactor()] = {Cut{axis}};
    return cuts;
  }
  std::optional<CutRefusal> refusal;
  if (!sequenceOp && !(refusal = collectOperandCuts(op, rule, cuts)))
    return cuts;
  cuts.factors.assign(rule.sizes.size(), {});
  if (sequence >= 0 && !rule.isReduction(sequence))
    cuts.factors[sequence] = {Cut{axis}};
  if (refusal && remarks)
    remarks->refused(op, *refusal, rule, cuts);
  return cuts;
}

LogicalResult LayoutAssigner::checkDivides(Operation *op,
                                           const ShardingRule &rule,
                                           const FactorCuts &cuts) {
  for (auto [size, factorCuts] : llvm::zip(rule.sizes, cuts.factors))
    for (const Cut &cut : factorCuts)
      if (size % mesh.axes[cut.axis].size)
        return op->emitOpError("assign_c2: a dimension of ")
               << size << " cannot be cut over the " << mesh.axes[cut.axis].size
               << " ranks of axis \"" << mesh.axes[cut.axis].name
               << "\"; use another number of ranks, or mixer=sequence";
  return success();
}

Value LayoutAssigner::adopt(Value value, LayoutAttr want) {
  Operation *op = value.getDefiningOp();
  if (!op || !isFree(op)) {
    setLayout(value, want);
    return value;
  }
  if (!value.hasOneUse()) {
    OpBuilder builder(op);
    op = builder.clone(*op);
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    OpOperand &out = fill.getDpsInitsMutable()[0];
    out.set(adopt(out.get(), want));
  }
  setLayout(op->getResult(0), want);
  // A constant's value has its type.
  if (auto rules = dyn_cast<ShardingRuleOpInterface>(op))
    rules.localizeSizes();
  return op->getResult(0);
}

void LayoutAssigner::materialize(OpOperand &operand, LayoutAttr want) {
  Value value = operand.get();
  LayoutAttr have = LayoutAttr::of(value.getType());
  if (!have)
    return operand.set(adopt(value, want));
  if (have == want)
    return;
  Value &known = reshards[{value, want}];
  if (!known) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    auto type = cast<RankedTensorType>(value.getType()).cloneWithEncoding(want);
    known = ReshardOp::create(builder, operand.getOwner()->getLoc(), type,
                              value, LayoutAttr(), LayoutAttr());
  }
  operand.set(known);
}

void LayoutAssigner::finish(FunctionOpInterface function) {
  Block &body = function.getFunctionBody().front();
  auto replicate = [&](Value value) {
    if (isTensor(value) && !LayoutAttr::of(value.getType()))
      adopt(value,
            LayoutAttr::getReplicated(
                meshAttr, cast<RankedTensorType>(value.getType()).getRank()));
  };
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (isOpTriviallyDead(&op)) {
      op.erase();
      continue;
    }
    for (Value result : op.getResults())
      replicate(result);
  }
  Operation *terminator = body.getTerminator();
  function.setType(function.cloneTypeWith(body.getArgumentTypes(),
                                          terminator->getOperandTypes()));
}

} // namespace cp
