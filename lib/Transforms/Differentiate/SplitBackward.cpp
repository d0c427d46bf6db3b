//===- SplitBackward.cpp - Forward and backward, each by itself -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Differentiate/HalfFunction.h"
#include "Residuals/ForwardPass.h"
#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSet.h"

namespace cp {
#define GEN_PASS_DEF_SPLITBACKWARD
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// Whether a residual can be of this type: what a caller can hold.
bool canBeHeld(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  Type element = tensor ? tensor.getElementType() : Type();
  return element && (element.isF32() || element.isF64() || element.isBF16() ||
                     element.isInteger(32) || element.isInteger(64));
}

/// Which ops of a function with gradients are of which pass.
class Split {
public:
  explicit Split(func::FuncOp function)
      : function(function),
        terminator(function.getBody().front().getTerminator()) {
    SmallVector<Value> primals, gradients;
    for (OpOperand &operand : terminator->getOpOperands())
      (isGradient(operand.getOperandNumber()) ? gradients : primals)
          .push_back(operand.get());
    for (Value value : primals)
      addForward(value);
    for (Value value : gradients)
      addBackward(value);
  }

  bool isGradient(unsigned result) {
    return static_cast<bool>(function.getResultAttr(result, gradientAttr));
  }

  llvm::DenseSet<Operation *> forward, backward;
  llvm::DenseSet<Value> readForward, readBackward;
  llvm::SetVector<Value> residuals;

private:
  void addForward(Value value) {
    SmallVector<Value> work = {value};
    while (!work.empty()) {
      Value next = work.pop_back_val();
      Operation *op = next.getDefiningOp();
      if (!op)
        readForward.insert(next);
      else if (forward.insert(op).second)
        llvm::append_range(work, readsOf(op));
    }
  }

  void addBackward(Value value) {
    SmallVector<Value> work = {value};
    while (!work.empty()) {
      Value next = work.pop_back_val();
      Operation *op = next.getDefiningOp();
      if (!op)
        readBackward.insert(next);
      else if (forward.contains(op) && !isMadeAgain(next))
        residuals.insert(next);
      else if (backward.insert(op).second)
        llvm::append_range(work, readsOf(op));
    }
  }

  /// Whether the backward pass makes a value of the forward pass once more: it
  /// costs nothing, or no caller could hold it.
  bool isMadeAgain(Value value) {
    Operation *op = value.getDefiningOp();
    if (op->hasTrait<OpTrait::ConstantLike>() || !canBeHeld(value.getType()) ||
        isa<tensor::EmptyOp, linalg::FillOp, tensor::ExpandShapeOp,
            tensor::CollapseShapeOp, PositionsOp, CutPositionsOp>(op))
      return true;
    return isa<tensor::ExtractSliceOp, SliceOp>(op) && isPartOfArgument(value);
  }

  /// Which both functions have whole anyway.
  static bool isPartOfArgument(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isa<tensor::ExtractSliceOp, SliceOp, tensor::ExpandShapeOp,
               tensor::CollapseShapeOp>(op) ||
          op->getNumOperands() != 1)
        return false;
      value = op->getOperand(0);
    }
    return true;
  }

  func::FuncOp function;
  Operation *terminator;
};

/// The mesh of a program of one rank, or null.
MeshAttr meshOf(func::FuncOp function) {
  MeshAttr mesh;
  function.walk([&](GroupOpInterface op) { mesh = op.getMesh(); });
  for (unsigned i = 0; !mesh && i < function.getNumArguments(); ++i)
    if (auto layout = function.getArgAttrOfType<LayoutAttr>(i, layoutAttr))
      mesh = layout.getMesh();
  return mesh;
}

/// Ranks' own tensors, one behind the other.
LayoutAttr stacked(MeshAttr mesh, int64_t rank) {
  Layout layout;
  layout.mesh = mesh.toMesh();
  layout.dims.resize(rank);
  for (size_t axis = 0; axis < layout.mesh.axes.size(); ++axis)
    layout.dims[0].push_back(Cut{static_cast<int>(axis)});
  return LayoutAttr::get(mesh.getContext(), layout);
}

/// An exchange of some of the values of another.
Operation *exchangeOf(OpBuilder &builder, AllReduceOp all,
                      ArrayRef<unsigned> numbers) {
  OperationState state(all.getLoc(), all->getName());
  for (unsigned number : numbers) {
    state.addOperands(all->getOperand(number));
    state.addTypes(all->getResult(number).getType());
  }
  state.addAttributes(all->getAttrs());
  return builder.create(state);
}

