//===- PlanMemory.cpp - All buffers in one arena ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArenaPlan.h"
#include "BufferSize.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace cp {
#define GEN_PASS_DEF_PLANMEMORY
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// The allocations of a block with their lives, numbered by its ops.
struct Lives {
  SmallVector<memref::AllocOp> allocs;
  std::vector<BufferLife> lives;

  explicit Lives(Block &block) {
    // A view is its source's buffer.
    llvm::DenseMap<Value, size_t> buffers;
    for (auto [number, op] : llvm::enumerate(block)) {
      auto view = dyn_cast<ViewLikeOpInterface>(op);
      if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
        buffers[alloc] = allocs.size();
        allocs.push_back(alloc);
        lives.push_back({bytesOf(alloc.getType()).value_or(0), -1, -1});
      } else if (view && buffers.contains(view.getViewSource())) {
        buffers[op.getResult(0)] = buffers[view.getViewSource()];
      } else {
        use(op, number, buffers);
      }
    }
  }

private:
  void use(Operation &op, int64_t number,
           const llvm::DenseMap<Value, size_t> &buffers) {
    // Bodies may read buffers from outside.
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        auto buffer = buffers.find(operand);
        if (buffer == buffers.end())
          continue;
        BufferLife &life = lives[buffer->second];
        if (life.first < 0)
          life.first = number;
        life.last = number;
      }
    });
  }
};

/// The views of an arena, made at the head of a block: layers use the same
/// places again, and each place is one view then, whatever buffers it holds.
class ArenaViews {
public:
  ArenaViews(Block &block, Location loc, int64_t bytes)
      : builder(OpBuilder::atBlockBegin(&block)) {
    auto type = MemRefType::get({bytes}, builder.getI8Type());
    arena = memref::AllocOp::create(builder, loc, type);
    arena.setAlignment(arenaAlignment);
    last = arena;
  }

  /// As what `alloc` would give.
  Value at(int64_t offset, memref::AllocOp alloc) {
    Value &view = views[{offset, alloc.getType()}];
    if (view)
      return view;
    // What was behind it may be gone.
    builder.setInsertionPointAfter(last);
    Value &start = starts[offset];
    if (!start)
      start = arith::ConstantIndexOp::create(builder, arena.getLoc(), offset);
    view = memref::ViewOp::create(builder, alloc.getLoc(), alloc.getType(),
                                  arena, start, ValueRange());
    last = view.getDefiningOp();
    return view;
  }

private:
  OpBuilder builder;
  memref::AllocOp arena;
  Operation *last;
  llvm::DenseMap<int64_t, Value> starts;
  llvm::DenseMap<std::pair<int64_t, MemRefType>, Value> views;
};

/// Tells ops apart by all but their places in the file.
struct SameOp : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue,
        OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    auto isKey = [](const Operation *op) {
      return op != getEmptyKey() && op != getTombstoneKey();
    };
    return a == b ||
           (isKey(a) && isKey(b) &&
            OperationEquivalence::isEquivalentTo(
                const_cast<Operation *>(a), const_cast<Operation *>(b),
                OperationEquivalence::IgnoreLocations));
  }
};

/// Views of one place are as alike as the views that they are of.
void mergeViews(Block &block) {
  llvm::DenseSet<Operation *, SameOp> seen;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<ViewLikeOpInterface>(op) || !isMemoryEffectFree(&op))
      continue;
    auto [first, isNew] = seen.insert(&op);
    if (isNew)
      continue;
    op.replaceAllUsesWith(*first);
    op.erase();
  }
}

struct PlanMemory : impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.isPublic())
      return;
    if (!llvm::hasSingleElement(function.getBody())) {
      function.emitOpError("must have one block to be an entry point");
      return signalPassFailure();
    }
    Lives found(function.getBody().front());
    for (memref::AllocOp alloc : found.allocs)
      if (!bytesOf(alloc.getType()) ||
          !alloc.getType().getLayout().isIdentity()) {
        alloc.emitOpError(
            "cannot be planned: its size and layout must be known");
        return signalPassFailure();
      }
    if (!found.allocs.empty())
      place(function, found, planArena(found.lives));
  }

private:
  static void place(func::FuncOp function, Lives &found,
                    const ArenaPlan &plan) {
    Block &block = function.getBody().front();
    Location loc = function.getLoc();
    ArenaViews views(block, loc, plan.bytes);
    for (auto [alloc, offset] : llvm::zip_equal(found.allocs, plan.offsets)) {
      alloc.replaceAllUsesWith(views.at(offset, alloc));
      alloc.erase();
    }
    mergeViews(block);
    function->setAttr(arenaAttr,
                      Builder(function).getI64IntegerAttr(plan.bytes));
    remark::analysis(loc, remark::RemarkOpts::name("arena").category("memory"))
        << remark::metric("bytes", plan.bytes)
        << remark::metric("largest_live_set", plan.largestLiveSet);
  }
};

} // namespace
} // namespace cp
