//===- HoistReductions.cpp - Sums as soon as their terms are made ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Residuals/OpCost.h"
#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace cp {
#define GEN_PASS_DEF_HOISTREDUCTIONS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// Where the ops of a block stand, while some are moved up. An op that moves
/// goes behind another one, its anchor, and behind what went there before.
class Places {
public:
  explicit Places(Block &block) : block(block) {
    for (auto [index, op] : llvm::enumerate(block)) {
      places[&op] = originals[&op] = index;
      groups.push_back({&op});
    }
  }

  /// Moves `op` up to behind the last op that makes what it reads, and takes
  /// along what it needs of what may be moved.
  void hoist(Operation *op) {
    llvm::SetVector<Operation *> moved;
    moved.insert(op);
    std::optional<size_t> anchor;
    // The set grows as it is read.
    for (size_t i = 0; i < moved.size(); ++i)
      forEachNeed(moved[i], [&](Operation *need) {
        if (mayMove(need))
          moved.insert(need);
        else
          anchor = std::max(anchor.value_or(0), places.lookup(need));
      });
    if (!anchor)
      return;
    SmallVector<Operation *> list;
    for (Operation *each : moved)
      if (places.lookup(each) > *anchor)
        list.push_back(each);
    // In the order in which they stood at first each came behind what it needs;
    // where they have been moved to they stand together.
    llvm::sort(list, [&](Operation *a, Operation *b) {
      return originals.lookup(a) < originals.lookup(b);
    });
    for (Operation *each : list) {
      each->moveAfter(lastBehind(*anchor));
      groups[*anchor].push_back(each);
      places[each] = *anchor;
    }
  }

private:
  Operation *lastBehind(size_t place) {
    SmallVector<Operation *, 1> &group = groups[place];
    while (places.lookup(group.back()) != place)
      group.pop_back();
    return group.back();
  }

  /// What computes next to nothing, and is there for its readers.
  static bool mayMove(Operation *op) {
    return isMemoryEffectFree(op) &&
           (isView(op) || op->hasTrait<OpTrait::ConstantLike>() ||
            isa<SliceOp, tensor::InsertSliceOp, linalg::FillOp>(op));
  }

  template <typename Fn> void forEachNeed(Operation *op, Fn visit) {
    auto visitValue = [&](Value value) {
      Operation *need = value.getDefiningOp();
      if (need && need->getBlock() == &block)
        visit(need);
    };
    llvm::for_each(op->getOperands(), visitValue);
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    llvm::for_each(captured, visitValue);
  }

  Block &block;
  llvm::DenseMap<Operation *, size_t> places, originals;
  /// By place: the op that stood there at first, and those that went behind it,
  /// of which some have gone on.
  std::vector<SmallVector<Operation *, 1>> groups;
};

struct HoistReductions : impl::HoistReductionsBase<HoistReductions> {
  void runOnOperation() override {
    for (Block &block : getOperation().getFunctionBody()) {
      SmallVector<Operation *> sums;
      for (Operation &op : block)
        if (isa<ReduceScatterOp, AllReduceOp>(op))
          sums.push_back(&op);
      Places places(block);
      for (Operation *op : sums)
        places.hoist(op);
    }
  }
};

} // namespace
} // namespace cp
