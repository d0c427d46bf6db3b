//===- DocumentsAlike.cpp - Ranks with the same documents -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DocumentsAlike.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace cp {

/// The axes of several ranks that cut nothing of it.
static ArrayAttr axesWithout(LayoutAttr layout) {
  Layout values = layout.toLayout();
  SmallVector<StringRef> names;
  for (auto [axis, named] : llvm::enumerate(values.mesh.axes))
    if (named.size > 1 && !isCutOver(values, static_cast<int>(axis)))
      names.push_back(named.name);
  return Builder(layout.getContext()).getStrArrayAttr(names);
}

static bool sameAxes(ArrayAttr a, ArrayAttr b) {
  llvm::SmallPtrSet<Attribute, 4> axes(a.begin(), a.end());
  return a.size() == b.size() &&
         llvm::all_of(b, [&](Attribute axis) { return axes.contains(axis); });
}

DocumentsAlike::DocumentsAlike(FunctionOpInterface function) {
  function.walk([&](PositionsOp op) {
    Value documents = op.getDocuments();
    LayoutAttr layout =
        documents ? LayoutAttr::of(documents.getType()) : nullptr;
    if (layout)
      known.try_emplace(documents,
                        Ranks{layout.getMesh(), axesWithout(layout)});
  });
}

void DocumentsAlike::addTo(FunctionOpInterface function) const {
  SmallVector<Operation *> found;
  function.walk([&](Operation *op) {
    if (!isa<PositionsOp, CutPositionsOp>(op))
      return;
    if (Value documents = documentsOf(op->getResult(0));
        documents && known.contains(documents))
      found.push_back(op);
  });
  // In front, so that exchanges that could be one do not have them between.
  llvm::DenseMap<Value, Operation *> last;
  for (Operation *op : found) {
    Value documents = documentsOf(op->getResult(0));
    const Ranks &ranks = known.find(documents)->second;
    OpBuilder builder(op);
    if (Operation *other = last.lookup(documents))
      builder.setInsertionPointAfter(other);
    else
      builder.setInsertionPointAfterValue(documents);
    last[documents] = place(builder, op, ranks);
  }
}

Operation *DocumentsAlike::place(OpBuilder &builder, Operation *op,
                                 const Ranks &ranks) {
  if (auto whole = dyn_cast<PositionsOp>(op); whole && !ranks.axes.empty()) {
    auto compared = CutPositionsOp::create(
        builder, op->getLoc(), whole.getType(), whole.getDocuments(),
        ranks.mesh, builder.getArrayAttr({}), ranks.axes);
    whole.replaceAllUsesWith(compared.getResult());
    whole.erase();
    return compared;
  }
  if (auto cut = dyn_cast<CutPositionsOp>(op);
      cut && !ranks.axes.empty() && !sameAxes(ranks.axes, cut.getAxes()))
    cut.setAlikeAttr(ranks.axes);
  if (op->getBlock() != builder.getInsertionBlock() ||
      op->getIterator() != builder.getInsertionPoint())
    op->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
  return op;
}

} // namespace cp
