//===- SplitBackward.cpp - Forward and backward, each by itself -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace cp {
#define GEN_PASS_DEF_SPLITBACKWARD
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// All that an op reads, in its regions too.
SmallVector<Value> readsOf(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  llvm::SetVector<Value> above;
  getUsedValuesDefinedAbove(op->getRegions(), above);
  llvm::append_range(values, above);
  return values;
}

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

/// Builds one of the two functions.
class Half {
public:
  Half(func::FuncOp whole, StringRef suffix)
      : whole(whole), name((whole.getName() + suffix).str()) {}

  void addArgument(Value value, Type type, DictionaryAttr attributes) {
    originals.push_back(value);
    types.push_back(type);
    argumentAttrs.push_back(attributes);
  }
  /// The arguments of the whole that `isTaken` says.
  void addArguments(llvm::function_ref<bool(BlockArgument)> isTaken) {
    for (BlockArgument argument : whole.getArguments())
      if (isTaken(argument))
        addArgument(argument, argument.getType(),
                    whole.getArgAttrDict(argument.getArgNumber()));
  }
  void addResult(Value value, DictionaryAttr attributes) {
    results.push_back(value);
    resultAttrs.push_back(attributes);
  }

  /// Of these ops; `passedAs` says how a residual is passed.
  void build(const llvm::DenseSet<Operation *> &ops,
             const llvm::SetVector<Value> &residuals,
             llvm::function_ref<RankedTensorType(Value)> passedAs) {
    OpBuilder builder(whole);
    Location loc = whole.getLoc();
    auto function = func::FuncOp::create(
        builder, loc, name, builder.getFunctionType(types, TypeRange()));
    function->setDiscardableAttrs(whole->getDiscardableAttrDictionary());
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToStart(block);
    IRMapping mapping;
    for (auto [original, argument] :
         llvm::zip_equal(originals, block->getArguments()))
      mapping.map(original,
                  residuals.contains(original)
                      ? reshaped(builder, argument,
                                 cast<RankedTensorType>(original.getType()))
                      : Value(argument));
    for (Operation &op : whole.getBody().front().without_terminator())
      if (ops.contains(&op))
        builder.clone(op, mapping);
    SmallVector<Value> values;
    for (Value result : results) {
      Value value = mapping.lookup(result);
      bool isPassed = values.size() >= numOwn && residuals.contains(result);
      values.push_back(isPassed ? reshaped(builder, value, passedAs(result))
                                : value);
    }
    func::ReturnOp::create(builder, loc, values);
    function.setType(
        builder.getFunctionType(types, ValueRange(values).getTypes()));
    function.setAllArgAttrs(argumentAttrs);
    function.setAllResultAttrs(resultAttrs);
  }

  /// What follows are residuals.
  void endOwnResults() { numOwn = results.size(); }

private:
  /// A scalar as one element, and back.
  static Value reshaped(OpBuilder &builder, Value value,
                        RankedTensorType type) {
    auto from = cast<RankedTensorType>(value.getType());
    if (from == type)
      return value;
    ArrayRef<ReassociationIndices> none;
    if (from.getRank() == 0)
      return tensor::ExpandShapeOp::create(builder, value.getLoc(), type, value,
                                           none);
    return tensor::CollapseShapeOp::create(builder, value.getLoc(), type, value,
                                           none);
  }

  func::FuncOp whole;
  std::string name;
  SmallVector<Value> originals, results;
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
  size_t numOwn = SIZE_MAX;
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
                               "gradients=loss or gradients=cotangents");
      return signalPassFailure();
    }
    for (func::FuncOp function : functions) {
      if (failed(check(function)))
        return signalPassFailure();
      split(function);
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
    if (!llvm::hasSingleElement(function.getBody()))
      return function.emitOpError("split_backward_c1: has several blocks");
    auto view = function->getAttrOfType<StringAttr>(viewAttr);
    if ((view && view != "local") ||
        llvm::any_of(function.getArgumentTypes(),
                     [](Type type) { return LayoutAttr::of(type); }))
      return function.emitOpError("split_backward_c1: has layouts in its "
                                  "types; run this when it is partitioned");
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (function.getResultAttr(i, valueAttr))
        return function.emitOpError("split_backward_c1: returns what its ops "
                                    "compute, of both passes; split it "
                                    "without expose");
    for (Operation &op : function.getBody().front().without_terminator())
      if (!onlyReads(&op))
        return op.emitOpError("split_backward_c1: may write to memory, so it "
                              "belongs to neither pass alone; split the "
                              "program while it is on tensors");
    if (!SymbolTable::symbolKnownUseEmpty(function, getOperation()))
      return function.emitOpError("split_backward_c1: is called, which two "
                                  "functions cannot be; inline it first");
    for (StringRef suffix : {"_forward", "_backward"})
      if (getOperation().lookupSymbol(function.getName().str() + suffix.str()))
        return function.emitOpError("split_backward_c1: there is a '")
               << function.getName() << suffix << "' already; rename it";
    return success();
  }

  /// Whether nothing but its results depends on when an op runs, or whether.
  static bool onlyReads(Operation *op) {
    if (isMemoryEffectFree(op))
      return true;
    std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
        getEffectsRecursively(op);
    return effects && llvm::all_of(*effects, [](const auto &effect) {
             return isa<MemoryEffects::Read>(effect.getEffect());
           });
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

  void split(func::FuncOp function) {
    Split passes(function);
    MeshAttr mesh = meshOf(function);
    auto passedAs = [&](Value residual) {
      auto type = cast<RankedTensorType>(residual.getType());
      return mesh && type.getRank() == 0 ? type.clone(ArrayRef<int64_t>{1})
                                         : type;
    };
    Half forward(function, "_forward"), backward(function, "_backward");
    forward.addArguments([&](BlockArgument argument) {
      return passes.readForward.contains(argument) ||
             !passes.readBackward.contains(argument);
    });
    backward.addArguments([&](BlockArgument argument) {
      return passes.readBackward.contains(argument);
    });
    Operation *end = function.getBody().front().getTerminator();
    for (OpOperand &operand : end->getOpOperands()) {
      unsigned number = operand.getOperandNumber();
      Half &half = passes.isGradient(number) ? backward : forward;
      half.addResult(operand.get(), function.getResultAttrDict(number));
    }
    forward.endOwnResults();
    Builder builder(&getContext());
    llvm::StringSet<> names = namesOf(function);
    int64_t next = 0;
    for (Value value : passes.residuals) {
      RankedTensorType type = passedAs(value);
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
      forward.addResult(value, dictionary);
      backward.addArgument(value, type, dictionary);
    }
    forward.build(passes.forward, passes.residuals, passedAs);
    backward.build(passes.backward, passes.residuals, passedAs);
    function.erase();
  }
};

} // namespace
} // namespace cp
