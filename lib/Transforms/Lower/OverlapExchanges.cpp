//===- OverlapExchanges.cpp - Exchanges that go on meanwhile ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace cp {
#define GEN_PASS_DEF_OVERLAPEXCHANGES
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// What a buffer is a view of.
Value rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

bool isMemRef(Value value) { return isa<BaseMemRefType>(value.getType()); }

/// Whether an op only reads what an operand of it holds.
bool onlyReads(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (auto wait = dyn_cast<WaitOp>(op))
    return operand.getOperandNumber() < wait.getIns().size();
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return operand.get() == copy.getSource() &&
           operand.get() != copy.getTarget();
  if (auto intoOuts = dyn_cast<DestinationStyleOpInterface>(op))
    return intoOuts.isDpsInput(&operand);
  return false;
}

/// The buffers of an exchange that is on its way.
class Buffers {
public:
  explicit Buffers(CallOp call) {
    for (Value buffer : call.getIns())
      read.insert(rootOf(buffer));
    for (Value buffer : call.getOuts())
      written.insert(rootOf(buffer));
  }

  /// Whether an op must not run before the exchange has ended, nor behind it if
  /// it stood before.
  bool conflict(Operation *op) const {
    if (isa<ViewLikeOpInterface, memref::AllocOp>(op))
      return false;
    return op
        ->walk([&](Operation *inner) {
          for (OpOperand &operand : inner->getOpOperands()) {
            if (!isMemRef(operand.get()))
              continue;
            Value root = rootOf(operand.get());
            if (written.contains(root) ||
                (read.contains(root) && !onlyReads(operand)))
              return WalkResult::interrupt();
          }
          return WalkResult::advance();
        })
        .wasInterrupted();
  }
  bool areOfArguments() const {
    return llvm::all_of(read, llvm::IsaPred<BlockArgument>);
  }

private:
  llvm::SmallDenseSet<Value> read, written;
};

bool isCallOf(Operation *op, StringRef symbol) {
  auto call = dyn_cast<CallOp>(op);
  return call && call.getSymbol() == symbol;
}

/// What an exchange can hide behind; not behind what moves some memory.
bool isWork(Operation *op) {
  return isa<CallOp, linalg::LinalgOp>(op) && !isa<linalg::FillOp>(op) &&
         !isCallOf(op, "copy");
}

/// Lets a call go on until `end`; its wait.
WaitOp defer(CallOp call, Operation *end) {
  call.setDeferred(true);
  OpBuilder builder(end);
  return WaitOp::create(builder, call.getLoc(), call.getIns(), call.getOuts());
}

/// Moves a call to behind `anchor`, with the allocations and views that it
/// needs and that stand between.
void moveBehind(CallOp call, Operation *anchor,
                const llvm::SmallPtrSetImpl<Operation *> &between) {
  SmallVector<Operation *> needs;
  for (Value buffer : call->getOperands())
    for (Operation *need = buffer.getDefiningOp();
         need && between.contains(need);
         need = isa<ViewLikeOpInterface>(need) ? cast<ViewLikeOpInterface>(need)
                                                     .getViewSource()
                                                     .getDefiningOp()
                                               : nullptr)
      needs.push_back(need);
  call->moveAfter(anchor);
  // Of a chain of views the last comes first; each to before those it is for.
  for (Operation *need : needs)
    need->moveAfter(anchor);
}

struct OverlapExchanges : impl::OverlapExchangesBase<OverlapExchanges> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.isPublic())
      return;
    for (Block &block : function.getBody()) {
      prefetchIn(block);
      deferSumsIn(block);
    }
  }

private:
  /// Parameters of the next layer are gathered while one is computed: each
  /// gather begins once the one before it has ended.
  static void prefetchIn(Block &block) {
    // The gather before, and its wait if it is deferred.
    CallOp previous;
    WaitOp ended;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (!isCallOf(&op, "all_gather"))
        continue;
      auto call = cast<CallOp>(op);
      Buffers buffers(call);
      if (!buffers.areOfArguments())
        continue;
      ended = previous ? prefetch(call, buffers, previous, ended) : WaitOp();
      previous = call;
    }
  }

  /// Null where it stays as it is: the one before goes on still, or there is
  /// nothing to hide behind.
  static WaitOp prefetch(CallOp call, const Buffers &buffers, CallOp previous,
                         WaitOp ended) {
    llvm::SmallPtrSet<Operation *, 32> between;
    Operation *anchor = call->getPrevNode();
    bool hasWork = false;
    for (; anchor != previous && anchor != ended && !buffers.conflict(anchor);
         anchor = anchor->getPrevNode()) {
      between.insert(anchor);
      hasWork |= isWork(anchor);
    }
    if (!hasWork || (ended && anchor == previous))
      return nullptr;
    Operation *end = call->getNextNode();
    while (!end->hasTrait<OpTrait::IsTerminator>() && !buffers.conflict(end))
      end = end->getNextNode();
    moveBehind(call, anchor, between);
    return defer(call, end);
  }

  /// Sums of one layer's gradients go on behind the backward pass of the next.
  static void deferSumsIn(Block &block) {
    CallOp sum;
    std::optional<Buffers> buffers;
    bool hasWork = false;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      bool isSum =
          isCallOf(&op, "all_reduce") || isCallOf(&op, "reduce_scatter");
      bool ends = sum && (isSum || op.hasTrait<OpTrait::IsTerminator>() ||
                          buffers->conflict(&op));
      if (ends && hasWork)
        defer(sum, &op);
      if (ends)
        sum = nullptr;
      hasWork |= isWork(&op);
      if (!isSum)
        continue;
      sum = cast<CallOp>(op);
      buffers.emplace(sum);
      hasWork = false;
    }
  }
};

} // namespace
} // namespace cp
