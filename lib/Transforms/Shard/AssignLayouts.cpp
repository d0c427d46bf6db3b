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
#include "PrepareCuts.h"
#include "UnifyMeshes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringExtras.h"

namespace cp {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

struct AssignLayouts : ShardingPass<impl::AssignLayoutsBase<AssignLayouts>> {
  using ShardingPass::ShardingPass;

  void runOnOperation() override {
    FunctionOpInterface function = getOperation();
    if (function.isExternal())
      return;
    if (function->hasAttr(viewAttr)) {
      if (failed(checkSharded(function)))
        signalPassFailure();
      return;
    }
    FailureOr<Sharding> read = readSharding();
    if (failed(refuseControlFlow(function, "assign_c6")) || failed(read) ||
        failed(prepareCuts(function, *read)) ||
        failed(unifyMeshes(function, &*read)))
      return signalPassFailure();
    sharding = std::move(*read);
    LayoutAssigner assigner(MeshAttr::get(&getContext(), sharding.mesh),
                            sharding);
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
    set(batch, options.batch);
    set(mixer, options.mixer);
    set(attention, options.attention);
    set(tensorAxis, options.tensorAxis);
    set(tensorRows, options.tensorRows);
    set(params, options.params);
    set(scan, options.scan);
    set(replicateUnused, options.replicateUnused);
    set(partialGradients, options.partialGradients);
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
      note(batch);
      note(mixer);
      note(attention);
      note(tensorAxis);
      note(tensorRows);
      note(params);
      note(scan);
      note(replicateUnused);
      note(partialGradients);
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

  /// Whether an axis may cut something that is computed, and not only
  /// parameters where they are kept.
  bool cutsWork(int axis) const {
    return llvm::any_of(llvm::concat<const Cut>(sharding.sequence,
                                                sharding.batch,
                                                sharding.tensorParallel),
                        [&](const Cut &cut) { return cut.axis == axis; });
  }

  /// Ranks that all do the same are seldom meant.
  LogicalResult checkAxes(FunctionOpInterface function) {
    SmallVector<Mesh::Axis> unused = unusedAxes(function, sharding.mesh);
    auto isKnown = [&](const Mesh::Axis &axis) {
      return llvm::any_of(unused, [&](const Mesh::Axis &other) {
        return other.name == axis.name;
      });
    };
    for (const Cut &cut : sharding.params)
      if (const Mesh::Axis &axis = sharding.mesh.axes[cut.axis];
          axis.size > 1 && !cutsWork(cut.axis) && !isKnown(axis))
        unused.push_back(axis);
    if (unused.empty() || sharding.replicateUnused || !function.isPublic())
      return success();
    auto error = function->emitOpError("assign_c4: nothing is cut over ");
    llvm::interleave(
        unused,
        [&](const Mesh::Axis &axis) {
          error << "axis \"" << axis.name << "\" (" << axis.size << " ranks)";
        },
        [&] { error << " and "; });
    return error << " of mesh '" << meshText(sharding.mesh)
                 << "', so its ranks would all do the same work; leave it out "
                    "of the mesh, name it in axis, batch or tp, or give "
                    "replicate-unused if that is meant";
  }

  Sharding sharding;
};

} // namespace

std::unique_ptr<Pass> createAssignLayouts(const ShardPipelineOptions &options) {
  auto pass = std::make_unique<AssignLayouts>();
  pass->take(options);
  return pass;
}

} // namespace cp
