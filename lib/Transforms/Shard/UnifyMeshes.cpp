//===- UnifyMeshes.cpp - One mesh for all layouts of a function -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnifyMeshes.h"

#include "Explain/RemarkText.h"
#include "NestedFunctions.h"
#include "cp/Layout/Refinement.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

namespace cp {
#define GEN_PASS_DEF_UNIFYMESHES
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

class MeshUnifier {
public:
  explicit MeshUnifier(FunctionOpInterface function) : function(function) {}

  LogicalResult run(Sharding *sharding) {
    if (sharding)
      note(sharding->mesh);
    collect();
    if (meshes.size() < 2)
      return success();
    std::string error;
    refinement = refine(meshes, error);
    if (!refinement)
      return function->emitOpError("unify_c1: ") << error;
    if (sharding)
      keepSequence(*sharding);
    if (failed(checkCalls()) || failed(refineLayouts()) ||
        failed(refineCuts(sharding)))
      return failure();
    replaceLayouts();
    explain();
    return success();
  }

private:
  /// The number of a mesh.
  size_t note(const Mesh &mesh) {
    auto found = llvm::find(meshes, mesh);
    if (found == meshes.end())
      found = meshes.insert(found, mesh);
    return found - meshes.begin();
  }

  /// A sequence has a cut, if only over one rank; refinements have no axis of
  /// one.
  void keepSequence(const Sharding &sharding) {
    auto &parts = refinement->parts[0];
    auto hasParts = [&](const Cut &cut) { return !parts[cut.axis].empty(); };
    if (llvm::any_of(sharding.sequence, hasParts))
      return;
    int axis = sharding.sequence.front().axis;
    parts[axis] = {static_cast<int>(refinement->mesh.axes.size())};
    refinement->mesh.axes.push_back({sharding.mesh.axes[axis].name, 1});
  }

  /// Each layout, in the order of the program, with the first op that has it.
  void collect() {
    Operation *current = nullptr;
    // It goes into an attribute or type once, however many ops have it.
    AttrTypeWalker walker;
    walker.addWalk([&](LayoutAttr layout) {
      if (layouts.try_emplace(layout, current).second)
        note(layout.getMesh().toMesh());
    });
    function->walk<WalkOrder::PreOrder>([&](Operation *op) {
      current = op;
      walker.walk(op->getAttrDictionary());
      for (Type type : op->getResultTypes())
        walker.walk(type);
    });
  }

  /// The types of another function do not change with this one's.
  LogicalResult checkCalls() {
    WalkResult result = function->walk([&](CallOpInterface call) {
      if (llvm::none_of(call->getOperandTypes(), LayoutAttr::of) &&
          llvm::none_of(call->getResultTypes(), LayoutAttr::of))
        return WalkResult::advance();
      call->emitOpError("unify_c2: takes or gives tensors with layouts, in a "
                        "function of several meshes; inline what it calls");
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult refineLayouts() {
    for (auto [layout, op] : layouts) {
      std::string error;
      Layout own = layout.toLayout();
      std::optional<Layout> found =
          refine(*refinement, note(own.mesh), own, error);
      if (!found)
        return op->emitOpError("unify_c1: ") << error;
      refined[layout] = LayoutAttr::get(function->getContext(), *found);
    }
    return success();
  }

  /// The sharding's mesh is the first.
  LogicalResult refineCuts(Sharding *sharding) {
    if (!sharding)
      return success();
    if (sharding->sequence.size() > 1)
      sharding->hiddenCuts = static_cast<int64_t>(
          refinement->parts[0][sharding->sequence.back().axis].size());
    for (std::vector<Cut> *cuts :
         {&sharding->sequence, &sharding->batch, &sharding->tensorParallel,
          &sharding->params}) {
      std::string error;
      std::optional<std::vector<Cut>> found =
          refine(*refinement, 0, *cuts, error);
      if (!found)
        return function->emitOpError("unify_c1: ") << error;
      *cuts = std::move(*found);
    }
    sharding->mesh = refinement->mesh;
    return success();
  }

  void replaceLayouts() {
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](LayoutAttr layout) -> std::optional<Attribute> {
      auto found = refined.find(layout);
      if (found == refined.end())
        return std::nullopt;
      return found->second;
    });
    replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    // A constant's value has its type.
    function->walk([](ShardingRuleOpInterface op) { op.localizeSizes(); });
  }

  void explain() {
    auto remark = remark::passed(
        function->getLoc(),
        remark::RemarkOpts::name("unified").category("mesh").function(
            function.getName()));
    if (!remark)
      return;
    auto texts = llvm::map_range(meshes, meshText);
    remark << remark::metric("meshes", llvm::join(texts, "; "))
           << remark::metric("mesh", meshText(refinement->mesh))
           << remark::metric("axes", axesText());
  }

  /// "tp of dp=2,tp=4: tp/0, tp/1; cp of dp=2,cp=2,tp=2: tp/0", what is found
  /// under another name.
  std::string axesText() const {
    SmallVector<std::string> found;
    for (auto [mesh, parts] : llvm::zip_equal(meshes, refinement->parts))
      for (auto [axis, own] : llvm::zip_equal(mesh.axes, parts)) {
        auto nameOf = [&](int part) {
          return refinement->mesh.axes[part].name;
        };
        std::string names = llvm::join(llvm::map_range(own, nameOf), ", ");
        if (!own.empty() && names != axis.name)
          found.push_back(axis.name + " of " + meshText(mesh) + ": " + names);
      }
    return llvm::join(found, "; ");
  }

  FunctionOpInterface function;
  std::vector<Mesh> meshes;
  llvm::MapVector<LayoutAttr, Operation *> layouts;
  std::optional<Refinement> refinement;
  DenseMap<LayoutAttr, LayoutAttr> refined;
};

/// Whether another function passes it tensors.
bool isCalled(func::FuncOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  return !SymbolTable::symbolKnownUseEmpty(function, module);
}

struct UnifyMeshes : impl::UnifyMeshesBase<UnifyMeshes> {
  void runOnOperation() override {
    if (failed(expectFunctions(getOperation(), "unify_c3: ")))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      auto view = function->getAttrOfType<StringAttr>(viewAttr);
      if (function.isExternal() || !view || view != "global")
        continue;
      FunctionType type = function.getFunctionType();
      if (failed(unifyMeshes(function)))
        return signalPassFailure();
      if (type != function.getFunctionType() && isCalled(function)) {
        function.emitOpError("unify_c2: has layouts of several meshes, and is "
                             "called by another function; inline it there");
        return signalPassFailure();
      }
    }
  }
};

} // namespace

LogicalResult unifyMeshes(FunctionOpInterface function, Sharding *sharding) {
  return MeshUnifier(function).run(sharding);
}

} // namespace cp
