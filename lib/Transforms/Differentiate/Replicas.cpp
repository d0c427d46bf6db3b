//===- Replicas.cpp - Cotangents of what ranks share whole ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Replicas.h"

#include "cp/Adjoint/Adjoint.h"

using namespace mlir;

namespace cp {

Replicas::Replicas(func::FuncOp function) {
  auto isScaled = [](auto op) { return op.getGradScale().has_value(); };
  areWhole = llvm::any_of(function.getOps<AllGatherOp>(), isScaled) ||
             llvm::any_of(function.getOps<SliceOp>(), isScaled);
}

ArrayAttr Replicas::axesOf(LayoutAttr layout) const {
  if (areWhole || !layout)
    return {};
  Layout value = layout.toLayout();
  SmallVector<Attribute> axes;
  for (auto [i, axis] : llvm::enumerate(value.mesh.axes))
    if (axis.size > 1 && !isCutOver(value, static_cast<int>(i)))
      axes.push_back(layout.getMesh().getNames()[i]);
  return axes.empty() ? ArrayAttr() : ArrayAttr::get(layout.getContext(), axes);
}

Value Replicas::termOf(OpBuilder &builder, Value cotangent,
                       LayoutAttr layout) const {
  ArrayAttr axes = axesOf(layout);
  if (!axes)
    return cotangent;
  return onPositions(builder, cotangent.getLoc(), cotangent, layout.getMesh(),
                     axes, /*positions=*/0);
}

void Replicas::add(size_t number, Value gradient, LayoutAttr layout) {
  if (ArrayAttr axes = axesOf(layout))
    groups[{layout.getMesh(), axes}].push_back({number, gradient});
}

void Replicas::makeSums(OpBuilder &builder, MutableArrayRef<Value> gradients) {
  for (auto &[group, terms] : groups) {
    auto sources = llvm::map_to_vector(
        terms, [](const auto &term) { return term.second; });
    auto sum = AllReduceOp::create(builder, sources.front().getLoc(), sources,
                                   group.first, group.second);
    for (auto [term, value] : llvm::zip_equal(terms, sum.getResults()))
      gradients[term.first] = value;
  }
}

} // namespace cp
