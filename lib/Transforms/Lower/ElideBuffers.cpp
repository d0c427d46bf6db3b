//===- ElideBuffers.cpp - Results are computed where they go --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SubsetOpInterface.h"

namespace cp {
#define GEN_PASS_DEF_ELIDEBUFFERS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// The order of a block's ops, where each new one stands right before one that
/// was there. A block itself numbers all of its ops again each time that it is
/// asked about a new one, which makes a long program's time quadratic.
class OpOrder {
public:
  explicit OpOrder(Block &block) {
    for (auto [index, op] : llvm::enumerate(block))
      numbers[&op] = 2 * index + 1;
  }

  /// Whether a value of the function is there in front of an op.
  bool isDefinedBefore(Value value, Operation *op) const {
    Operation *definition = value.getDefiningOp();
    return !definition || numbers.lookup(definition) < numbers.lookup(op);
  }
  void insertBefore(Operation *op, Operation *next) {
    numbers[op] = numbers.lookup(next) - 1;
  }

private:
  /// Odd ones, of ops that were there.
  llvm::DenseMap<Operation *, size_t> numbers;
};

struct ElideBuffers : impl::ElideBuffersBase<ElideBuffers> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.isPublic() ||
        !llvm::hasSingleElement(function.getBody()))
      return;
    bufferization::OneShotBufferizationOptions options;
    bufferization::OneShotAnalysisState state(function, options);
    if (failed(bufferization::analyzeOp(function, state)))
      return signalPassFailure();
    OpOrder order(function.getBody().front());
    IRRewriter rewriter(&getContext());
    if (failed(bufferization::eliminateEmptyTensors(
            rewriter, function, state,
            [&](RewriterBase &, SubsetInsertionOpInterface insertion,
                tensor::EmptyOp empty, Operation *user) {
              return placeOf(rewriter, order, insertion, empty, user);
            })))
      return signalPassFailure();
    for (auto empty : llvm::make_early_inc_range(
             function.getBody().front().getOps<tensor::EmptyOp>()))
      if (empty->use_empty())
        empty->erase();
  }

private:
  /// Where `insertion` will put what `user` writes into `empty`; null where
  /// that is not there yet.
  static Value placeOf(RewriterBase &rewriter, OpOrder &order,
                       SubsetInsertionOpInterface insertion,
                       tensor::EmptyOp empty, Operation *user) {
    for (Value needed : insertion.getValuesNeededToBuildSubsetExtraction())
      if (!order.isDefinedBefore(needed, user))
        return nullptr;
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(user);
    Value place = insertion.buildSubsetExtraction(rewriter, empty.getLoc());
    if (Operation *op = place ? place.getDefiningOp() : nullptr)
      order.insertBefore(op, user);
    return place;
  }
};

} // namespace
} // namespace cp
