//===- PrepareCuts.cpp - What must be so before layouts are chosen --------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrepareCuts.h"

#include "ControlFlow.h"
#include "PadSequence.h"
#include "RepeatGroups.h"
#include "SliceVocabulary.h"
#include "cp/Transforms/Layers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

namespace cp {
#define GEN_PASS_DEF_PREPARECUTS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {

template <typename Op>
static void chooseForm(Operation *op, AttentionForm attention) {
  auto attends = dyn_cast<Op>(op);
  if (attends && !attends.getForm())
    attends.setForm(stringifyEnum(attention));
}

/// Writes down what the op leaves to the options.
static void chooseForms(SequenceOpInterface op, const Sharding &sharding) {
  auto scan = dyn_cast<ScanOpInterface>(op.getOperation());
  if (scan && !scan.getScanAlgorithm())
    scan.setScanAlgorithm(sharding.scan);
  // Its states travel as those of its scan.
  auto grad = dyn_cast<SsdGradOp>(op.getOperation());
  if (grad && !grad.getAlgorithm())
    grad.setAlgorithm(sharding.scan);
  chooseForm<AttentionOp>(op, sharding.attention);
  chooseForm<AttentionGradOp>(op, sharding.attention);
}

/// How many channels, heads or groups of heads the op has, or 0 if it has none
/// that may be cut.
static int64_t hiddenSize(SequenceOpInterface op) {
  int64_t factor = op.getHiddenFactor();
  auto rules = dyn_cast<ShardingRuleOpInterface>(op.getOperation());
  if (!rules || factor < 0)
    return 0;
  FailureOr<ShardingRule> rule = rules.getShardingRule();
  return failed(rule) ? 0 : rule->sizes[factor];
}

/// Whatever it says itself, which may be what a whole mixer says.
static void cutAlongSequence(SequenceOpInterface op) {
  op->setAttr("strategy", StringAttr::get(op.getContext(), "sequence"));
}

/// A window over channels that the ranks cannot share stays along the sequence.
static void chooseWindow(SequenceOpInterface op, const Sharding &sharding) {
  if (!isa<WindowOpInterface>(op.getOperation()))
    return;
  int64_t parts =
      partsOf(sharding.mesh, sharding.onHidden(sharding.strategyOf(op)));
  int64_t channels = hiddenSize(op);
  if (!ShapedType::isDynamic(channels) && channels % parts != 0)
    cutAlongSequence(op);
}

/// So do the windows whose channels become heads that get zeros behind them:
/// otherwise these would be put together in between.
static void chooseWindowsAbove(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto window = dyn_cast_if_present<WindowOpInterface>(op))
    return cutAlongSequence(cast<SequenceOpInterface>(op));
  if (isa_and_present<tensor::ExpandShapeOp, tensor::ExtractSliceOp,
                      tensor::InsertSliceOp, RepeatOp>(op))
    chooseWindowsAbove(op->getOperand(0));
}

/// Of an op that has some: they are dimension 2 of what it gives.
static int64_t headsOf(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && type.getRank() > 2 ? type.getDimSize(2) : 0;
}

/// Says that there are heads of zeros.
static void remarkHeads(FunctionOpInterface function, SequenceOpInterface op,
                        int64_t heads, int64_t parts) {
  auto remark = remark::missed(
      op->getLoc(), remark::RemarkOpts::name("heads").category("cut").function(
                        function.getName()));
  if (remark)
    remark << remark::metric("layer", Layers(function).of(op))
           << remark::metric("op", op->getName().getStringRef())
           << remark::metric("heads", heads) << remark::metric("ranks", parts)
           << remark::metric("of_zeros", headsOf(op) - heads);
}

/// Refuses a strategy for which there are too few axes.
static LogicalResult checkStrategy(Operation *op, CutStrategy wanted,
                                   const Sharding &sharding) {
  if (wanted != CutStrategy::TwoD || sharding.sequence.size() > 1)
    return success();
  const Cut &only = sharding.sequence.front();
  return op->emitOpError("assign_c3: 2d cuts heads over the last axis of the "
                         "sequence and the sequence over the others, so it "
                         "wants two axes or more, but axis is '")
         << sharding.mesh.axes[only.axis].name
         << "'; give two, such as axis=ring,u with mesh=ring=2,u=2";
}

LogicalResult prepareCuts(FunctionOpInterface function,
                          const Sharding &sharding) {
  if (failed(padSequence(function, sharding)))
    return failure();
  SmallVector<SequenceOpInterface> ops;
  function.walk([&](SequenceOpInterface op) { ops.push_back(op); });
  for (SequenceOpInterface op : ops) {
    chooseForms(op, sharding);
    chooseWindow(op, sharding);
    CutStrategy wanted = sharding.strategyOf(op);
    if (failed(checkStrategy(op, wanted, sharding)))
      return failure();
    int64_t parts = partsOf(sharding.mesh, sharding.onHidden(wanted));
    OpBuilder builder(op);
    int64_t heads = headsOf(op);
    if (parts > 1 && failed(op.prepareHiddenCut(builder, parts)))
      return failure();
    if (headsOf(op) == heads)
      continue;
    for (Value operand : op->getOperands())
      chooseWindowsAbove(operand);
    remarkHeads(function, op, heads, parts);
  }
  int64_t tensorRanks = partsOf(sharding.mesh, sharding.tensorParallel);
  SmallVector<LinearCrossEntropyOp> heads;
  function.walk([&](LinearCrossEntropyOp op) { heads.push_back(op); });
  for (LinearCrossEntropyOp head : heads)
    if (tensorRanks > 1)
      sliceVocabulary(head, tensorRanks);
  SmallVector<RepeatOp> repeats;
  function.walk([&](RepeatOp op) { repeats.push_back(op); });
  for (RepeatOp repeat : repeats)
    hoistRepeat(repeat);
  return success();
}

namespace {
struct PrepareCuts : ShardingPass<impl::PrepareCutsBase<PrepareCuts>> {
  using ShardingPass::ShardingPass;

  void runOnOperation() override {
    FunctionOpInterface function = getOperation();
    if (function.isExternal() || function->hasAttr(viewAttr))
      return;
    FailureOr<Sharding> sharding = readSharding();
    if (failed(refuseControlFlow(function, "assign_c6")) || failed(sharding) ||
        failed(prepareCuts(function, *sharding)))
      signalPassFailure();
  }
};

template <typename Given> std::unique_ptr<Pass> createFrom(const Given &given) {
  PrepareCutsOptions options;
  options.mesh = given.mesh;
  options.axis = given.axis;
  options.order = given.order;
  options.batch = given.batch;
  options.mixer = given.mixer;
  options.attention = given.attention;
  options.tensorAxis = given.tensorAxis;
  options.tensorRows = given.tensorRows;
  options.params = given.params;
  options.scan = given.scan;
  options.replicateUnused = given.replicateUnused;
  options.partialGradients = given.partialGradients;
  return createPrepareCuts(std::move(options));
}
} // namespace

std::unique_ptr<Pass> createPrepareCuts(const Sharding &sharding) {
  return createFrom(textOf(sharding));
}

std::unique_ptr<Pass> createPrepareCuts(const ShardPipelineOptions &options) {
  return createFrom(options);
}

} // namespace cp
