//===- InsertDeallocs.cpp - Free each buffer after its last use -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace cp {
#define GEN_PASS_DEF_INSERTDEALLOCS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

struct InsertDeallocs : impl::InsertDeallocsBase<InsertDeallocs> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.isPublic())
      return;
    if (!llvm::hasSingleElement(function.getBody())) {
      function.emitOpError("must have one block to be an entry point");
      return signalPassFailure();
    }
    for (auto [alloc, last] : lastUses(function.getBody().front())) {
      OpBuilder builder(&getContext());
      builder.setInsertionPointAfter(last);
      memref::DeallocOp::create(builder, alloc.getLoc(), alloc);
    }
  }

private:
  /// Each allocation with the last op that uses it or a view of it, in the
  /// order of the allocations.
  static llvm::MapVector<Value, Operation *> lastUses(Block &block) {
    llvm::MapVector<Value, Operation *> last;
    // A view is its source's buffer.
    llvm::DenseMap<Value, Value> roots;
    for (Operation &op : block) {
      for (Value operand : op.getOperands())
        if (Value root = roots.lookup(operand))
          last[root] = &op;
      if (isa<memref::AllocOp>(op)) {
        roots[op.getResult(0)] = op.getResult(0);
        last[op.getResult(0)] = &op;
      } else if (auto view = dyn_cast<ViewLikeOpInterface>(op)) {
        if (Value root = roots.lookup(view.getViewSource()))
          roots[op.getResult(0)] = root;
      }
    }
    return last;
  }
};

} // namespace
} // namespace cp
