//===- AxesInUse.cpp - The mesh axes that a function uses -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxesInUse.h"

using namespace mlir;

namespace cp {

/// Calls `visit` with the layout of each tensor that has one in its type.
static void walkLayouts(FunctionOpInterface function,
                        llvm::function_ref<void(LayoutAttr)> visit) {
  auto visitType = [&](Type type) {
    if (LayoutAttr layout = LayoutAttr::of(type))
      visit(layout);
  };
  llvm::for_each(function.getArgumentTypes(), visitType);
  function->walk(
      [&](Operation *op) { llvm::for_each(op->getResultTypes(), visitType); });
}

MeshAttr meshOf(FunctionOpInterface function) {
  MeshAttr mesh;
  auto note = [&](Attribute attribute) {
    if (mesh)
      return;
    if (auto layout = dyn_cast_if_present<LayoutAttr>(attribute))
      mesh = layout.getMesh();
    else
      mesh = dyn_cast_if_present<MeshAttr>(attribute);
  };
  walkLayouts(function, note);
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    note(function.getArgAttr(i, layoutAttr));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    note(function.getResultAttr(i, layoutAttr));
  function->walk([&](GroupOpInterface op) { note(op.getMesh()); });
  return mesh;
}

SmallVector<Mesh::Axis> unusedAxes(FunctionOpInterface function,
                                   const Mesh &mesh) {
  SmallVector<bool> used(mesh.axes.size());
  walkLayouts(function, [&](LayoutAttr attribute) {
    Layout layout = attribute.toLayout();
    for (const std::vector<Cut> &dim : layout.dims)
      for (const Cut &cut : dim)
        used[cut.axis] = true;
    for (int axis : layout.partial)
      used[axis] = true;
  });
  SmallVector<Mesh::Axis> unused;
  for (auto [axis, isUsed] : llvm::zip_equal(mesh.axes, used))
    if (!isUsed && axis.size > 1)
      unused.push_back(axis);
  return unused;
}

} // namespace cp
