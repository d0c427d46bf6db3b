//===- ArgumentLayouts.cpp - How arguments come cut -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutAssigner.h"

using namespace mlir;

namespace cp {

/// Whether a caller keeps it from step to step: a parameter, or what an
/// optimizer or a sum over micro-batches has of one.
static bool isKept(FunctionOpInterface function, BlockArgument arg) {
  return llvm::any_of(
      ArrayRef<StringRef>{paramAttr, stateAttr, accumulatesAttr},
      [&](StringRef name) {
        return function.getArgAttr(arg.getArgNumber(), name);
      });
}

LogicalResult LayoutAssigner::assignArguments(FunctionOpInterface function) {
  bool any = false;
  for (BlockArgument arg : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(arg.getType());
    if (!type)
      continue;
    if (LayoutAttr::of(type))
      continue;
    Layout layout =
        LayoutAttr::getReplicated(meshAttr, type.getRank()).toLayout();
    auto dim = function.getArgAttrOfType<IntegerAttr>(arg.getArgNumber(),
                                                      sequenceAttr);
    if (dim) {
      any = true;
      if (failed(assignSequence(function, arg, dim.getInt(), layout)) ||
          failed(assignBatch(function, arg, layout)))
        return failure();
    } else if (isKept(function, arg)) {
      layout.dims = keptCuts(type.getShape());
    }
    setLayout(arg, attr(layout));
    gatherForUse(arg);
  }
  if (!any)
    function->emitWarning("no argument has cp.sequence, so nothing is cut");
  return success();
}

/// Along the first dimension that all of the axes divide; else along none.
std::vector<std::vector<Cut>>
LayoutAssigner::keptCuts(ArrayRef<int64_t> shape) const {
  std::vector<std::vector<Cut>> dims(shape.size());
  int64_t parts = partsOf(mesh, sharding.params);
  if (sharding.params.empty())
    return dims;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!ShapedType::isDynamic(size) && size % parts == 0) {
      dims[dim] = sharding.params;
      break;
    }
  return dims;
}

/// What computes with an argument that is kept in parts reads all of it, which
/// is gathered right before the first one does. An update works on parts.
void LayoutAssigner::gatherForUse(BlockArgument arg) {
  LayoutAttr layout = LayoutAttr::of(arg.getType());
  if (sharding.params.empty() || sequenceDims.contains(arg) ||
      layout == LayoutAttr::getReplicated(meshAttr, layout.getRank()))
    return;
  Operation *first = nullptr;
  llvm::SmallPtrSet<Operation *, 4> kept;
  Block *block = arg.getOwner();
  for (Operation *user : arg.getUsers()) {
    if (isa<UpdateOpInterface>(user) ||
        user->hasTrait<OpTrait::IsTerminator>()) {
      kept.insert(user);
      continue;
    }
    Operation *op = block->findAncestorOpInBlock(*user);
    if (!first || op->isBeforeInBlock(first))
      first = op;
  }
  if (!first)
    return;
  OpBuilder builder(first);
  auto whole = cast<RankedTensorType>(arg.getType())
                   .cloneWithEncoding(
                       LayoutAttr::getReplicated(meshAttr, layout.getRank()));
  auto gather = ReshardOp::create(builder, first->getLoc(), whole, arg,
                                  LayoutAttr(), LayoutAttr());
  kept.insert(gather);
  arg.replaceAllUsesExcept(gather, kept);
}

std::string axesText(const Mesh &mesh, ArrayRef<Cut> cuts) {
  std::string text;
  for (const Cut &cut : cuts)
    text += (text.empty() ? "\"" : " and \"") + mesh.axes[cut.axis].name + "\"";
  return (cuts.size() > 1 ? "axes " : "axis ") + text;
}

LogicalResult LayoutAssigner::assignSequence(FunctionOpInterface function,
                                             BlockArgument arg, int64_t dim,
                                             Layout &layout) {
  auto type = cast<RankedTensorType>(arg.getType());
  if (dim < 0 || dim >= type.getRank())
    return function->emitOpError("argument ")
           << arg.getArgNumber() << ": cp.sequence must be below "
           << type.getRank() << ", but is " << dim;
  std::vector<Cut> rows = sharding.rows();
  layout.dims[dim] = rows;
  sequenceDims[arg] = dim;
  // What ranks do not divide has been padded.
  if (!type.isDynamicDim(dim))
    return success();
  return function->emitOpError("assign_c1: the sequence of argument ")
         << arg.getArgNumber() << " must have a known number of tokens, but "
         << "is '?' in " << type << "; write the number into the type";
}

LogicalResult LayoutAssigner::assignBatch(FunctionOpInterface function,
                                          BlockArgument arg, Layout &layout) {
  if (sharding.batch.empty() || sequenceDims.lookup(arg) == 0)
    return success();
  layout.dims[0] = sharding.batch;
  batchDims[arg] = 0;
  int64_t size = cast<RankedTensorType>(arg.getType()).getDimSize(0);
  if (!ShapedType::isDynamic(size) &&
      !check(Layout{mesh, {sharding.batch}, {}}, {size}))
    return success();
  auto error = function->emitOpError("assign_c7: the batch of argument ");
  error << arg.getArgNumber() << " (";
  ShapedType::isDynamic(size) ? error << "'?'" : error << size;
  return error << " sequences) must be a multiple of the "
               << partsOf(mesh, sharding.batch) << " ranks of "
               << axesText(mesh, sharding.batch)
               << "; use another number of ranks, or another batch";
}

} // namespace cp
