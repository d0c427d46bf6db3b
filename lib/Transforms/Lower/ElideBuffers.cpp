//===- ElideBuffers.cpp - Results are computed where they go --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Views.h"

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
  bool isBefore(Operation *first, Operation *second) const {
    return numbers.lookup(first) < numbers.lookup(second);
  }
  void insertBefore(Operation *op, Operation *next) {
    numbers[op] = numbers.lookup(next) - 1;
  }

private:
  /// Odd ones, of ops that were there.
  llvm::DenseMap<Operation *, size_t> numbers;
};

/// What writes to a place at once would write there from `user` on, up to the
/// insertion, each op to what the one before it has written. Bufferization does
/// not see that one of them may not, since the place is a buffer of its own for
/// it, and would put the last value over one that is still read.
class PlaceUse {
public:
  PlaceUse(const OpOrder &order, SubsetInsertionOpInterface insertion,
           Operation *user)
      : order(order), insertion(insertion), user(user) {}

  bool isSafe(Value empty) {
    if (auto made = dyn_cast<bufferization::MaterializeInDestinationOp>(
            insertion.getOperation()))
      for (Operation *other : made.getDest().getUsers())
        if (Value old = other == made ? Value() : viewOf(other))
          if (isReadFrom(old, user, nullptr))
            return false;
    Value source = insertion.getSourceOperand().get();
    SmallVector<Value> names;
    for (Value value = resultOf(user, empty); value;) {
      if (value == source)
        return true;
      names.push_back(value);
      value = next(value, names);
    }
    return user == insertion.getOperation();
  }

private:
  /// The result that takes the place of an operand; null where there is none.
  static Value resultOf(Operation *op, Value operand) {
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      return insert.getDest() == operand && insert.getSource() != operand
                 ? insert.getResult()
                 : Value();
    auto writer = dyn_cast<DestinationStyleOpInterface>(op);
    if (!writer)
      return {};
    Value found;
    for (OpOperand &each : op->getOpOperands())
      if (each.get() == operand) {
        if (found || !writer.isDpsInit(&each))
          return {};
        OpResult result = writer.getTiedOpResult(&each);
        if (!result)
          return {};
        found = result;
      }
    return found;
  }

  /// What is there behind a value: what the one op makes that writes over it,
  /// behind which nothing reads what it was, or a view.
  Value next(Value value, ArrayRef<Value> names) const {
    Operation *writer = nullptr;
    Value view;
    for (Operation *each : value.getUsers()) {
      bool writes = bool(resultOf(each, value));
      if ((writes && writer && writer != each) || (viewOf(each) && view))
        return {};
      if (writes)
        writer = each;
      else if (Value made = viewOf(each))
        view = made;
    }
    if (!writer)
      return view;
    for (Value name : names)
      if (isReadFrom(name, writer, writer))
        return {};
    return resultOf(writer, value);
  }

  /// Whether a value, or a view of it, is read by `begin` or behind it, but by
  /// `except`.
  bool isReadFrom(Value value, Operation *begin, Operation *except) const {
    SmallVector<Value> values = {value};
    for (size_t i = 0; i < values.size(); ++i)
      for (Operation *reader : values[i].getUsers()) {
        if (Value view = viewOf(reader))
          values.push_back(view);
        else if (reader != except && !order.isBefore(reader, begin))
          return true;
      }
    return false;
  }

  const OpOrder &order;
  SubsetInsertionOpInterface insertion;
  Operation *user;
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
    if (!PlaceUse(order, insertion, user).isSafe(empty))
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
