//===- SimplifyReshards.cpp - Compose and cancel reshards -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explain/RemarkText.h"
#include "cp/Transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace cp {
#define GEN_PASS_DEF_SIMPLIFYRESHARDS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// Whether `inner` gives parts as terms, over an axis over which `outer` adds
/// them up.
bool addsUpParts(Value inner, Value outer) {
  LayoutAttr from =
      LayoutAttr::of(inner.getDefiningOp<ReshardOp>().getSource().getType());
  LayoutAttr terms = LayoutAttr::of(inner.getType());
  LayoutAttr to = LayoutAttr::of(outer.getType());
  if (!from || !terms || !to)
    return false;
  Layout parts = from.toLayout(), sum = to.toLayout();
  return llvm::any_of(terms.toLayout().partial, [&](int axis) {
    return isCutOver(parts, axis) && !isCutOver(sum, axis) &&
           !llvm::is_contained(sum.partial, axis);
  });
}

/// Whether all three layouts are of one mesh: of bridges two may have common
/// parts where the first mesh and the last have none.
bool onOneMesh(Value inner, Value outer) {
  LayoutAttr from =
      LayoutAttr::of(inner.getDefiningOp<ReshardOp>().getSource().getType());
  LayoutAttr between = LayoutAttr::of(inner.getType());
  LayoutAttr to = LayoutAttr::of(outer.getType());
  return (!from || !between || from.getMesh() == between.getMesh()) &&
         (!between || !to || between.getMesh() == to.getMesh());
}

#include "cp/Transforms/ReshardPatterns.inc"

/// Says of each reshard that goes what it was.
struct FoldListener : RewriterBase::Listener {
  void notifyOperationErased(Operation *op) override {
    auto reshard = dyn_cast<ReshardOp>(op);
    if (!reshard)
      return;
    auto remark = remark::passed(
        op->getLoc(),
        remark::RemarkOpts::name("folded").category("reshard").function(
            op->getParentOfType<FunctionOpInterface>().getName()));
    LayoutAttr to = LayoutAttr::of(reshard.getType());
    if (remark && to)
      remark << remark::metric("to", textOf(to))
             << remark::metric("why", "composed with the reshards around it");
  }
};

struct SimplifyReshards : impl::SimplifyReshardsBase<SimplifyReshards> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateWithGenerated(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    // Reshards only: no other op is folded or canonicalised while layouts stand
    // in types.
    SmallVector<Operation *> reshards;
    getOperation()->walk([&](ReshardOp op) { reshards.push_back(op); });
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    FoldListener listener;
    if (wantsRemarks(getOperation()))
      config.setListener(&listener);
    bool changed = false;
    if (failed(applyOpPatternsGreedily(reshards, patterns, config, &changed)))
      signalPassFailure();
    if (!changed)
      markAllAnalysesPreserved();
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
} // namespace cp
