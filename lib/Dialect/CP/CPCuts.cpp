//===- CPCuts.cpp - The cuts of a dimension as attributes -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {

//===----------------------------------------------------------------------===//
// CutAttr
//===----------------------------------------------------------------------===//

Cut CutAttr::toCut(MeshAttr mesh) const {
  return {mesh.findAxis(getAxis()), getOrder(), getUnit(), getSizes().vec()};
}

CutAttr CutAttr::get(MeshAttr mesh, const Cut &cut) {
  return get(mesh.getContext(), mesh.getNames()[cut.axis], cut.order, cut.unit,
             cut.sizes);
}

CutAttr CutAttr::getContiguous(StringAttr axis) {
  Cut cut;
  return get(axis.getContext(), axis, cut.order, cut.unit, cut.sizes);
}

LogicalResult CutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                              StringAttr axis, Order order, int64_t unit,
                              ArrayRef<int64_t> sizes) {
  if (!axis)
    return emitError() << "layout_c1: a cut must name an axis";
  std::string place = "the cut over \"" + axis.str() + "\"";
  if (std::optional<std::string> wrong =
          check(Cut{0, order, unit, sizes.vec()}, place))
    return emitError() << *wrong;
  return success();
}

/// Reads the keyword of an order, if there is one, and the sizes behind theirs.
static ParseResult parseOrder(AsmParser &parser, Cut &cut) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (failed(parser.parseOptionalKeyword(&keyword)))
    return success();
  if (std::optional<Order> named = orderNamed(keyword.str())) {
    cut.order = *named;
    if (*named != Order::Sizes)
      return success();
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
      return parser.parseInteger(cut.sizes.emplace_back());
    });
  }
  InFlightDiagnostic error = parser.emitError(loc)
                             << "layout_c7: expected an order, one of";
  for (Order known : allOrders)
    error << " '" << orderName(known) << "'";
  return error << ", but got '" << keyword << "'";
}

FailureOr<CutAttr> CutAttr::parseBody(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  std::string axis;
  Cut cut;
  if (parser.parseString(&axis) || parseOrder(parser, cut) ||
      (succeeded(parser.parseOptionalColon()) && parser.parseInteger(cut.unit)))
    return failure();
  MLIRContext *context = parser.getContext();
  CutAttr attribute = getChecked([&] { return parser.emitError(loc); }, context,
                                 StringAttr::get(context, axis), cut.order,
                                 cut.unit, ArrayRef<int64_t>(cut.sizes));
  if (!attribute)
    return failure();
  return attribute;
}

void CutAttr::printBody(AsmPrinter &printer) const {
  printer.printString(getAxis());
  if (getOrder() != Order())
    printer << " " << orderName(getOrder());
  if (getOrder() == Order::Sizes)
    printer << " [" << getSizes() << "]";
  if (getUnit() != Cut().unit)
    printer << " : " << getUnit();
}

Attribute CutAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<CutAttr> cut = parseBody(parser);
  if (failed(cut) || parser.parseGreater())
    return {};
  return *cut;
}

void CutAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printBody(printer);
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Lists of them
//===----------------------------------------------------------------------===//

std::vector<Cut> cutsOf(MeshAttr mesh, ArrayAttr cuts) {
  std::vector<Cut> result;
  for (CutAttr cut : cuts.getAsRange<CutAttr>())
    result.push_back(cut.toCut(mesh));
  return result;
}

ArrayAttr cutsAttr(MeshAttr mesh, ArrayRef<Cut> cuts) {
  SmallVector<Attribute> attributes;
  for (const Cut &cut : cuts)
    attributes.push_back(CutAttr::get(mesh, cut));
  return ArrayAttr::get(mesh.getContext(), attributes);
}

ArrayAttr localCutsAttr(MeshAttr mesh, ArrayRef<Cut> cuts) {
  return cutsAttr(mesh, llvm::map_to_vector(cuts, placesOnly));
}

ArrayAttr axesOf(ArrayAttr cuts) {
  SmallVector<Attribute> names;
  for (CutAttr cut : cuts.getAsRange<CutAttr>())
    names.push_back(cut.getAxis());
  return ArrayAttr::get(cuts.getContext(), names);
}

ParseResult parseCuts(OpAsmParser &parser, ArrayAttr &cuts) {
  SmallVector<Attribute> list;
  auto parseOne = [&]() -> ParseResult {
    FailureOr<CutAttr> cut = CutAttr::parseBody(parser);
    if (failed(cut))
      return failure();
    list.push_back(*cut);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  cuts = parser.getBuilder().getArrayAttr(list);
  return success();
}

void printCuts(OpAsmPrinter &printer, Operation *, ArrayAttr cuts) {
  printer << "[";
  llvm::interleaveComma(cuts.getAsRange<CutAttr>(), printer,
                        [&](CutAttr cut) { cut.printBody(printer); });
  printer << "]";
}

} // namespace cp
