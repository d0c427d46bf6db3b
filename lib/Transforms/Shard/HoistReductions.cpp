//===- HoistReductions.cpp - Sums as soon as their terms are made ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Residuals/OpCost.h"
#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
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
      places[&op] = index;
      groups.push_back({&op});
    }
  }

  /// Moves `op` up to behind the last op that makes what it reads, and takes
  /// along what it needs of what may be moved.
  void hoist(Operation *op) {
    BackwardSliceOptions options([&](Operation *each) {
      return each == op || (each->getBlock() == &block && mayMove(each));
    });
    options.omitBlockArguments = true;
    options.inclusive = true;
    // Each behind what it needs.
    llvm::SetVector<Operation *> moved;
    if (failed(getBackwardSlice(op, &moved, options)))
      return;
    std::optional<size_t> anchor = anchorOf(moved);
    if (!anchor)
      return;
    for (Operation *each : moved) {
      if (places.lookup(each) <= *anchor)
        continue;
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

  /// Where the last op stands that makes what these read and is none of them;
  /// nothing where they read arguments only.
  std::optional<size_t>
  anchorOf(const llvm::SetVector<Operation *> &readers) const {
    std::optional<size_t> anchor;
    for (Operation *reader : readers)
      for (Value operand : reader->getOperands()) {
        Operation *maker = operand.getDefiningOp();
        if (maker && !readers.contains(maker))
          anchor = std::max(anchor.value_or(0), places.lookup(maker));
      }
    return anchor;
  }

  Block &block;
  llvm::DenseMap<Operation *, size_t> places;
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
