//===- LayoutAssigner.cpp - One sweep that gives layouts --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutAssigner.h"

#include "Explain/RemarkText.h"
#include "PartialSums.h"
#include "cp/IR/ShardingAdvice.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <numeric>

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
      if (failed(assignSequence(function, arg, dim.getInt(), layout)) ||
          failed(assignBatch(function, arg, layout)))
        return failure();
    }
    setLayout(arg, attr(layout));
  }
  if (!any)
    function->emitWarning("no argument has cp.sequence, so nothing is cut");
  return success();
}

/// The axes for a message: "cp", or "ring" and "u".
static std::string axesText(const Mesh &mesh, ArrayRef<Cut> cuts) {
  std::string text;
  for (const Cut &cut : cuts)
    text += (text.empty() ? "\"" : " and \"") + mesh.axes[cut.axis].name + "\"";
  return (cuts.size() > 1 ? "axes " : "axis ") + text;
}

/// What a size must be a multiple of so that `cuts` divide it.
static int64_t neededMultiple(const Mesh &mesh, ArrayRef<Cut> cuts) {
  int64_t multiple = 1;
  for (const Cut &cut : llvm::reverse(cuts))
    multiple = mesh.axes[cut.axis].size * std::lcm(multiple, granuleOf(cut));
  return multiple;
}

LogicalResult LayoutAssigner::assignSequence(FunctionOpInterface function,
                                             BlockArgument arg, int64_t dim,
                                             Layout &layout) {
  auto type = cast<RankedTensorType>(arg.getType());
  if (dim < 0 || dim >= type.getRank())
    return function->emitOpError("argument ")
           << arg.getArgNumber() << ": cp.sequence must be below "
           << type.getRank() << ", but is " << dim;
  layout.dims[dim] = sharding.sequence;
  sequenceDims[arg] = dim;
  int64_t size = type.getShape()[dim];
  Layout alone{mesh, {sharding.sequence}, {}};
  if (!ShapedType::isDynamic(size) && !check(alone, {size}))
    return success();
  if (ShapedType::isDynamic(size))
    return function->emitOpError("assign_c1: the sequence of argument ")
           << arg.getArgNumber() << " must have a known number of tokens, but "
           << "is '?' in " << type << "; write the number into the type";
  const Cut &first = sharding.sequence.front();
  auto error = function->emitOpError("assign_c1: the sequence of argument ");
  error << arg.getArgNumber() << " (" << size
        << " tokens) must be a multiple of ";
  if (first.order == Order::Contiguous)
    error << "the " << partsOf(mesh, sharding.sequence) << " ranks of ";
  else
    error << neededMultiple(mesh, sharding.sequence) << ", to be cut in "
          << orderName(first.order) << " order over the ranks of ";
  return error << axesText(mesh, sharding.sequence)
               << "; use another number of ranks, or pad the sequence";
}

