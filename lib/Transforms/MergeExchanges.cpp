//===- MergeExchanges.cpp - One exchange for one route ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Transforms/Passes.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace cp {
#define GEN_PASS_DEF_MERGEEXCHANGES
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// Merges `next` into `first`, which comes before it. Null when `next` needs a
/// result of `first`.
Operation *merge(IRRewriter &rewriter, Operation *first, Operation *next) {
  if (failed(moveValueDefinitions(rewriter, next->getOperands(), first)))
    return nullptr;
  rewriter.setInsertionPoint(first);
  Operation *merged =
      cast<ExchangeOpInterface>(first).mergeWith(rewriter, next);
  unsigned count = first->getNumResults();
  rewriter.replaceOp(first, merged->getResults().take_front(count));
  rewriter.replaceOp(next, merged->getResults().drop_front(count));
  return merged;
}

struct MergeExchanges : impl::MergeExchangesBase<MergeExchanges> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (Block &block : getOperation().getFunctionBody())
      mergeIn(block, rewriter);
  }

private:
  /// Of each route the last exchange leads; the next one joins it, or leads.
  static void mergeIn(Block &block, IRRewriter &rewriter) {
    SmallVector<Operation *> exchanges;
    for (Operation &op : block)
      if (isa<ExchangeOpInterface>(op))
        exchanges.push_back(&op);
    llvm::DenseMap<Attribute, Operation *> leaders;
    for (Operation *op : exchanges) {
      Operation *&leader = leaders[cast<ExchangeOpInterface>(op).getRoute()];
      Operation *merged = leader ? merge(rewriter, leader, op) : nullptr;
      leader = merged ? merged : op;
    }
  }
};

} // namespace
} // namespace cp
