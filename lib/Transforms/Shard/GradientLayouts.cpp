//===- GradientLayouts.cpp - A gradient lies as what it is of -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentAttributes.h"
#include "LayoutAssigner.h"

using namespace mlir;

namespace cp {

LayoutAttr withoutSums(LayoutAttr layout) {
  Layout whole = layout.toLayout();
  whole.partial.clear();
  return LayoutAttr::get(layout.getContext(), whole);
}

/// A layout `want` but for sums over these axes that are yet to be made.
static LayoutAttr asTerms(LayoutAttr want, ArrayRef<int64_t> axes) {
  Layout layout = want.toLayout();
  for (int64_t axis : axes)
    if (!isCutOver(layout, static_cast<int>(axis)))
      layout.partial.push_back(static_cast<int>(axis));
  llvm::sort(layout.partial);
  return LayoutAttr::get(want.getContext(), layout);
}

/// The axes over which ranks have terms of a value, or parts: these are terms
/// too, among zeros, however many.
static SmallVector<int64_t> allTermAxes(Value value) {
  Layout layout = LayoutAttr::of(value.getType()).toLayout();
  SmallVector<int64_t> axes(layout.partial.begin(), layout.partial.end());
  for (const std::vector<Cut> &cuts : layout.dims)
    for (const Cut &cut : cuts)
      axes.push_back(cut.axis);
  return axes;
}

void LayoutAssigner::findGradients(FunctionOpInterface function) {
  for (Operation &op : function.getFunctionBody().front())
    if (auto update = dyn_cast<UpdateOpInterface>(op))
      gradients.try_emplace(update.getGrad(), update.getParam());
}

void LayoutAssigner::layGradient(OpOperand &operand, LayoutAttr want) {
  // What is cut and wanted whole is one of the sums, and goes with them. What
  // is kept in parts is cut as soon as it is made, since the whole takes
  // memory; sums over the other axes wait for each other, to travel together.
  bool isCut =
      withoutSums(want) != LayoutAttr::getReplicated(meshAttr, want.getRank());
  LayoutAttr terms = asTerms(want, termAxesOf(operand.get()));
  if (isCut || terms != want)
    values.materialize(operand, terms);
  values.materialize(operand, want, operand.getOwner());
}

void LayoutAssigner::layGradients(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value param = gradients.lookup(operand.get());
    if (param && LayoutAttr::of(operand.get().getType()))
      layGradient(operand, LayoutAttr::of(param.getType()));
  }
}

/// As an argument with this sequence would: what is cut over other axes beside
/// stays so.
FailureOr<LayoutAttr> LayoutAssigner::asSequence(FunctionOpInterface function,
                                                 unsigned result, int64_t dim,
                                                 LayoutAttr have) {
  auto type = cast<RankedTensorType>(function.getResultTypes()[result]);
  auto refuse = [&](const std::string &wrong) -> LogicalResult {
    return function->emitOpError("assign_c9: result ")
           << result << " cannot be cut as its " << sequenceAttr
           << " says: " << wrong;
  };
  if (dim < 0 || dim >= type.getRank())
    return refuse("it must be below " + std::to_string(type.getRank()) +
                  ", but is " + std::to_string(dim));
  Layout layout = inRowOrder(withoutSums(have).toLayout());
  Layout rows{mesh, {sharding.rows(), {}}, {}};
  if (dim != 0)
    rows.dims[1] = sharding.batch;
  for (std::vector<Cut> &cuts : layout.dims)
    llvm::erase_if(cuts,
                   [&](const Cut &cut) { return isCutOver(rows, cut.axis); });
  layout.dims[dim] = rows.dims[0];
  if (dim != 0)
    layout.dims[0] = rows.dims[1];
  if (std::optional<std::string> wrong = check(layout, type.getShape()))
    return refuse(*wrong);
  return attr(layout);
}

/// How the argument lies that is the cotangent of a result of this type; null
/// where none is.
static LayoutAttr ofCotangent(FunctionOpInterface function, unsigned result,
                              RankedTensorType type) {
  auto name = function.getResultAttrOfType<StringAttr>(result, nameAttr);
  for (BlockArgument argument : function.getArguments())
    if (name &&
        function.getArgAttr(argument.getArgNumber(), cotangentAttr) == name &&
        cast<ShapedType>(argument.getType()).getShape() == type.getShape())
      return LayoutAttr::of(argument.getType());
  return {};
}

/// Sums are made at last where the caller gets them, and what is of an argument
/// lies as that does.
LogicalResult LayoutAssigner::visitTerminator(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op->getParentOp());
  if (!function)
    return success();
  ArgumentNames arguments(function);
  for (OpOperand &operand : op->getOpOperands()) {
    auto found = dyn_cast<RankedTensorType>(operand.get().getType());
    auto dim = function.getResultAttrOfType<IntegerAttr>(
        operand.getOperandNumber(), sequenceAttr);
    LayoutAttr have = found ? LayoutAttr::of(found) : LayoutAttr();
    BlockArgument of;
    for (StringRef attr : {gradientAttr, updatesAttr})
      if (auto name = function.getResultAttrOfType<StringAttr>(
              operand.getOperandNumber(), attr))
        of = arguments.find(name);
    // What takes any layout takes that of a sequence too, or of an argument.
    bool isFree = found && !have;
    if (isFree && (dim || of))
      have = attr({mesh, std::vector<std::vector<Cut>>(found.getRank()), {}});
    if (!have)
      continue;
    if (!of) {
      // Callers know nothing of documents.
      LayoutAttr want = attr(inRowOrder(withoutSums(have).toLayout()));
      if (dim) {
        FailureOr<LayoutAttr> rows = asSequence(
            function, operand.getOperandNumber(), dim.getInt(), have);
        if (failed(rows))
          return failure();
        want = *rows;
      } else if (LayoutAttr given =
                     ofCotangent(function, operand.getOperandNumber(), found)) {
        want = given;
      }
      values.materialize(operand, want, op);
      continue;
    }
    auto type = dyn_cast<RankedTensorType>(of.getType());
    if (!type || type.getShape() !=
                     cast<RankedTensorType>(operand.get().getType()).getShape())
      return function->emitOpError("assign_c8: result ")
             << operand.getOperandNumber() << " is that of argument "
             << of.getArgNumber() << " by its " << gradientAttr << " or "
             << updatesAttr << ", but has other sizes; name the right argument";
    LayoutAttr want = LayoutAttr::of(of.getType());
    if (isFree) {
      // Zeros are what they are on each rank.
      if (!isFreeZero(operand.get()))
        values.materialize(operand, have);
      values.materialize(operand, want, op);
      continue;
    }
    bool isParam = function.getArgAttr(of.getArgNumber(), paramAttr) != nullptr;
    if (sharding.partialGradients && isParam)
      values.materialize(operand, asTerms(want, allTermAxes(operand.get())),
                         op);
    else
      layGradient(operand, want);
  }
  return success();
}

} // namespace cp
