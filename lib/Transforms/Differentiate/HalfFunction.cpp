//===- HalfFunction.cpp - One of two functions made of one ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HalfFunction.h"

#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace cp {

SmallVector<Value> readsOf(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  llvm::SetVector<Value> above;
  getUsedValuesDefinedAbove(op->getRegions(), above);
  llvm::append_range(values, above);
  return values;
}

//===----------------------------------------------------------------------===//
// What cannot be split
//===----------------------------------------------------------------------===//

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

LogicalResult checkSplits(func::FuncOp function, ArrayRef<StringRef> suffixes,
                          StringRef label) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError(label) << ": has several blocks";
  auto view = function->getAttrOfType<StringAttr>(viewAttr);
  if ((view && view != "local") ||
      llvm::any_of(function.getArgumentTypes(),
                   [](Type type) { return LayoutAttr::of(type); }))
    return function.emitOpError(label) << ": has layouts in its types; run "
                                          "this when it is partitioned";
  for (Operation &op : function.getBody().front().without_terminator())
    if (!onlyReads(&op))
      return op.emitOpError(label)
             << ": may write to memory, so it belongs to neither function "
                "alone; split the program while it is on tensors";
  auto module = function->getParentOfType<ModuleOp>();
  if (!SymbolTable::symbolKnownUseEmpty(function, module))
    return function.emitOpError(label) << ": is called, which two functions "
                                          "cannot be; inline it first";
  for (StringRef suffix : suffixes)
    if (module.lookupSymbol((function.getName() + suffix).str()))
      return function.emitOpError(label)
             << ": there is a '" << function.getName() << suffix
             << "' already; rename it";
  return success();
}

//===----------------------------------------------------------------------===//
// One of the functions
//===----------------------------------------------------------------------===//

void HalfFunction::addArgument(Value value, Type type,
                               DictionaryAttr attributes) {
  originals.push_back(value);
  types.push_back(type);
  argumentAttrs.push_back(attributes);
}

void HalfFunction::addArguments(
    llvm::function_ref<bool(BlockArgument)> isTaken) {
  for (BlockArgument argument : whole.getArguments())
    if (isTaken(argument))
      addArgument(argument, argument.getType(),
                  whole.getArgAttrDict(argument.getArgNumber()));
}

void HalfFunction::addResult(Value value, Type type,
                             DictionaryAttr attributes) {
  results.push_back(value);
  resultTypes.push_back(type);
  resultAttrs.push_back(attributes);
}

void HalfFunction::addResult(unsigned result) {
  Value value = whole.getBody().front().getTerminator()->getOperand(result);
  addResult(value, value.getType(), whole.getResultAttrDict(result));
}

/// A scalar as one element, and back.
static Value passedAs(OpBuilder &builder, Value value, Type type) {
  auto from = dyn_cast<RankedTensorType>(value.getType());
  if (!from || from == type)
    return value;
  ArrayRef<ReassociationIndices> none;
  if (from.getRank() == 0)
    return tensor::ExpandShapeOp::create(builder, value.getLoc(), type, value,
                                         none);
  return tensor::CollapseShapeOp::create(builder, value.getLoc(), type, value,
                                         none);
}

void HalfFunction::build(const llvm::DenseSet<Operation *> &ops) {
  OpBuilder builder(whole);
  Location loc = whole.getLoc();
  auto function = func::FuncOp::create(
      builder, loc, name, builder.getFunctionType(types, resultTypes));
  function->setDiscardableAttrs(whole->getDiscardableAttrDictionary());
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  IRMapping mapping;
  for (auto [original, argument] :
       llvm::zip_equal(originals, block->getArguments()))
    mapping.map(original, passedAs(builder, argument, original.getType()));
  for (Operation &op : whole.getBody().front().without_terminator())
    if (ops.contains(&op))
      builder.clone(op, mapping);
  SmallVector<Value> values;
  for (auto [result, type] : llvm::zip_equal(results, resultTypes))
    values.push_back(passedAs(builder, mapping.lookup(result), type));
  func::ReturnOp::create(builder, loc, values);
  function.setAllArgAttrs(argumentAttrs);
  function.setAllResultAttrs(resultAttrs);
}

} // namespace cp
