//===- Attributes.cpp - Meshes and layouts from C ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp-c/Attributes.h"

#include "cp/IR/CPDialect.h"
#include "cp/Layout/Refinement.h"
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

/// Fails, and says so, for a count of less than nothing.
static LogicalResult expectCount(MLIRContext *context, const char *what,
                                 intptr_t count) {
  if (count >= 0)
    return success();
  return errorsTo(context)() << "the number of " << what << " is " << count
                             << ", expected 0 or more";
}

MlirAttribute cpMeshAttrGet(MlirContext wrapped, intptr_t numAxes,
                            const MlirStringRef *names, const int64_t *sizes) {
  MLIRContext *context = unwrap(wrapped);
  context->loadDialect<cp::CPDialect>();
  if (failed(expectCount(context, "axes", numAxes)))
    return wrap(Attribute());
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

/// What refines the meshes; nothing after an error.
static std::optional<cp::Refinement>
refinementOf(intptr_t count, const MlirAttribute *attributes) {
  std::vector<cp::Mesh> meshes;
  for (intptr_t i = 0; i < count; ++i) {
    auto mesh = dyn_cast_if_present<cp::MeshAttr>(unwrap(attributes[i]));
    if (!mesh)
      return std::nullopt;
    meshes.push_back(mesh.toMesh());
  }
  if (meshes.empty())
    return std::nullopt;
  std::string error;
  std::optional<cp::Refinement> found = cp::refine(meshes, error);
  if (!found)
    errorsTo(unwrap(attributes[0]).getContext())() << error;
  return found;
}

MlirAttribute cpMeshAttrRefine(intptr_t numMeshes,
                               const MlirAttribute *meshes) {
  std::optional<cp::Refinement> found = refinementOf(numMeshes, meshes);
  if (!found)
    return wrap(Attribute());
  return wrap(cp::MeshAttr::get(unwrap(meshes[0]).getContext(), found->mesh));
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

/// The ranks on the axes of some cuts; nothing where one is none of the mesh's.
static std::optional<int64_t> numPositionsOf(const cp::Mesh &mesh,
                                             ArrayRef<cp::Cut> cuts) {
  for (const cp::Cut &cut : cuts)
    if (cut.axis < 0 || size_t(cut.axis) >= mesh.axes.size())
      return std::nullopt;
  return numPositions(mesh, cuts.vec());
}

MlirAttribute cpLayoutAttrGet(MlirAttribute mesh, intptr_t rank,
                              intptr_t numCuts, const CpCut *cuts,
                              intptr_t numPartial, const int64_t *partial) {
  auto meshAttr = dyn_cast_if_present<cp::MeshAttr>(unwrap(mesh));
  if (!meshAttr)
    return wrap(Attribute());
  MLIRContext *context = meshAttr.getContext();
  if (failed(expectCount(context, "dimensions", rank)) ||
      failed(expectCount(context, "cuts", numCuts)) ||
      failed(expectCount(context, "axes of terms", numPartial)))
    return wrap(Attribute());
  cp::Layout layout;
  layout.mesh = meshAttr.toMesh();
  layout.dims.resize(rank);
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
    cp::Cut &own = layout.dims[cut.dim].emplace_back();
    own = {*axis, static_cast<cp::Order>(cut.order), cut.unit};
    if (cut.sizes)
      if (std::optional<int64_t> count =
              numPositionsOf(layout.mesh, layout.dims[cut.dim]))
        own.sizes.assign(cut.sizes, cut.sizes + *count);
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
  cp::LayoutAttr attribute = layoutOf(layout);
  for (auto [dim, dimCuts] : llvm::enumerate(attribute.getCuts()))
    for (auto cut : dimCuts.getAsRange<cp::CutAttr>())
      cuts.push_back(
          {static_cast<intptr_t>(dim),
           attribute.getMesh().findAxis(cut.getAxis()),
           static_cast<CpOrder>(cut.getOrder()), cut.getUnit(),
           cut.getSizes().empty() ? nullptr : cut.getSizes().data()});
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

MlirAttribute cpLayoutAttrRefine(MlirAttribute layout, intptr_t numMeshes,
                                 const MlirAttribute *meshes) {
  std::optional<cp::Refinement> found;
  if (!mlirAttributeIsNull(layout))
    found = refinementOf(numMeshes, meshes);
  if (!found)
    return wrap(Attribute());
  cp::Layout value = layoutOf(layout).toLayout();
  MLIRContext *context = unwrap(layout).getContext();
  auto own = llvm::find(found->meshes, value.mesh);
  if (own == found->meshes.end()) {
    errorsTo(context)() << "the layout's mesh '" << meshText(value.mesh)
                        << "' is none of those to refine; give it too";
    return wrap(Attribute());
  }
  std::string error;
  std::optional<cp::Layout> refined =
      cp::refine(*found, own - found->meshes.begin(), value, error);
  if (refined)
    return wrap(cp::LayoutAttr::get(context, *refined));
  errorsTo(context)() << error;
  return wrap(Attribute());
}

int64_t cpLayoutAttrGetNumParts(MlirAttribute layout, intptr_t dim) {
  cp::Layout value = layoutOf(layout).toLayout();
  if (dim < 0 || dim >= intptr_t(value.dims.size()))
    return 0;
  int64_t parts = 1;
  for (const cp::Cut &cut : value.dims[dim])
    parts *= value.mesh.axes[cut.axis].size;
  return parts;
}

int64_t cpLayoutAttrGetIndices(MlirAttribute layout, intptr_t dim, int64_t size,
                               int64_t rank, int64_t *indices) {
  cp::Layout value = layoutOf(layout).toLayout();
  if (dim < 0 || dim >= intptr_t(value.dims.size()) || rank < 0 ||
      rank >= value.mesh.numRanks())
    return -1;
  cp::Layout alone = {value.mesh, {value.dims[dim]}, {}};
  if (check(alone, {size}))
    return -1;
  int64_t count = 0;
  for (const cp::Run &run : runsOf(alone.mesh, alone.dims[0], size, rank)) {
    for (int64_t i = 0; indices && i < run.size(); ++i)
      indices[count + i] = run.globalOf(run.local + i);
    count += run.size();
  }
  return count;
}

MlirType cpLayoutGetLocalType(MlirType type) {
  auto tensor = dyn_cast<RankedTensorType>(unwrap(type));
  return tensor ? wrap(cp::LayoutAttr::getLocalType(tensor)) : type;
}
