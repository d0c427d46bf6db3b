//===- MergeExchanges.cpp - One exchange for one route ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentAttributes.h"
#include "cp/Transforms/Layers.h"
#include "cp/Transforms/Passes.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace cp {
#define GEN_PASS_DEF_MERGEEXCHANGES
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// Moves what an op needs to before an earlier op of its block. Ops are
/// numbered once: asking a block for the order of two ops renumbers all of it
/// after every change, which makes a long program's time quadratic.
class Hoister {
public:
  explicit Hoister(Block &block) {
    for (auto [index, op] : llvm::enumerate(block))
      numbers[&op] = {index, index};
  }

  /// Moves the ops that `op` needs and that stand after `first` to before it.
  /// False, and nothing is moved, when `first` itself or an op with effects is
  /// among them.
  bool hoistNeeds(Operation *op, Operation *first) {
    llvm::SetVector<Operation *> needs;
    addNeeds(op, first, needs);
    // The set grows as it is read.
    for (size_t i = 0; i < needs.size(); ++i) {
      if (needs[i] == first || !isMemoryEffectFree(needs[i]))
        return false;
      addNeeds(needs[i], first, needs);
    }
    SmallVector<Operation *> ops = needs.takeVector();
    llvm::sort(ops, [&](Operation *a, Operation *b) {
      return numbers.lookup(a).original < numbers.lookup(b).original;
    });
    for (Operation *need : ops) {
      need->moveBefore(first);
      numbers[need].now = numbers.lookup(first).now;
    }
    return true;
  }

  /// Whether all that reads what `first` gives stands behind `next`.
  bool isReadBehind(Operation *first, Operation *next) const {
    size_t place = numbers.lookup(next).now;
    return llvm::all_of(first->getUsers(), [&](Operation *user) {
      Operation *reader = next->getBlock()->findAncestorOpInBlock(*user);
      return reader != next && numbers.lookup(reader).now > place;
    });
  }

  /// `merged` now stands where `first` stood.
  void replace(Operation *first, Operation *merged) {
    // By value: what the map holds moves when it grows.
    Number number = numbers.lookup(first);
    numbers[merged] = number;
  }

private:
  struct Number {
    /// An order in which every op comes after what it needs.
    size_t original;
    /// The op's number, or that of the op it was moved to before.
    size_t now;
  };

  /// The ops of the block that define what `op` uses, not before `first`.
  void addNeeds(Operation *op, Operation *first,
                llvm::SetVector<Operation *> &needs) {
    auto add = [&](Value value) {
      Operation *definition = value.getDefiningOp();
      if (!definition || definition->getBlock() != first->getBlock())
        return;
      if (definition == first ||
          numbers.lookup(definition).now > numbers.lookup(first).now)
        needs.insert(definition);
    };
    llvm::for_each(op->getOperands(), add);
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    llvm::for_each(captured, add);
  }

  llvm::DenseMap<Operation *, Number> numbers;
};

/// Merges `next` and `first`, which comes before it: there, or, where exchanges
/// that `next` needs stand between them, nothing reads `first` yet, and it
/// `mayWait`, here.
/// Null when `next` needs a result of `first`.
Operation *merge(IRRewriter &rewriter, Hoister &hoister, Operation *first,
                 Operation *next, bool mayWait) {
  Operation *place = first;
  if (!hoister.hoistNeeds(next, first)) {
    if (!mayWait || !hoister.isReadBehind(first, next))
      return nullptr;
    place = next;
  }
  rewriter.setInsertionPoint(place);
  Operation *merged =
      cast<ExchangeOpInterface>(first).mergeWith(rewriter, next);
  hoister.replace(place, merged);
  unsigned count = first->getNumResults();
  rewriter.replaceOp(first, merged->getResults().take_front(count));
  rewriter.replaceOp(next, merged->getResults().drop_front(count));
  return merged;
}

struct MergeExchanges : impl::MergeExchangesBase<MergeExchanges> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    Layers layers(getOperation());
    for (Block &block : getOperation().getFunctionBody())
      mergeIn(block, rewriter, layers);
  }

private:
  /// Nothing but an update reads what it gives, another sum, or the caller.
  static bool isOfGradients(Operation *op) {
    return isa<ReduceScatterOp, AllReduceOp>(op) &&
           llvm::all_of(op->getUsers(), [](Operation *user) {
             return isa<UpdateOpInterface, SquaredNormOp, AllReduceOp>(user) ||
                    user->hasTrait<OpTrait::IsTerminator>();
           });
  }

  /// What makes parameters whole, or gradients parts, takes memory: those of
  /// one layer go together, and no more. Null for all other exchanges.
  Attribute bucketOf(Operation *op, const Layers &layers) {
    if (!gathersParameters(op) && !isOfGradients(op))
      return Attribute();
    return StringAttr::get(&getContext(), layers.of(op));
  }

  /// Of each route the last exchange leads; the next one joins it, or leads.
  void mergeIn(Block &block, IRRewriter &rewriter, const Layers &layers) {
    SmallVector<Operation *> exchanges;
    for (Operation &op : block)
      if (isa<ExchangeOpInterface>(op))
        exchanges.push_back(&op);
    Hoister hoister(block);
    llvm::DenseMap<std::pair<Attribute, Attribute>, Operation *> leaders;
    for (Operation *op : exchanges) {
      Attribute route = cast<ExchangeOpInterface>(op).getRoute();
      Attribute bucket = bucketOf(op, layers);
      Operation *&leader = leaders[{route, bucket}];
      // What makes no ops wait but those of the bucket.
      bool mayWait = bucket && isa<ReduceScatterOp, AllReduceOp>(op);
      Operation *merged =
          leader ? merge(rewriter, hoister, leader, op, mayWait) : nullptr;
      leader = merged ? merged : op;
    }
  }
};

} // namespace
} // namespace cp
