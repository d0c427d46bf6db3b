//===- Attributes.cpp - Meshes and layouts from C ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp-c/Attributes.h"

#include "cp/IR/CPDialect.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"

using namespace mlir;

static auto errorsTo(MLIRContext *context) {
  return [context] { return emitError(UnknownLoc::get(context)); };
}

//===----------------------------------------------------------------------===//
// #cp.mesh
//===----------------------------------------------------------------------===//

static cp::MeshAttr meshOf(MlirAttribute mesh) {
  return cast<cp::MeshAttr>(unwrap(mesh));
}

bool cpAttributeIsAMesh(MlirAttribute attribute) {
  return isa_and_present<cp::MeshAttr>(unwrap(attribute));
}

MlirAttribute cpMeshAttrGet(MlirContext wrapped, intptr_t numAxes,
                            const MlirStringRef *names, const int64_t *sizes) {
  MLIRContext *context = unwrap(wrapped);
  context->loadDialect<cp::CPDialect>();
  SmallVector<StringAttr> axisNames;
  for (intptr_t axis = 0; axis < numAxes; ++axis)
    axisNames.push_back(StringAttr::get(context, unwrap(names[axis])));
  return wrap(cp::MeshAttr::getChecked(errorsTo(context), context,
                                       ArrayRef<StringAttr>(axisNames),
                                       ArrayRef(sizes, numAxes)));
}

intptr_t cpMeshAttrGetNumAxes(MlirAttribute mesh) {
  return meshOf(mesh).getNames().size();
}

MlirStringRef cpMeshAttrGetAxisName(MlirAttribute mesh, intptr_t axis) {
  return wrap(meshOf(mesh).getNames()[axis].getValue());
}

int64_t cpMeshAttrGetAxisSize(MlirAttribute mesh, intptr_t axis) {
  return meshOf(mesh).getSizes()[axis];
}

int64_t cpMeshAttrGetNumRanks(MlirAttribute mesh) {
  return meshOf(mesh).toMesh().numRanks();
}

//===----------------------------------------------------------------------===//
// #cp.layout
//===----------------------------------------------------------------------===//

static cp::LayoutAttr layoutOf(MlirAttribute layout) {
  return cast<cp::LayoutAttr>(unwrap(layout));
}

bool cpAttributeIsALayout(MlirAttribute attribute) {
  return isa_and_present<cp::LayoutAttr>(unwrap(attribute));
}

/// The axis as the layout algebra has it; nothing, after an error, for a number
/// beyond any mesh.
static std::optional<int> axisOf(MLIRContext *context, int64_t axis) {
  if (static_cast<int>(axis) == axis)
    return static_cast<int>(axis);
  emitError(UnknownLoc::get(context))
      << "layout_c1: there is no axis " << axis << " on any mesh";
  return std::nullopt;
}

MlirAttribute cpLayoutAttrGet(MlirAttribute mesh, intptr_t rank,
                              intptr_t numCuts, const CpCut *cuts,
                              intptr_t numPartial, const int64_t *partial) {
  auto meshAttr = dyn_cast_if_present<cp::MeshAttr>(unwrap(mesh));
  if (!meshAttr)
    return wrap(Attribute());
  MLIRContext *context = meshAttr.getContext();
  cp::Layout layout;
  layout.mesh = meshAttr.toMesh();
  layout.dims.resize(std::max<intptr_t>(rank, 0));
  for (int64_t number : ArrayRef(partial, numPartial)) {
    std::optional<int> axis = axisOf(context, number);
    if (!axis)
      return wrap(Attribute());
    layout.partial.push_back(*axis);
  }
  for (const CpCut &cut : ArrayRef(cuts, numCuts)) {
    if (cut.dim < 0 || cut.dim >= rank) {
      emitError(UnknownLoc::get(context))
          << "layout_c4: a cut names dimension " << cut.dim << " of " << rank;
      return wrap(Attribute());
    }
    std::optional<int> axis = axisOf(context, cut.axis);
    if (!axis)
      return wrap(Attribute());
    layout.dims[cut.dim].push_back(
        {*axis, static_cast<cp::Order>(cut.order), cut.unit});
  }
  if (std::optional<std::string> wrong = cp::check(layout)) {
    errorsTo(context)() << *wrong;
    return wrap(Attribute());
  }
  return wrap(cp::LayoutAttr::get(context, layout));
}

MlirAttribute cpLayoutAttrOf(MlirType type) {
  return wrap(cp::LayoutAttr::of(unwrap(type)));
}

MlirAttribute cpLayoutAttrGetMesh(MlirAttribute layout) {
  return wrap(layoutOf(layout).getMesh());
}

intptr_t cpLayoutAttrGetRank(MlirAttribute layout) {
  return layoutOf(layout).getRank();
}

static SmallVector<CpCut> cutsOf(MlirAttribute layout) {
  SmallVector<CpCut> cuts;
  cp::Layout value = layoutOf(layout).toLayout();
  for (auto [dim, dimCuts] : llvm::enumerate(value.dims))
    for (const cp::Cut &cut : dimCuts)
      cuts.push_back({static_cast<intptr_t>(dim), cut.axis,
                      static_cast<CpOrder>(cut.order), cut.unit});
  return cuts;
}

intptr_t cpLayoutAttrGetNumCuts(MlirAttribute layout) {
  return cutsOf(layout).size();
}

CpCut cpLayoutAttrGetCut(MlirAttribute layout, intptr_t position) {
  return cutsOf(layout)[position];
}

intptr_t cpLayoutAttrGetNumPartial(MlirAttribute layout) {
  return layoutOf(layout).getPartial().size();
}

int64_t cpLayoutAttrGetPartial(MlirAttribute layout, intptr_t position) {
  return layoutOf(layout).getPartial()[position];
}

MlirType cpLayoutGetLocalType(MlirType type) {
  auto tensor = dyn_cast<RankedTensorType>(unwrap(type));
  return tensor ? wrap(cp::LayoutAttr::getLocalType(tensor)) : type;
}
