//===- AssignLayouts.cpp - Choose where every tensor lives ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssignLayouts.h"

#include "AxesInUse.h"
#include "ControlFlow.h"
#include "LayoutAssigner.h"
#include "RepeatGroups.h"
#include "llvm/ADT/StringExtras.h"

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
    if (function.isExternal())
      return;
    if (function->hasAttr(viewAttr)) {
      if (failed(checkSharded(function)))
        signalPassFailure();
      return;
    }
    if (failed(refuseControlFlow(function, "assign_c6")) ||
        failed(readOptions()) || failed(prepareSequenceOps(function)))
      return signalPassFailure();
    LayoutAssigner assigner(meshAttr, sharding);
    if (failed(assigner.run(function)) || failed(checkAxes(function)))
      return signalPassFailure();
    function->setAttr(viewAttr, StringAttr::get(&getContext(), "global"));
  }

  /// Takes over what was given.
  void take(const ShardPipelineOptions &options) {
    auto set = [](auto &option, const auto &from) {
      if (from.hasValue())
        option = from.getValue();
    };
    set(mesh, options.mesh);
    set(axis, options.axis);
    set(order, options.order);
    set(mixer, options.mixer);
    set(attention, options.attention);
    set(tensorAxis, options.tensorAxis);
    set(scan, options.scan);
    set(replicateUnused, options.replicateUnused);
  }

private:
  /// Whether the options are for this function: of several, others may need
  /// them.
  static bool isOnlyPublic(FunctionOpInterface function) {
    auto isPublic = [](func::FuncOp other) {
      return other.isPublic() && !other.isExternal();
    };
    auto module = function->getParentOfType<ModuleOp>();
    return !module ||
           llvm::count_if(module.getOps<func::FuncOp>(), isPublic) < 2;
  }

  /// What is sharded already stays as it is; options that ask for something
  /// else must not be lost in silence.
  LogicalResult checkSharded(FunctionOpInterface function) {
    SmallVector<StringRef> ignored;
    auto note = [&](const auto &option) {
      if (option.hasValue())
        ignored.push_back(option.ArgStr);
    };
    MeshAttr own = meshOf(function);
    if (!own)
      return success();
    std::string message;
    std::optional<Mesh> wanted = parseMesh(mesh, message);
    if (!wanted || !(*wanted == own.toMesh()))
      note(mesh);
    if (isOnlyPublic(function)) {
      note(axis);
      note(order);
      note(mixer);
      note(attention);
      note(tensorAxis);
      note(scan);
      note(replicateUnused);
    }
    if (ignored.empty())
      return success();
    return function->emitOpError("assign_c5: is sharded already (")
           << viewAttr << " = " << function->getAttr(viewAttr) << ", mesh '"
           << meshText(own.toMesh()) << "'), so " << llvm::join(ignored, ", ")
           << (ignored.size() == 1 ? " has" : " have")
           << " no effect; give the module before it was sharded, or leave the "
              "options out";
  }

  /// Ranks that all do the same are seldom meant.
  LogicalResult checkAxes(FunctionOpInterface function) {
    SmallVector<Mesh::Axis> unused = unusedAxes(function, sharding.mesh);
    if (unused.empty() || sharding.replicateUnused || !function.isPublic())
      return success();
    auto error = function->emitOpError("assign_c4: nothing is cut over ");
    llvm::interleave(
        unused,
        [&](const Mesh::Axis &axis) {
          error << "axis \"" << axis.name << "\" (" << axis.size << " ranks)";
        },
        [&] { error << " and "; });
    return error << " of mesh '" << mesh
                 << "', so its ranks would all do the same work; leave it out "
                    "of the mesh, name it in axis or tp, or give "
                    "replicate-unused if that is meant";
  }

  LogicalResult readOptions() {
    ShardingText text;
    text.mesh = mesh;
    text.axis = axis;
    text.order = order;
    text.mixer = mixer;
    text.attention = attention;
    text.tensorAxis = tensorAxis;
    text.scan = scan;
    text.replicateUnused = replicateUnused;
    llvm::Expected<Sharding> read = parseSharding(text);
    if (!read)
      return emitError(getOperation()->getLoc(),
                       llvm::toString(read.takeError()));
    sharding = std::move(*read);
    meshAttr = MeshAttr::get(&getContext(), sharding.mesh);
    return success();
  }

  /// Writes down what the ops leave to the options: how states travel, the form
  /// of attention.
  void chooseForms(SequenceOpInterface op) {
    auto scan = dyn_cast<ScanOpInterface>(op.getOperation());
    if (scan && !scan.getScanAlgorithm())
      scan.setScanAlgorithm(sharding.scan);
    auto attentionOp = dyn_cast<AttentionOp>(op.getOperation());
    if (attentionOp && !attentionOp.getForm())
      attentionOp.setForm(stringifyEnum(sharding.attention));
  }

  /// Refuses a strategy for which there are too few axes.
  LogicalResult checkStrategy(Operation *op, CutStrategy wanted) {
    if (wanted != CutStrategy::TwoD || sharding.sequence.size() > 1)
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
      CutStrategy wanted = op.getCutStrategy().value_or(sharding.mixer);
      if (failed(checkStrategy(op, wanted)))
        return failure();
      int64_t parts = partsOf(sharding.mesh, sharding.onHidden(wanted));
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
  Sharding sharding;
};

} // namespace

std::unique_ptr<Pass> createAssignLayouts(const ShardPipelineOptions &options) {
  auto pass = std::make_unique<AssignLayouts>();
  pass->take(options);
  return pass;
}

} // namespace cp
