//===- Differentiate.cpp - From a model to its gradients ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentAttributes.h"
#include "ControlFlow.h"
#include "Replicas.h"
#include "cp/Adjoint/Adjoint.h"
#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringExtras.h"

namespace cp {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// The layout of an argument or a result of a local program; null for none.
LayoutAttr layoutOf(Attribute attribute) {
  return dyn_cast_or_null<LayoutAttr>(attribute);
}

struct Differentiate : impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.isPublic())
      return;
    if (failed(check(function)) || failed(findWanted(function)) ||
        failed(checkNames(function)) || failed(differentiate(function)))
      return signalPassFailure();
  }

private:
  //===--------------------------------------------------------------------===//
  // What is asked for
  //===--------------------------------------------------------------------===//

  LogicalResult check(func::FuncOp function) {
    auto view = function->getAttrOfType<StringAttr>(viewAttr);
    if (view && view != "local")
      return function.emitOpError("differentiate_c1: has layouts already (")
             << viewAttr << " = " << view
             << "); differentiate it before it is sharded, or when it is "
                "partitioned and its reshards are lowered (differentiate=local "
                "of the pipelines)";
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto of = function.getResultAttrOfType<StringAttr>(i, gradientAttr))
        return function.emitOpError("differentiate_c1: result ")
               << i << " is the gradient of '" << of.getValue()
               << "' already, and those of two passes would have the same "
                  "names; differentiate the program once";
    for (ReshardOp reshard : function.getOps<ReshardOp>())
      if (view)
        return reshard.emitOpError("differentiate_c1: has no collective yet; "
                                   "run cp-lower-reshards first");
    if (failed(refusePartial(function)))
      return failure();
    if (!llvm::hasSingleElement(function.getBody()))
      return function.emitOpError("differentiate_c1: has several blocks; give "
                                  "the program what one step computes");
    if (failed(refuseControlFlow(function, "differentiate_c1")))
      return failure();
    for (Operation &op : function.getBody().front())
      if (failed(checkTypes(op)))
        return failure();
    return success();
  }

  /// The cotangent of a value of which ranks have terms is whole on each of
  /// them, which no layout of an argument says.
  static LogicalResult refusePartial(func::FuncOp function) {
    auto isPartial = [](Attribute attribute) {
      LayoutAttr layout = layoutOf(attribute);
      return layout && !layout.getPartial().empty();
    };
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (isPartial(function.getArgAttr(i, layoutAttr)))
        return function.emitOpError("differentiate_c1: argument ")
               << i
               << " is a partial sum; add it up before, by a cp.all_reduce";
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (isPartial(function.getResultAttr(i, layoutAttr)))
        return function.emitOpError("differentiate_c1: result ")
               << i << " is a partial sum; add it up, by a cp.all_reduce";
    return success();
  }

  /// Of an op between the arguments and the results.
  static LogicalResult checkTypes(Operation &op) {
    for (Type type :
         llvm::concat<const Type>(SmallVector<Type>(op.getOperandTypes()),
                                  SmallVector<Type>(op.getResultTypes()))) {
      if (isa<BaseMemRefType>(type))
        return op.emitOpError("differentiate_c1: works on buffers, and only "
                              "tensors have derivatives; differentiate the "
                              "program while it is on tensors");
      auto tensor = dyn_cast<ShapedType>(type);
      if (tensor && !tensor.hasStaticShape())
        return op.emitOpError("differentiate_c1: has a ")
               << type
               << ", and only tensors of known sizes have derivatives here; "
                  "give the program for one length of sequence";
    }
    return success();
  }

  /// The arguments that `wrt` names, or all parameters.
  LogicalResult findWanted(func::FuncOp function) {
    wanted.clear();
    if (wrt.empty()) {
      for (BlockArgument argument : function.getArguments())
        if (function.getArgAttr(argument.getArgNumber(), paramAttr) &&
            isDifferentiable(argument.getType()))
          wanted.push_back(argument);
      if (wanted.empty())
        return function.emitOpError(
            "differentiate_c2: has no argument with cp.param of floats; name "
            "what to differentiate by in the option wrt");
      return success();
    }
    for (const std::string &name : wrt) {
      auto isNamed = [&](BlockArgument argument) {
        return nameOf(function, argument.getArgNumber()).getValue() == name;
      };
      auto *found = llvm::find_if(function.getArguments(), isNamed);
      if (found == function.getArguments().end())
        return function.emitOpError("differentiate_c2: no argument has the "
                                    "name '")
               << name << "', which wrt asks for; " << namesOf(function);
      if (!isDifferentiable(found->getType()))
        return function.emitOpError("differentiate_c2: argument '")
               << name << "' is " << found->getType()
               << ", and only tensors of floats have derivatives; leave it out "
                  "of wrt";
      if (llvm::is_contained(wanted, *found))
        return function.emitOpError("differentiate_c2: wrt names '")
               << name << "' twice; name it once";
      wanted.push_back(*found);
    }
    return success();
  }

  /// Whose gradient a result is, the name of the argument says.
  LogicalResult checkNames(func::FuncOp function) {
    ArgumentNames first(function);
    for (BlockArgument argument : function.getArguments()) {
      StringAttr name = nameOf(function, argument.getArgNumber());
      BlockArgument other = first.find(name);
      if (other == argument || !(llvm::is_contained(wanted, argument) ||
                                 llvm::is_contained(wanted, other)))
        continue;
      return function.emitOpError("differentiate_c2: arguments ")
             << other.getArgNumber() << " and " << argument.getArgNumber()
             << " both have the name '" << name.getValue()
             << "', so nothing says whose gradient a result is; give each a "
                "name of its own";
    }
    return success();
  }

  static std::string namesOf(func::FuncOp function) {
    std::string text = "its arguments are";
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      text += (i ? ", '" : " '") + nameOf(function, i).str() + "'";
    return text;
  }

  /// The result that is the loss: the one of that name, or the only one.
  FailureOr<unsigned> findLoss(func::FuncOp function) {
    unsigned number = 0, count = function.getNumResults();
    if (count != 1 || !loss.empty()) {
      auto isNamed = [&](unsigned i) {
        auto name = function.getResultAttrOfType<StringAttr>(i, nameAttr);
        return name && name == (loss.empty() ? "loss" : loss.getValue());
      };
      while (number < count && !isNamed(number))
        ++number;
    }
    if (number == count)
      return function.emitOpError("differentiate_c2: none of its ")
             << count << " results has cp.name = \""
             << (loss.empty() ? "loss" : loss.getValue())
             << "\"; name the loss so, or derive from cotangents of all "
                "results (cp-differentiate=cotangents, and of "
                "cp-shard-pipeline gradients=cotangents)";
    auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[number]);
    if (!type || !isDifferentiable(type) || type.getRank() != 0)
      return function.emitOpError(
                 "differentiate_c2: the loss must be one float "
                 "(tensor<f32>, say), but result ")
             << number << " is " << function.getResultTypes()[number]
             << "; sum it up, or derive from cotangents";
    return number;
  }

  //===--------------------------------------------------------------------===//
  // Forward, loss and gradients
  //===--------------------------------------------------------------------===//

  LogicalResult differentiate(func::FuncOp function) {
    Block &body = function.getBody().front();
    SmallVector<Operation *> ops;
    for (Operation &op : body.without_terminator())
      ops.push_back(&op);
    SmallVector<Value> from(wanted.begin(), wanted.end());
    DenseSet<Value> dependents = findDependents(from, ops);
    OpBuilder builder(body.getTerminator());
    ReverseSweep sweep(builder, dependents);
    Replicas replicas(function);
    if (failed(seed(function, sweep, replicas, builder)) ||
        failed(checkPath(function, ops, dependents)) || failed(sweep.run(ops)))
      return failure();
    finish(function, sweep, replicas, builder);
    for (Operation *op : ops)
      if (auto stop = dyn_cast<StopGradientOp>(op)) {
        stop.getResult().replaceAllUsesWith(stop.getSource());
        stop.erase();
      }
    return success();
  }

  LogicalResult seed(func::FuncOp function, ReverseSweep &sweep,
                     const Replicas &replicas, OpBuilder &builder) {
    Operation *end = function.getBody().front().getTerminator();
    seeded.clear();
    if (!cotangents) {
      FailureOr<unsigned> number = findLoss(function);
      if (failed(number))
        return failure();
      Value value = end->getOperand(*number);
      auto type = cast<RankedTensorType>(value.getType());
      Value one = arith::ConstantOp::create(
          builder, value.getLoc(),
          DenseElementsAttr::get(
              type, builder.getFloatAttr(type.getElementType(), 1.0)));
      sweep.seed(value, replicas.termOf(builder, one,
                                        layoutOf(function.getResultAttr(
                                            *number, layoutAttr))));
      seeded.push_back(value);
      return success();
    }
    SmallVector<Value> results(end->getOperands());
    for (auto [i, value] : llvm::enumerate(results)) {
      if (!isDifferentiable(value.getType()))
        continue;
      auto name = function.getResultAttrOfType<StringAttr>(i, nameAttr);
      std::string of = name ? name.str() : "result" + std::to_string(i);
      unsigned number = function.getNumArguments();
      NamedAttrList attributes;
      attributes.append(cotangentAttr, builder.getStringAttr(of));
      attributes.append(nameAttr, builder.getStringAttr(of + ".cotangent"));
      Attribute layout = function.getResultAttr(i, layoutAttr);
      for (StringRef kept : {sequenceAttr, lengthAttr})
        if (Attribute value = function.getResultAttr(i, kept))
          attributes.append(kept, value);
      if (layout)
        attributes.append(layoutAttr, layout);
      if (failed(function.insertArgument(
              number, value.getType(),
              attributes.getDictionary(builder.getContext()), value.getLoc())))
        return failure();
      sweep.seed(value, replicas.termOf(builder, function.getArgument(number),
                                        layoutOf(layout)));
      seeded.push_back(value);
    }
    return success();
  }

  /// That each op between what is differentiated and the loss has a derivative;
  /// the error names the way to it.
  LogicalResult checkPath(func::FuncOp function, ArrayRef<Operation *> ops,
                          const DenseSet<Value> &dependents) {
    DenseSet<Value> reaching(seeded.begin(), seeded.end());
    for (Operation *op : llvm::reverse(ops)) {
      // Choices, such as the results of comparisons, have no cotangent.
      auto reaches = [&](Value result) {
        return reaching.contains(result) && dependents.contains(result);
      };
      if (llvm::none_of(op->getResults(), reaches) ||
          !dependence(op, dependents) || isa<StopGradientOp>(op))
        continue;
      if (!isa<AdjointOpInterface>(op)) {
        auto error = op->emitOpError("differentiate_c3: has no derivative, but "
                                     "lies between argument '");
        error << startOf(function, op, dependents) << "' and the loss; "
              << adviceWithoutAdjoint(op);
        return error;
      }
      reaching.insert(op->operand_begin(), op->operand_end());
    }
    return success();
  }

  /// The first of what the op reads that is one of the `dependents`, or null.
  static Value dependence(Operation *op, const DenseSet<Value> &dependents) {
    for (Value value : op->getOperands())
      if (dependents.contains(value))
        return value;
    for (Value value : capturedBy(op))
      if (dependents.contains(value))
        return value;
    return nullptr;
  }

  /// The argument from which the first way leads to `op`.
  static StringRef startOf(func::FuncOp function, Operation *op,
                           const DenseSet<Value> &dependents) {
    for (;;) {
      Value operand = dependence(op, dependents);
      if (auto argument = dyn_cast<BlockArgument>(operand))
        return nameOf(function, argument.getArgNumber()).getValue();
      op = operand.getDefiningOp();
    }
  }

  /// Returns the gradients behind the results.
  void finish(func::FuncOp function, ReverseSweep &sweep, Replicas &replicas,
              OpBuilder &builder) {
    Operation *end = function.getBody().front().getTerminator();
    SmallVector<Value> gradients;
    SmallVector<DictionaryAttr> names;
    for (BlockArgument argument : wanted) {
      StringAttr name = nameOf(function, argument.getArgNumber());
      Attribute layout =
          function.getArgAttr(argument.getArgNumber(), layoutAttr);
      Value gradient = sweep.total(argument);
      if (gradient) {
        replicas.add(gradients.size(), gradient, layoutOf(layout));
      } else {
        function.emitWarning("differentiate: the loss does not depend on '")
            << name.getValue() << "', whose gradient is 0";
        auto type = cast<RankedTensorType>(argument.getType());
        type = type.clone(sumsOf(type.getElementType()));
        gradient = arith::ConstantOp::create(
            builder, function.getLoc(),
            cast<TypedAttr>(builder.getZeroAttr(type)));
      }
      NamedAttrList attributes;
      attributes.append(gradientAttr, name);
      attributes.append(nameAttr,
                        builder.getStringAttr("grad." + name.getValue()));
      if (layout)
        attributes.append(layoutAttr, layout);
      // Of an argument with padding it has some too.
      if (Attribute length =
              function.getArgAttr(argument.getArgNumber(), lengthAttr)) {
        attributes.append(
            sequenceAttr,
            function.getArgAttr(argument.getArgNumber(), sequenceAttr));
        attributes.append(lengthAttr, length);
      }
      names.push_back(attributes.getDictionary(builder.getContext()));
      gradients.push_back(gradient);
    }
    // All at once: a type for each number of results would be kept.
    unsigned number = function.getNumResults();
    (void)function.insertResults(
        SmallVector<unsigned>(gradients.size(), number),
        SmallVector<Type>(ValueRange(gradients).getTypes()), names);
    replicas.makeSums(builder, gradients);
    end->insertOperands(end->getNumOperands(), gradients);
  }

  SmallVector<BlockArgument> wanted;
  SmallVector<Value> seeded;
};

} // namespace
} // namespace cp
