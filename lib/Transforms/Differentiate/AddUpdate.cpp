//===- AddUpdate.cpp - From gradients to a step of an optimizer -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentAttributes.h"
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

/// Arguments behind those that a function has, which are added at once: a type
/// for each number of arguments would be kept.
class NewArguments {
public:
  explicit NewArguments(FunctionOpInterface function)
      : function(function), first(function.getNumArguments()) {}

  /// Its number, and of another attribute `value`, if there is one.
  unsigned add(Type type, const Twine &name, StringRef attribute = {},
               Attribute value = {}) {
    Builder builder(function.getContext());
    NamedAttrList list;
    list.append(nameAttr, builder.getStringAttr(name));
    if (value)
      list.append(attribute, value);
    types.push_back(type);
    attributes.push_back(list.getDictionary(builder.getContext()));
    return first + types.size() - 1;
  }
  LogicalResult insert() {
    SmallVector<Location> locs(types.size(), function.getLoc());
    return function.insertArguments(SmallVector<unsigned>(types.size(), first),
                                    types, attributes, locs);
  }

private:
  FunctionOpInterface function;
  unsigned first;
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
};

/// The same for results. Those that stay come first.
class NewResults {
public:
  explicit NewResults(FunctionOpInterface function) : function(function) {
    auto *end = function.getFunctionBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(end->getOperands()))
      if (!function.getResultAttr(i, gradientAttr))
        keep(value, function.getResultAttrDict(i));
  }

  void add(Value value, StringRef attribute, Attribute of) {
    NamedAttribute entry(attribute, of);
    keep(value, DictionaryAttr::get(function.getContext(), entry));
  }
  void set() {
    auto *end = function.getFunctionBody().front().getTerminator();
    end->setOperands(values);
    function.setType(function.cloneTypeWith(function.getArgumentTypes(),
                                            TypeRange(ValueRange(values))));
    function.setAllResultAttrs(attributes);
  }

private:
  void keep(Value value, DictionaryAttr list) {
    values.push_back(value);
    attributes.push_back(list);
  }

  FunctionOpInterface function;
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
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
    llvm::StringSet<> added = {update::rate, update::clip};
    if (optimizer == Optimizer::Adamw)
      added.insert(update::step);
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (StringAttr name = nameOf(function, i); added.contains(name))
        return function.emitOpError("add_update_c2: argument ")
               << i << " has the name '" << name.getValue()
               << "', which the update is to take; give it another cp.name";
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      if (Attribute of = function.getResultAttr(i, updatesAttr))
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
           << gradientAttr << "; run cp-differentiate first";
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
    NewResults results(function);
    Value norm = normOf(builder, values);
    results.add(norm, nameAttr, builder.getStringAttr(update::gradNorm));
    auto argument = [&](unsigned i) -> Value {
      return function.getArgument(i);
    };
    Scalars scalars = {argument(rate), argument(step),
                       scaleOf(builder, norm, argument(clip))};
    for (auto [gradient, value, state] :
         llvm::zip_equal(gradients, values, states))
      addStep(builder, function, gradient, value, state, scalars, results);
    results.set();
    return success();
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
