//===- AddUpdate.cpp - From gradients to a step of an optimizer -----------===//
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
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"

#include <limits>

namespace cp {
#define GEN_PASS_DEF_ADDUPDATE
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// A parameter whose gradient is one of the results.
struct Gradient {
  unsigned result;
  BlockArgument param;
  StringAttr name;
};

struct AddUpdate : impl::AddUpdateBase<AddUpdate> {
  using AddUpdateBase::AddUpdateBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.isPublic())
      return;
    SmallVector<Gradient> gradients;
    if (failed(check(function)) || failed(find(function, gradients)) ||
        failed(addSteps(function, gradients)))
      signalPassFailure();
  }

private:
  //===--------------------------------------------------------------------===//
  // What there is
  //===--------------------------------------------------------------------===//

  LogicalResult check(func::FuncOp function) {
    if (Attribute view = function->getAttr(viewAttr))
      return function.emitOpError("add_update_c1: has layouts already (")
             << viewAttr << " = " << view
             << "); add the update before the function is sharded";
    if (!llvm::hasSingleElement(function.getBody()))
      return function.emitOpError("add_update_c1: has several blocks; give the "
                                  "program what one step computes");
    if (auto fields = function->getAttrOfType<ArrayAttr>(trainingOnlyAttr))
      return function.emitOpError("add_update_c4: is of a model that trains "
                                  "otherwise (")
             << fields
             << ") than its program does; set these fields of the "
                "configuration to 0";
    llvm::StringSet<> added = {update::rate, update::clip};
    if (optimizer == Optimizer::Adamw)
      added.insert(update::step);
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (StringAttr name = nameOf(function, i); added.contains(name))
        return function.emitOpError("add_update_c2: argument ")
               << i << " has the name '" << name.getValue()
               << "', which the update is to take; give it another cp.name";
    ArgumentNames arguments(function);
    auto isSum = [&](StringAttr name) {
      BlockArgument found = arguments.find(name);
      return found &&
             function.getArgAttr(found.getArgNumber(), accumulatesAttr);
    };
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto of = function.getResultAttrOfType<StringAttr>(i, updatesAttr);
      if (of && !isSum(of))
        return function.emitOpError("add_update_c2: result ")
               << i << " updates " << of
               << " already; add the update to the function with gradients";
      auto name = function.getResultAttrOfType<StringAttr>(i, nameAttr);
      if (name && name == update::gradNorm)
        return function.emitOpError("add_update_c2: result ")
               << i << " has the name '" << update::gradNorm
               << "', which the update is to give; give it another cp.name";
    }
    return success();
  }

  LogicalResult find(func::FuncOp function, SmallVectorImpl<Gradient> &found) {
    ArgumentNames arguments(function);
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto name = function.getResultAttrOfType<StringAttr>(i, gradientAttr);
      if (!name)
        continue;
      BlockArgument param = arguments.find(name);
      if (!param)
        return function.emitOpError("add_update_c1: result ")
               << i << " is the gradient of '" << name.getValue()
               << "', but no argument has that name";
      auto type = dyn_cast<RankedTensorType>(param.getType());
      auto grad = dyn_cast<RankedTensorType>(function.getResultTypes()[i]);
      if (!type || !grad || type.getShape() != grad.getShape() ||
          grad.getElementType() != sumsOf(type.getElementType()))
        return function.emitOpError("add_update_c1: result ")
               << i << " is the gradient of '" << name.getValue() << "', a "
               << param.getType() << ", but is " << function.getResultTypes()[i]
               << "; give it these sizes, in f32 or better";
      Type element = type.getElementType();
      if (!element.isF64() && !element.isF32() && !element.isBF16())
        return function.emitOpError("add_update_c5: parameter '")
               << name.getValue() << "' must be in f64, f32 or bf16, but is in "
               << element << "; keep it in f32, and round where it is used";
      for (StringRef kind : {"exp_avg.", "exp_avg_sq.", "master."})
        if (BlockArgument taken = arguments.find(
                StringAttr::get(&getContext(), kind + name.getValue())))
          return function.emitOpError("add_update_c2: argument ")
                 << taken.getArgNumber() << " has the name '" << kind
                 << name.getValue()
                 << "', which the update is to take; give it another cp.name";
      found.push_back({i, param, name});
    }
    if (!found.empty())
      return success();
    return function.emitOpError("add_update_c1: has no result with ")
           << gradientAttr
           << "; run cp-differentiate first (of the pipelines: gradients=loss "
              "with differentiate=global)";
  }

  //===--------------------------------------------------------------------===//
  // What comes
  //===--------------------------------------------------------------------===//

  /// The number of each argument that is kept of a parameter.
  struct State {
    unsigned expAvg, expAvgSq;
    std::optional<unsigned> master;
  };

  bool isAdamw() const { return optimizer == Optimizer::Adamw; }

  LogicalResult addSteps(func::FuncOp function, ArrayRef<Gradient> gradients) {
    NewArguments arguments(function);
    SmallVector<State> states;
    for (const Gradient &gradient : gradients)
      states.push_back(addState(function, gradient, arguments));
    Builder types(&getContext());
    Type real = RankedTensorType::get({}, types.getF64Type());
    unsigned rate = arguments.add(real, update::rate),
             clip = arguments.add(real, update::clip), step = 0;
    if (isAdamw())
      step = arguments.add(RankedTensorType::get({}, types.getI64Type()),
                           update::step);
    if (failed(arguments.insert()))
      return failure();
    Operation *end = function.getBody().front().getTerminator();
    ImplicitLocOpBuilder builder(function.getLoc(), end);
    SmallVector<Value> values;
    for (const Gradient &gradient : gradients)
      values.push_back(end->getOperand(gradient.result));
    FailureOr<Value> divisor = divisorOf(builder, function);
    if (failed(divisor))
      return failure();
    NewResults results(function);
    keepResults(builder, function, *divisor, results);
    Value norm = quotient(builder, normOf(builder, values), *divisor);
    results.add(norm, nameAttr, builder.getStringAttr(update::gradNorm));
    auto argument = [&](unsigned i) -> Value {
      return function.getArgument(i);
    };
    Value scale = scaleOf(builder, norm, argument(clip));
    Scalars scalars = {argument(rate), argument(step),
                       quotient(builder, scale, *divisor)};
    for (auto [gradient, value, state] :
         llvm::zip_equal(gradients, values, states))
      addStep(builder, function, gradient, value, state, scalars, results);
    results.set();
    return success();
  }

  /// What sums are divided by, of f64, or null.
  FailureOr<Value> divisorOf(ImplicitLocOpBuilder &builder,
                             func::FuncOp function) {
    if (count.empty())
      return Value();
    auto real = RankedTensorType::get({}, builder.getF64Type());
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto name = function.getResultAttrOfType<StringAttr>(i, nameAttr);
      if (!name || name.getValue() != count)
        continue;
      Type type = function.getResultTypes()[i];
      if (!isScalar(type))
        return function.emitOpError("add_update_c3: result '")
               << count << "' must be a scalar of f64 or less, but is " << type;
      Value one =
          arith::ConstantOp::create(builder, DenseElementsAttr::get(real, 1.0));
      return Value(arith::MaximumFOp::create(
          builder, inF64(builder, returned(function, i)), one));
    }
    return function.emitOpError("add_update_c3: has no result with cp.name = '")
           << count << "', which gradients are to be divided by; return it, or "
           << "leave the option count out";
  }

  static bool isScalar(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    auto real = tensor ? dyn_cast<FloatType>(tensor.getElementType()) : nullptr;
    return real && tensor.getRank() == 0 && real.getWidth() <= 64;
  }

  static Value returned(func::FuncOp function, unsigned result) {
    return function.getBody().front().getTerminator()->getOperand(result);
  }

  static Value inF64(ImplicitLocOpBuilder &builder, Value scalar) {
    auto real = RankedTensorType::get({}, builder.getF64Type());
    if (scalar.getType() == real)
      return scalar;
    return arith::ExtFOp::create(builder, real, scalar);
  }

  /// `divisor` may be null.
  static Value quotient(ImplicitLocOpBuilder &builder, Value value,
                        Value divisor) {
    return divisor ? Value(arith::DivFOp::create(builder, value, divisor))
                   : value;
  }

  /// All but gradients; a loss that is a sum is divided as they are.
  static void keepResults(ImplicitLocOpBuilder &builder, func::FuncOp function,
                          Value divisor, NewResults &results) {
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      if (function.getResultAttr(i, gradientAttr))
        continue;
      Value value = returned(function, i);
      auto name = function.getResultAttrOfType<StringAttr>(i, nameAttr);
      if (divisor && name && name == "loss" && isScalar(value.getType()))
        value = quotient(builder, inF64(builder, value), divisor);
      results.keep(i, value);
    }
  }

  State addState(func::FuncOp function, const Gradient &gradient,
                 NewArguments &arguments) {
    auto type =
        cast<RankedTensorType>(function.getResultTypes()[gradient.result]);
    State state = {};
    auto add = [&](StringRef kind) {
      return arguments.add(type, kind + "." + gradient.name.getValue(),
                           stateAttr, gradient.name);
    };
    if (type != gradient.param.getType())
      state.master = add("master");
    if (isAdamw()) {
      state.expAvg = add("exp_avg");
      state.expAvgSq = add("exp_avg_sq");
    }
    return state;
  }

  static Value normOf(ImplicitLocOpBuilder &builder,
                      ArrayRef<Value> gradients) {
    Type real = RankedTensorType::get({}, builder.getF64Type());
    SmallVector<Value> squares;
    for (Value gradient : gradients)
      squares.push_back(SquaredNormOp::create(builder, real, gradient));
    return math::SqrtOp::create(builder, SumOp::create(builder, real, squares));
  }

  /// min(1, clip / (norm + 1e-6)), as PyTorch has it
  /// (torch/nn/utils/clip_grad.py), or NaN where the norm is not finite: what
  /// is taken from itself is 0 of numbers only.
  static Value scaleOf(ImplicitLocOpBuilder &builder, Value norm, Value clip) {
    auto real = cast<RankedTensorType>(norm.getType());
    auto number = [&](double value) -> Value {
      return arith::ConstantOp::create(builder,
                                       DenseElementsAttr::get(real, value));
    };
    Value above = arith::AddFOp::create(builder, norm, number(1e-6));
    Value ratio = arith::DivFOp::create(builder, clip, above);
    Value most = arith::MinimumFOp::create(builder, ratio, number(1.0));
    Value zero = arith::SubFOp::create(builder, norm, norm);
    return arith::AddFOp::create(builder, most, zero);
  }

  struct Scalars {
    Value rate, step, scale;
  };

  void addStep(ImplicitLocOpBuilder &builder, func::FuncOp function,
               const Gradient &gradient, Value value, const State &state,
               const Scalars &scalars, NewResults &results) {
    Value param = state.master ? function.getArgument(*state.master)
                               : Value(gradient.param);
    Type type = param.getType(),
         rounded = state.master ? gradient.param.getType() : Type();
    APFloat decay(decays(function, gradient) ? weightDecay : 0.0);
    auto update = [&](Value result, unsigned argument) {
      results.add(result, updatesAttr, nameOf(function, argument));
    };
    Value updated, low;
    if (isAdamw()) {
      auto op = AdamwOp::create(
          builder, type, type, type, rounded, param, value,
          function.getArgument(state.expAvg),
          function.getArgument(state.expAvgSq), scalars.rate, scalars.step,
          scalars.scale, APFloat(beta1), APFloat(beta2), APFloat(eps), decay);
      updated = op.getUpdated();
      low = op.getRounded();
      update(low ? low : updated, gradient.param.getArgNumber());
      update(op.getExpAvgOut(), state.expAvg);
      update(op.getExpAvgSqOut(), state.expAvgSq);
    } else {
      auto op = SgdOp::create(builder, type, rounded, param, value,
                              scalars.rate, scalars.scale, decay);
      updated = op.getUpdated();
      low = op.getRounded();
      update(low ? low : updated, gradient.param.getArgNumber());
    }
    if (state.master)
      update(updated, *state.master);
  }

  static bool decays(func::FuncOp function, const Gradient &gradient) {
    unsigned number = gradient.param.getArgNumber();
    StringRef name = gradient.name.getValue();
    StringRef last = name.substr(name.rfind('.') + 1);
    return cast<RankedTensorType>(gradient.param.getType()).getRank() > 1 &&
           last != "A_log" && last != "D" && last != "dt_bias" &&
           !function.getArgAttr(number, noDecayAttr);
  }
};

} // namespace
} // namespace cp
