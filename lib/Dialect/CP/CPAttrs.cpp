//===- CPAttrs.cpp - Meshes and layouts as attributes -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/CPDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#define GET_ATTRDEF_CLASSES
#include "cp/IR/CPAttrs.cpp.inc"

namespace cp {

void CPDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "cp/IR/CPAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// MeshAttr
//===----------------------------------------------------------------------===//

static Mesh meshOf(ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes) {
  Mesh mesh;
  for (auto [name, size] : llvm::zip_equal(names, sizes))
    mesh.axes.push_back({name.str(), size});
  return mesh;
}

Mesh MeshAttr::toMesh() const { return meshOf(getNames(), getSizes()); }

int MeshAttr::findAxis(StringAttr name) const {
  const auto *it = llvm::find(getNames(), name);
  return it == getNames().end() ? -1
                                : static_cast<int>(it - getNames().begin());
}

MeshAttr MeshAttr::get(MLIRContext *context, const Mesh &mesh) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (const Mesh::Axis &axis : mesh.axes) {
    names.push_back(StringAttr::get(context, axis.name));
    sizes.push_back(axis.size);
  }
  return get(context, names, sizes);
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> names,
                               ArrayRef<int64_t> sizes) {
  if (names.size() != sizes.size())
    return emitError() << "mesh_c1: " << names.size() << " names for "
                       << sizes.size() << " sizes";
  if (std::optional<std::string> wrong = check(meshOf(names, sizes)))
    return emitError() << *wrong;
  return success();
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  auto parseAxis = [&]() -> ParseResult {
    StringAttr name;
    int64_t size = 0;
    if (parser.parseAttribute(name) || parser.parseEqual() ||
        parser.parseInteger(size))
      return failure();
    // Without a type, so that equal names are one attribute.
    names.push_back(StringAttr::get(parser.getContext(), name.getValue()));
    sizes.push_back(size);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseAxis))
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    names, sizes);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(
      llvm::zip_equal(getNames(), getSizes()), printer, [&](auto axis) {
        printer << std::get<0>(axis) << " = " << std::get<1>(axis);
      });
  printer << ">";
}

//===----------------------------------------------------------------------===//
// LayoutAttr
//===----------------------------------------------------------------------===//

static Layout layoutOf(MeshAttr mesh, ArrayRef<ArrayAttr> cuts,
                       ArrayRef<int64_t> partial) {
  Layout layout;
  layout.mesh = mesh.toMesh();
  for (ArrayAttr dim : cuts)
    layout.dims.push_back(cutsOf(mesh, dim));
  layout.partial.assign(partial.begin(), partial.end());
  return layout;
}

Layout LayoutAttr::toLayout() const {
  return layoutOf(getMesh(), getCuts(), getPartial());
}

LayoutAttr LayoutAttr::get(MLIRContext *context, const Layout &layout) {
  auto mesh = MeshAttr::get(context, layout.mesh);
  SmallVector<ArrayAttr> cuts;
  for (const std::vector<Cut> &dim : layout.dims)
    cuts.push_back(cutsAttr(mesh, dim));
  SmallVector<int64_t> partial(layout.partial.begin(), layout.partial.end());
  return get(context, mesh, cuts, partial);
}

LayoutAttr LayoutAttr::getReplicated(MeshAttr mesh, int64_t rank) {
  SmallVector<ArrayAttr> cuts(rank, ArrayAttr::get(mesh.getContext(), {}));
  return get(mesh.getContext(), mesh, cuts, {});
}

bool LayoutAttr::isReplicated() const {
  return getPartial().empty() &&
         llvm::all_of(getCuts(), [](auto dim) { return dim.empty(); });
}

LayoutAttr LayoutAttr::of(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_if_present<LayoutAttr>(tensor.getEncoding())
                : LayoutAttr();
}

