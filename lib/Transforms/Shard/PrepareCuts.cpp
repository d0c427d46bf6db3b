//===- PrepareCuts.cpp - What must be so before layouts are chosen --------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrepareCuts.h"

#include "ControlFlow.h"
#include "RepeatGroups.h"
#include "SliceVocabulary.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
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
  SmallVector<SequenceOpInterface> ops;
  function.walk([&](SequenceOpInterface op) { ops.push_back(op); });
  for (SequenceOpInterface op : ops) {
    chooseForms(op, sharding);
    CutStrategy wanted = sharding.strategyOf(op);
    if (failed(checkStrategy(op, wanted, sharding)))
      return failure();
    int64_t parts = partsOf(sharding.mesh, sharding.onHidden(wanted));
    OpBuilder builder(op);
    if (parts > 1 && failed(op.prepareHiddenCut(builder, parts)))
      return failure();
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