/// Sums that go with each other but are not of one pass go apart again: the
/// forward pass would else have to wait for gradients.
void partSums(func::FuncOp function) {
  llvm::DenseSet<Value> forward = forwardValues(function);
  for (auto all : llvm::make_early_inc_range(function.getOps<AllReduceOp>())) {
    SmallVector<unsigned> first, second;
    for (auto [i, result] : llvm::enumerate(all->getResults()))
      (forward.contains(result) ? first : second).push_back(i);
    if (first.empty() || second.empty())
      continue;
    OpBuilder builder(all);
    for (ArrayRef<unsigned> numbers : {first, second}) {
      Operation *part = exchangeOf(builder, all, numbers);
      for (auto [number, result] : llvm::zip_equal(numbers, part->getResults()))
        all->getResult(number).replaceAllUsesWith(result);
    }
    all.erase();
  }
}

struct SplitBackward : impl::SplitBackwardBase<SplitBackward> {
  using SplitBackwardBase::SplitBackwardBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (hasGradients(function))
        functions.push_back(function);
    if (functions.empty()) {
      getOperation().emitError("split_backward_c2: no public function has "
                               "results with cp.gradient; run "
                               "cp-differentiate first, or give the pipeline "
                               "gradients=loss or gradients=cotangents, and no "
                               "optimizer, which takes them up");
      return signalPassFailure();
    }
    for (func::FuncOp function : functions) {
      if (failed(check(function)) || failed(split(function)))
        return signalPassFailure();
    }
  }

private:
  static bool hasGradients(func::FuncOp function) {
    if (function.isExternal() || !function.isPublic())
      return false;
    auto results = llvm::seq(0u, function.getNumResults());
    return llvm::any_of(results, [&](unsigned i) {
      return function.getResultAttr(i, gradientAttr);
    });
  }

  LogicalResult check(func::FuncOp function) {
    if (failed(checkSplits(function, {"_forward", "_backward"},
                           "split_backward_c1")))
      return failure();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (function.getResultAttr(i, valueAttr))
        return function.emitOpError("split_backward_c1: returns what its ops "
                                    "compute, of both passes; split it "
                                    "without expose");
    return success();
  }

  /// The names that arguments and results of a function have.
  static llvm::StringSet<> namesOf(func::FuncOp function) {
    llvm::StringSet<> names;
    auto note = [&](Attribute attribute) {
      if (auto name = dyn_cast_or_null<StringAttr>(attribute))
        names.insert(name.getValue());
    };
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      for (StringRef attr : {StringRef(nameAttr), StringRef(paramAttr)})
        note(function.getArgAttr(i, attr));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      note(function.getResultAttr(i, nameAttr));
    return names;
  }

  static LogicalResult checkForward(func::FuncOp function,
                                    const Split &passes) {
    for (BlockArgument argument : function.getArguments()) {
      auto of = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      cotangentAttr);
      if (of && passes.readForward.contains(argument))
        return function.emitOpError("split_backward_c3: its forward pass "
                                    "reads the cotangent of ")
               << of
               << ", with which it shares an exchange; split it before "
                  "cp-merge-exchanges";
    }
    return success();
  }

  LogicalResult split(func::FuncOp function) {
    partSums(function);
    Split passes(function);
    if (failed(checkForward(function, passes)))
      return failure();
    MeshAttr mesh = meshOf(function);
    HalfFunction forward(function, "_forward"), backward(function, "_backward");
    auto isCotangent = [&](BlockArgument argument) {
      return function.getArgAttr(argument.getArgNumber(), cotangentAttr) !=
             nullptr;
    };
    forward.addArguments([&](BlockArgument argument) {
      return !isCotangent(argument) &&
             (passes.readForward.contains(argument) ||
              !passes.readBackward.contains(argument));
    });
    backward.addArguments([&](BlockArgument argument) {
      return isCotangent(argument) || passes.readBackward.contains(argument);
    });
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      (passes.isGradient(i) ? backward : forward).addResult(i);
    Builder builder(&getContext());
    llvm::StringSet<> names = namesOf(function);
    int64_t next = 0;
    for (Value value : passes.residuals) {
      auto type = cast<RankedTensorType>(value.getType());
      if (mesh && type.getRank() == 0)
        type = type.clone(ArrayRef<int64_t>{1});
      std::string name;
      do
        name = "residual" + std::to_string(next++);
      while (names.contains(name));
      NamedAttrList attributes;
      attributes.append(nameAttr, builder.getStringAttr(name));
      attributes.append(residualAttr, builder.getUnitAttr());
      if (mesh)
        attributes.append(layoutAttr, stacked(mesh, type.getRank()));
      DictionaryAttr dictionary = attributes.getDictionary(&getContext());
      forward.addResult(value, type, dictionary);
      backward.addArgument(value, type, dictionary);
    }
    forward.build(passes.forward);
    backward.build(passes.backward);
    function.erase();
    return success();
  }
};

} // namespace
} // namespace cp
