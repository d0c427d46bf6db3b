//===- AssignLayouts.cpp - Choose where every tensor lives ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"
#include "LayoutAssigner.h"
#include "RepeatGroups.h"
#include "cp/Transforms/Passes.h"

namespace cp {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

struct AssignLayouts : impl::AssignLayoutsBase<AssignLayouts> {
  using AssignLayoutsBase::AssignLayoutsBase;

  void runOnOperation() override {
    FunctionOpInterface function = getOperation();
    if (function->hasAttr(viewAttr) || function.isExternal())
      return;
    if (failed(refuseControlFlow(function, "assign_c4")) ||
        failed(readOptions()) || failed(prepareSequenceOps(function)))
      return signalPassFailure();
    LayoutAssigner assigner(meshAttr, *cut, *strategy);
    if (failed(assigner.run(function)))
      return signalPassFailure();
    function->setAttr(viewAttr, StringAttr::get(&getContext(), "global"));
  }

private:
  LogicalResult readOptions() {
    auto refuse = [&](const Twine &message) {
      return emitError(getOperation()->getLoc(), message);
    };
    std::string message;
    std::optional<Mesh> value = parseMesh(mesh, message);
    if (!value)
      return refuse(message);
    cut = SequenceCut::parse(*value, axis, order, tensorAxis, message);
    if (!cut)
      return refuse(message);
    strategy = symbolizeCutStrategy(mixer);
    if (!strategy)
      return refuse("mixer must be hidden, sequence or 2d, but is '" + mixer +
                    "'");
    if (!symbolizeAttentionForm(attention))
      return refuse("attention must be ulysses, ring, gather or 2d, but is '" +
                    attention + "'");
    algorithm = symbolizeScanAlgorithm(StringRef(scan));
    if (!algorithm)
      return refuse("scan must be chain, gather, doubling, pipelined or "
                    "transposed, but is '" +
                    scan + "'");
    meshAttr = MeshAttr::get(&getContext(), *value);
    return success();
  }

  /// Writes down what the ops leave to the options: how states travel, the form
  /// of attention.
  void chooseForms(SequenceOpInterface op) {
    if (op.getSequenceKind() == SequenceKind::Scan && !op.getScanAlgorithm())
      op.setScanAlgorithm(*algorithm);
    auto attentionOp = dyn_cast<AttentionOp>(op.getOperation());
    if (attentionOp && !attentionOp.getForm())
      attentionOp.setForm(StringRef(attention));
  }

  /// Refuses a strategy for which there are too few axes.
  LogicalResult checkStrategy(Operation *op, CutStrategy wanted) {
    if (wanted != CutStrategy::TwoD || cut->cuts().size() > 1)
      return success();
    return op->emitOpError("assign_c3: 2d cuts heads over the last axis of the "
                           "sequence and the sequence over the others, so it "
                           "wants two axes or more, but axis is '")
           << axis << "'; give two, such as axis=ring,u with mesh=ring=2,u=2";
  }

  /// Writes down the forms and repeats shared groups where heads will be cut.
  LogicalResult prepareSequenceOps(FunctionOpInterface function) {
    SmallVector<SequenceOpInterface> ops;
    function.walk([&](SequenceOpInterface op) { ops.push_back(op); });
    for (SequenceOpInterface op : ops) {
      chooseForms(op);
      CutStrategy wanted = op.getCutStrategy().value_or(*strategy);
      if (failed(checkStrategy(op, wanted)))
        return failure();
      int64_t parts = partsOf(meshAttr.toMesh(), cut->onHidden(wanted));
      OpBuilder builder(op);
      if (parts > 1 && failed(op.prepareHiddenCut(builder, parts)))
        return failure();
    }
    SmallVector<RepeatOp> repeats;
    function.walk([&](RepeatOp op) { repeats.push_back(op); });
    for (RepeatOp repeat : repeats)
      hoistRepeat(repeat);
    return success();
  }

  MeshAttr meshAttr;
  std::optional<SequenceCut> cut;
  std::optional<CutStrategy> strategy;
  std::optional<ScanAlgorithm> algorithm;
};

} // namespace
} // namespace cp
