//===- SplitUpdate.cpp - Micro-batches, and the step of them ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentAttributes.h"
#include "Differentiate/HalfFunction.h"
#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace cp {
#define GEN_PASS_DEF_SPLITUPDATE
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// What is done for each micro-batch, or of the sums.
struct Slice {
  llvm::DenseSet<Operation *> ops;
  llvm::DenseSet<Value> arguments;
};

/// What a value is made of, down to those that `stops` says.
void addToSlice(Value value, llvm::function_ref<bool(Value)> stops,
                Slice &slice) {
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (stops(next))
      continue;
    Operation *op = next.getDefiningOp();
    if (!op)
      slice.arguments.insert(next);
    else if (slice.ops.insert(op).second)
      llvm::append_range(work, readsOf(op));
  }
}

struct SplitUpdate : impl::SplitUpdateBase<SplitUpdate> {
  using SplitUpdateBase::SplitUpdateBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && function.isPublic())
        functions.push_back(function);
    bool any = false;
    for (func::FuncOp function : functions) {
      FailureOr<bool> isSplit = split(function);
      if (failed(isSplit))
        return signalPassFailure();
      any |= *isSplit;
    }
    if (any)
      return;
    getOperation().emitError(
        "split_update_c2: no public function has a step of sums over "
        "micro-batches; run cp-accumulate and cp-add-update first, or give the "
        "pipeline accumulate and an optimizer");
    signalPassFailure();
  }

private:
  /// What is in each sum behind a micro-batch.
  static DenseMap<BlockArgument, Value> sumsOf(func::FuncOp function) {
    DenseMap<BlockArgument, Value> sums;
    ArgumentNames names(function);
    for (auto [i, value] : llvm::enumerate(
             function.getBody().front().getTerminator()->getOperands()))
      if (auto name = function.getResultAttrOfType<StringAttr>(i, updatesAttr);
          name && value.getDefiningOp<AccumulateOp>())
        if (BlockArgument argument = names.find(name))
          sums.try_emplace(argument, value);
    return sums;
  }

  FailureOr<bool> split(func::FuncOp function) {
    DenseMap<BlockArgument, Value> sums = sumsOf(function);
    auto values = llvm::make_second_range(sums);
    llvm::DenseSet<Value> isSum(values.begin(), values.end());
    auto isMade = [&](Value value) { return isSum.contains(value); };
    Slice each, once;
    SmallVector<unsigned> ofEach, ofOnce;
    ArgumentNames names(function);
    for (auto [i, value] : llvm::enumerate(
             function.getBody().front().getTerminator()->getOperands())) {
      bool isUpdate = function.getResultAttr(i, updatesAttr) != nullptr;
      if (dependsOn(value, isMade) && !(isMade(value) && isUpdate)) {
        ofOnce.push_back(i);
        addToSlice(value, isMade, once);
        // What a step writes it takes, though it may not read it: a parameter
        // that is rounded from its master.
        if (auto name =
                function.getResultAttrOfType<StringAttr>(i, updatesAttr))
          if (BlockArgument updated = names.find(name))
            once.arguments.insert(updated);
      } else {
        ofEach.push_back(i);
        addToSlice(value, [](Value) { return false; }, each);
      }
    }
    if (ofOnce.empty())
      return false;
    if (failed(checkSplits(function, {"_accumulate", "_update"},
                           "split_update_c1")))
      return failure();
    HalfFunction accumulate(function, "_accumulate"),
        update(function, "_update");
    for (BlockArgument argument : function.getArguments()) {
      unsigned number = argument.getArgNumber();
      Value sum = sums.lookup(argument);
      if (sum && once.arguments.contains(argument))
        return function.emitOpError("split_update_c3: the step reads '")
               << nameOf(function, number).getValue()
               << "' as it was in front of the micro-batch, which is no more; "
                  "use what cp.accumulate gives";
      DictionaryAttr attributes = function.getArgAttrDict(number);
      if (each.arguments.contains(argument))
        accumulate.addArgument(argument, argument.getType(), attributes);
      if (sum || once.arguments.contains(argument))
        update.addArgument(sum ? sum : Value(argument), argument.getType(),
                           attributes);
    }
    for (unsigned i : ofEach)
      accumulate.addResult(i);
    for (unsigned i : ofOnce)
      update.addResult(i);
    accumulate.build(each.ops);
    update.build(once.ops);
    function.erase();
    return true;
  }

  static bool dependsOn(Value value, llvm::function_ref<bool(Value)> isSum) {
    bool found = false;
    Slice slice;
    addToSlice(
        value,
        [&](Value next) {
          found |= isSum(next);
          return found;
        },
        slice);
    return found;
  }
};

} // namespace
} // namespace cp
