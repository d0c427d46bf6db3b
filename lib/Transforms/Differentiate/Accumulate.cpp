//===- Accumulate.cpp - Sums over micro-batches -----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentAttributes.h"
#include "Differentiate/NewSignature.h"
#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace cp {
#define GEN_PASS_DEF_ACCUMULATE
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// A result that becomes a sum over micro-batches.
struct Summand {
  unsigned result;
  /// Of the gradient's argument, or of the result.
  StringAttr name;
  RankedTensorType type;
  /// The argument that has the sum so far.
  unsigned sum = 0;
};

struct Accumulate : impl::AccumulateBase<Accumulate> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.isPublic())
      return;
    SmallVector<Summand> summands;
    if (failed(check(function)) || failed(find(function, summands)) ||
        failed(addSums(function, summands)))
      signalPassFailure();
  }

private:
  LogicalResult check(func::FuncOp function) {
    if (Attribute view = function->getAttr(viewAttr))
      return function.emitOpError("accumulate_c1: has layouts already (")
             << viewAttr << " = " << view
             << "); let it accumulate before it is sharded";
    if (!llvm::hasSingleElement(function.getBody()))
      return function.emitOpError("accumulate_c1: has several blocks; give the "
                                  "program what one micro-batch computes");
    return success();
  }

  LogicalResult find(func::FuncOp function, SmallVectorImpl<Summand> &found) {
    bool hasCount = false, hasGradient = false;
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto gradient = function.getResultAttrOfType<StringAttr>(i, gradientAttr);
      auto name = function.getResultAttrOfType<StringAttr>(i, nameAttr);
      auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[i]);
      bool isCount = name && name == update::count;
      if (!gradient && !isCount && !(name && name == "loss"))
        continue;
      auto real = type ? dyn_cast<FloatType>(type.getElementType()) : nullptr;
      if (!real || real.getWidth() > 64 || (!gradient && type.getRank()))
        return function.emitOpError("accumulate_c2: result ")
               << i << " must be a " << (gradient ? "tensor" : "scalar")
               << " of f64 or less to be summed, but is "
               << function.getResultTypes()[i];
      hasCount |= isCount;
      hasGradient |= static_cast<bool>(gradient);
      // Of loss and count there is one number a batch: what f32 rounds off of
      // long sums costs nothing to keep.
      Type element = gradient ? sumsOf(type.getElementType())
                              : Type(Float64Type::get(&getContext()));
      found.push_back({i, gradient ? gradient : name, type.clone(element)});
    }
    if (hasGradient && hasCount)
      return success();
    return function.emitOpError("accumulate_c2: has no result with ")
           << (hasGradient ? "cp.name = 'count', by which sums are divided; "
                             "return the number of terms of the loss, and "
                             "their sum as 'loss' (cp-next-token-loss{sums})"
                           : "cp.gradient; run cp-differentiate first");
  }

  LogicalResult addSums(func::FuncOp function,
                        MutableArrayRef<Summand> summands) {
    ArgumentNames names(function);
    NewArguments arguments(function);
    for (Summand &summand : summands) {
      std::string name = ("accumulated." + summand.name.getValue()).str();
      if (names.find(StringAttr::get(&getContext(), name)))
        return refuseName(function, name);
      summand.sum =
          arguments.add(summand.type, name, accumulatesAttr, summand.name);
    }
    if (names.find(StringAttr::get(&getContext(), update::microBatch)))
      return refuseName(function, update::microBatch);
    unsigned index = arguments.add(
        RankedTensorType::get({}, IntegerType::get(&getContext(), 64)),
        update::microBatch);
    if (failed(arguments.insert()))
      return failure();
    Operation *end = function.getBody().front().getTerminator();
    ImplicitLocOpBuilder builder(function.getLoc(), end);
    SmallVector<Value> values(end->getOperands());
    for (const Summand &summand : summands)
      values[summand.result] = AccumulateOp::create(
          builder, summand.type,
          widened(builder, values[summand.result], summand.type),
          function.getArgument(summand.sum), function.getArgument(index));
    NewResults results(function);
    for (auto [i, value] : llvm::enumerate(values))
      results.keep(i, value);
    for (const Summand &summand : summands)
      results.add(values[summand.result], updatesAttr,
                  nameOf(function, summand.sum));
    results.set();
    return success();
  }

  static LogicalResult refuseName(func::FuncOp function, StringRef name) {
    return function.emitOpError("accumulate_c3: an argument has the name '")
           << name << "', which the sums are to take; give it another cp.name";
  }

  static Value widened(ImplicitLocOpBuilder &builder, Value value,
                       RankedTensorType type) {
    if (value.getType() == type)
      return value;
    return arith::ExtFOp::create(builder, type, value);
  }
};

} // namespace
} // namespace cp