LogicalResult LayoutAssigner::assignBatch(FunctionOpInterface function,
                                          BlockArgument arg, Layout &layout) {
  if (sharding.batch.empty() || sequenceDims.lookup(arg) == 0)
    return success();
  layout.dims[0] = sharding.batch;
  batchDims[arg] = 0;
  int64_t size = cast<RankedTensorType>(arg.getType()).getDimSize(0);
  if (!ShapedType::isDynamic(size) &&
      !check(Layout{mesh, {sharding.batch}, {}}, {size}))
    return success();
  auto error = function->emitOpError("assign_c7: the batch of argument ");
  error << arg.getArgNumber() << " (";
  ShapedType::isDynamic(size) ? error << "'?'" : error << size;
  return error << " sequences) must be a multiple of the "
               << partsOf(mesh, sharding.batch) << " ranks of "
               << axesText(mesh, sharding.batch)
               << "; use another number of ranks, or another batch";
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
  noteSequence(op, *rule, sequenceFactorOf(op, *rule, sequenceDims),
               sequenceDims);
  noteFactor(op, *rule, factorOf(op, *rule, batchDims), batchDims);
  FactorCuts cuts = chooseCuts(op, *rule);
  if (failed(checkDivides(op, *rule, cuts)))
    return failure();
  // Activations are added up at once, which ops between would round.
  bool isOfTokens = llvm::any_of(op->getOperands(), [&](Value value) {
    return sequenceDims.contains(value);
  });
  PartialSums sums(op, *rule, cuts, /*mayPass=*/!isOfTokens);
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

/// The layout when sums are made.
static LayoutAttr withoutSums(LayoutAttr layout) {
  Layout whole = layout.toLayout();
  whole.partial.clear();
  return LayoutAttr::get(layout.getContext(), whole);
}

/// A layout `want` but for sums that are yet to be made: of what ranks have
/// terms of, or parts that may be terms.
static LayoutAttr asTerms(Value value, LayoutAttr want) {
  Layout layout = want.toLayout();
  for (int64_t axis : termAxesOf(value))
    if (!isCutOver(layout, static_cast<int>(axis)))
      layout.partial.push_back(static_cast<int>(axis));
  llvm::sort(layout.partial);
  return LayoutAttr::get(want.getContext(), layout);
}

/// The argument that a result of the function is the gradient of, or null.
static BlockArgument argumentOf(FunctionOpInterface function, unsigned result) {
  auto name = function.getResultAttrOfType<StringAttr>(result, gradientAttr);
  if (!name)
    return nullptr;
  for (BlockArgument argument : function.getArguments())
    for (StringRef attr : {paramAttr, nameAttr})
      if (function.getArgAttr(argument.getArgNumber(), attr) == name)
        return argument;
  return nullptr;
}

/// Sums are made at last where the caller gets them, and a gradient lies as
/// what it is of.
LogicalResult LayoutAssigner::visitTerminator(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op->getParentOp());
  for (OpOperand &operand : op->getOpOperands()) {
    LayoutAttr have = isTensor(operand.get())
                          ? LayoutAttr::of(operand.get().getType())
                          : LayoutAttr();
    if (!function || !have)
      continue;
    BlockArgument of = argumentOf(function, operand.getOperandNumber());
    if (!of) {
      values.materialize(operand, withoutSums(have), op);
      continue;
    }
    // What is cut and wanted whole is one of the sums, and goes with them.
    LayoutAttr want = LayoutAttr::of(of.getType());
    if (LayoutAttr terms = asTerms(operand.get(), want); terms != want)
      values.materialize(operand, terms);
    values.materialize(operand, want, op);
  }
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

std::vector<Cut> LayoutAssigner::ordered(Operation *op,
                                         const std::vector<Cut> &cuts) const {
  return orders.isContiguous(op) ? inContiguousOrder(cuts) : cuts;
}

FactorCuts LayoutAssigner::strategyCuts(SequenceOpInterface op,
                                        const ShardingRule &rule) {
  FactorCuts cuts;
  cuts.factors.resize(rule.sizes.size());
  CutStrategy wanted = sharding.strategyOf(op);
  cuts.factors[op.getSequenceFactor()] =
      ordered(op, sharding.onSequence(wanted));
  std::vector<Cut> hidden = sharding.onHidden(wanted);
  int64_t size = rule.sizes[op.getHiddenFactor()];
  if (!hidden.empty() &&
      (!needsWholeSequence(op) || size % partsOf(mesh, hidden) == 0))
    cuts.factors[op.getHiddenFactor()] = hidden;
  addBatchCut(op, rule, /*mayBePartial=*/true, cuts);
  return cuts;
}

void LayoutAssigner::addBatchCut(Operation *op, const ShardingRule &rule,
                                 bool mayBePartial, FactorCuts &cuts) {
  int64_t batch = factorOf(op, rule, batchDims);
  if (batch >= 0 && cuts.factors[batch].empty() &&
      (mayBePartial || !rule.isReduction(batch)) &&
      rule.sizes[batch] % partsOf(mesh, sharding.batch) == 0)
    cuts.factors[batch] = sharding.batch;
}

void LayoutAssigner::addTensorCut(Operation *op, const ShardingRule &rule,
                                  FactorCuts &cuts) {
  auto parallel = op->getAttrOfType<StringAttr>(parallelAttr);
  if (!parallel || sharding.tensorParallel.empty() || rule.operands.size() < 2)
    return;
  // The weight is [rows out, rows in]. What is repeated behind the projection
  // is fewer groups than ranks, of which each needs some whole.
  bool columns = parallel == "columns";
  const TensorFactors &weight = rule.operands[1];
  if (weight.size() != 2)
    return;
  const DimFactors &factors = weight[columns ? 0 : 1];
  if (factors.empty() ||
      (columns && llvm::any_of(op->getUsers(), llvm::IsaPred<RepeatOp>)) ||
      (!columns && !startsFromZero(op, rule)))
    return;
  std::vector<Cut> &cutsOfFactor = cuts.factors[factors.front()];
  int64_t size = rule.sizes[factors.front()];
  if (cutsOfFactor.empty() &&
      size % partsOf(mesh, sharding.tensorParallel) == 0)
    cutsOfFactor = sharding.tensorParallel;
}

FactorCuts LayoutAssigner::chooseCuts(Operation *op, const ShardingRule &rule) {
  if (auto sequenceOp = dyn_cast<SequenceOpInterface>(op))
    return strategyCuts(sequenceOp, rule);
  FactorCuts cuts;
  cuts.factors.resize(rule.sizes.size());
  int64_t sequence = sequenceFactorOf(op, rule, sequenceDims);
  // A sum over all tokens, or of what is not of tokens: each rank adds up its
  // own, and the ranks' sums are less to exchange than what they are of.
  bool mayBePartial =
      (sequence < 0 || rule.isReduction(sequence)) && startsFromZero(op, rule);
  bool isSequence =
      sequence >= 0 && (mayBePartial || !rule.isReduction(sequence));
  // The order is chosen for the op, whatever its operands come in.
  int64_t chosen = orders.isMixed() && isSequence ? sequence : -1;
  std::optional<CutRefusal> refusal = collectOperandCuts(
      op, rule, cuts, chosen, ordered(op, sharding.sequence), mayBePartial);
  if (refusal) {
    cuts.factors.assign(rule.sizes.size(), {});
    if (isSequence)
      cuts.factors[sequence] = ordered(op, sharding.sequence);
    addBatchCut(op, rule, mayBePartial, cuts);
  }
  addTensorCut(op, rule, cuts);
  if (refusal && remarks)
    remarks->refused(op, *refusal, rule, cuts);
  return cuts;
}

LogicalResult LayoutAssigner::checkDivides(Operation *op,
                                           const ShardingRule &rule,
                                           const FactorCuts &cuts) {
  for (auto [size, factorCuts] : llvm::zip(rule.sizes, cuts.factors)) {
    if (factorCuts.empty())
      continue;
    Layout alone{mesh, {factorCuts}, {}};
    if (ShapedType::isDynamic(size))
      return op->emitOpError("assign_c2: a dimension that is cut over ")
             << axesText(mesh, factorCuts) << " must have a known size, but "
             << "is '?'; write the number into the types";
    if (check(alone, {size}))
      return op->emitOpError("assign_c2: a dimension of ")
             << size << " cannot be cut over the " << partsOf(mesh, factorCuts)
             << " ranks of " << axesText(mesh, factorCuts)
             << "; use another number of ranks, or mixer=sequence";
  }
  return success();
}

void LayoutAssigner::finish(FunctionOpInterface function) {
  Block &body = function.getFunctionBody().front();
  auto replicate = [&](Value value) {
    if (isTensor(value) && !LayoutAttr::of(value.getType()))
      values.adopt(
          value,
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