RankedTensorType LayoutAttr::getLocalType(RankedTensorType type) {
  LayoutAttr layout = of(type);
  if (!layout)
    return type;
  return RankedTensorType::get(
      localShape(layout.toLayout(), type.getShape().vec()),
      type.getElementType());
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 MeshAttr mesh, ArrayRef<ArrayAttr> cuts,
                                 ArrayRef<int64_t> partial) {
  for (ArrayAttr dim : cuts)
    for (Attribute cut : dim)
      if (!isa<CutAttr>(cut))
        return emitError() << "layout_c1: a dimension is cut by cuts such as "
                              "#cp.cut<\"cp\">, but got "
                           << cut;
  if (std::optional<std::string> wrong = check(layoutOf(mesh, cuts, partial)))
    return emitError() << *wrong;
  return success();
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                           function_ref<InFlightDiagnostic()> emitError) const {
  Layout layout = toLayout();
  std::vector<int64_t> sizes(shape.begin(), shape.end());
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    if (!ShapedType::isDynamic(sizes[dim]))
      continue;
    if (dim < layout.dims.size() && !layout.dims[dim].empty())
      return emitError() << "layout_c5: dimension " << dim
                         << " is cut, so its size must be known, but is '?'";
    sizes[dim] = 1;
  }
  if (std::optional<std::string> wrong = check(layout, sizes))
    return emitError() << *wrong;
  return success();
}

/// Fails unless `mesh` has the axis that was read at `loc`.
static ParseResult checkAxis(AsmParser &parser, SMLoc loc, MeshAttr mesh,
                             StringAttr name) {
  if (mesh.findAxis(name) >= 0)
    return success();
  InFlightDiagnostic diag = parser.emitError(loc)
                            << "layout_c1: the mesh has no axis " << name
                            << "; its axes are";
  for (StringAttr known : mesh.getNames())
    diag << " " << known;
  return diag;
}

/// Reads an axis name and gives its position on `mesh`.
static ParseResult parseAxis(AsmParser &parser, MeshAttr mesh, int &axis) {
  SMLoc loc = parser.getCurrentLocation();
  std::string text;
  if (parser.parseString(&text))
    return failure();
  auto name = StringAttr::get(parser.getContext(), text);
  axis = mesh.findAxis(name);
  return checkAxis(parser, loc, mesh, name);
}

static ParseResult parseCut(AsmParser &parser, MeshAttr mesh, Cut &cut) {
  SMLoc loc = parser.getCurrentLocation();
  FailureOr<CutAttr> attribute = CutAttr::parseBody(parser);
  if (failed(attribute))
    return failure();
  cut = attribute->toCut(mesh);
  return checkAxis(parser, loc, mesh, attribute->getAxis());
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  MeshAttr mesh;
  Layout layout;
  if (parser.parseLess() || parser.parseAttribute(mesh))
    return {};
  layout.mesh = mesh.toMesh();
  auto parseDim = [&]() -> ParseResult {
    std::vector<Cut> &dim = layout.dims.emplace_back();
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&] {
      return parseCut(parser, mesh, dim.emplace_back());
    });
  };
  auto parsePartial = [&]() -> ParseResult {
    return parseAxis(parser, mesh, layout.partial.emplace_back());
  };
  if (parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("partial") || parser.parseEqual() ||
       parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces,
                                      parsePartial)))
    return {};
  if (parser.parseGreater())
    return {};
  llvm::sort(layout.partial);
  auto emitError = [&] { return parser.emitError(loc); };
  if (std::optional<std::string> wrong = check(layout)) {
    emitError() << *wrong;
    return {};
  }
  return get(parser.getContext(), layout);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", [";
  llvm::interleaveComma(getCuts(), printer, [&](ArrayAttr dim) {
    printer << "{";
    llvm::interleaveComma(dim.getAsRange<CutAttr>(), printer,
                          [&](CutAttr cut) { cut.printBody(printer); });
    printer << "}";
  });
  printer << "]";
  if (!getPartial().empty()) {
    printer << ", partial = {";
    llvm::interleaveComma(getPartial(), printer, [&](int64_t axis) {
      printer.printString(getMesh().getNames()[axis]);
    });
    printer << "}";
  }
  printer << ">";
}

} // namespace cp
