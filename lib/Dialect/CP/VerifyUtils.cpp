//===- VerifyUtils.cpp - Messages of the verifiers --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace cp {

std::string sizeText(int64_t size) {
  return ShapedType::isDynamic(size) ? "?" : std::to_string(size);
}

std::string sizesText(ArrayRef<int64_t> shape) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(shape, os, [&](int64_t size) { os << sizeText(size); });
  return text + "]";
}

static bool matches(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() != b.size())
    return false;
  return llvm::all_of(llvm::zip_equal(a, b), [](auto sizes) {
    auto [x, y] = sizes;
    return x == y || ShapedType::isDynamic(x) || ShapedType::isDynamic(y);
  });
}

LogicalResult expectShape(Operation *op, StringRef label, StringRef what,
                          Value value, ArrayRef<int64_t> expected) {
  if (!value || matches(shapeOf(value), expected))
    return success();
  return op->emitOpError() << label << ": " << what << " must have shape "
                           << sizesText(expected) << ", but has "
                           << sizesText(shapeOf(value));
}

LogicalResult expectReshaped(Operation *op, StringRef label, StringRef what,
                             Value value, Value source,
                             ArrayRef<int64_t> expected) {
  Type have = getElementTypeOrSelf(value), want = getElementTypeOrSelf(source);
  if (have != want)
    return op->emitOpError() << label << ": " << what << " must hold " << want
                             << ", but holds " << have;
  return expectShape(op, label, what, value, expected);
}

LogicalResult expectType(Operation *op, StringRef label, StringRef what,
                         Value value, Type expected) {
  if (!value || value.getType() == expected)
    return success();
  return op->emitOpError() << label << ": " << what << " must have type "
                           << expected << ", but has " << value.getType();
}

LogicalResult expectTensor(Operation *op, StringRef label, StringRef what,
                           Value value, ArrayRef<int64_t> shape, Type element) {
  if (failed(expectShape(op, label, what, value, shape)))
    return failure();
  if (!value || getElementTypeOrSelf(value) == element)
    return success();
  return op->emitOpError(label)
         << ": " << what << " must hold " << element << ", but holds "
         << getElementTypeOrSelf(value);
}

LogicalResult expectDocuments(Operation *op, StringRef label, Value documents,
                              int64_t batch) {
  if (!documents)
    return success();
  int64_t count = shapeOf(documents)[1];
  if (failed(expectShape(op, label, "documents", documents, {batch, count})))
    return failure();
  if (count != 0)
    return success();
  return op->emitOpError() << label
                           << ": documents must begin with 0 and end with the "
                              "length of the sequence, but have no elements";
}

LogicalResult expectGoesOn(Operation *op, StringRef label, Value initial,
                           Value places) {
  // Of one rank's part, the first tokens may go on from another's.
  auto whole = places ? places.getDefiningOp<PositionsOp>() : nullptr;
  if (!initial || !whole || !whole.getDocuments())
    return success();
  InFlightDiagnostic error = op->emitOpError() << label;
  error << ": places count from the first token of each document, so nothing "
           "would read `initial`; leave it out, or give places that go on from "
           "those before, as an argument";
  error.attachNote(whole.getLoc()) << "the places are made here";
  return error;
}

LogicalResult verifyRingDocuments(Operation *op, StringRef label, MeshAttr mesh,
                                  ArrayAttr cuts, Value documents,
                                  int64_t batch) {
  bool isWanted = isPerDocument(jointCut(cutsOf(mesh, cuts)));
  if (isWanted == static_cast<bool>(documents))
    return expectDocuments(op, label, documents, batch);
  return op->emitOpError()
         << label << ": "
         << (isWanted ? "an order per document takes documents, but there are "
                        "none; give the lists where documents end"
                      : "there are documents, but no order per document; leave "
                        "them out: places say what a query sees");
}

LogicalResult expectOneElementType(Operation *op, StringRef label) {
  Type first;
  for (Type type :
       llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                                SmallVector<Type>(op->getResultTypes()))) {
    Type element = getElementTypeOrSelf(type);
    if (!isa<FloatType>(element))
      continue;
    if (!first)
      first = element;
    if (element != first)
      return op->emitOpError() << label << ": element types must agree, but "
                               << first << " and " << element << " were found";
  }
  return success();
}

LogicalResult expectDim(Operation *op, StringRef label, int64_t dim,
                        Value tensor) {
  int64_t rank = shapeOf(tensor).size();
  if (dim >= 0 && dim < rank)
    return success();
  return op->emitOpError() << label << ": the dimension must be below " << rank
                           << ", but is " << dim;
}

LogicalResult expectAtLeast(Operation *op, StringRef label, StringRef what,
                            int64_t value, int64_t least) {
  if (value >= least)
    return success();
  return op->emitOpError() << label << ": " << what << " must be at least "
                           << least << ", but is " << value;
}

LogicalResult expectDivides(Operation *op, StringRef label,
                            StringRef divisorName, int64_t divisor,
                            StringRef valueName, int64_t value) {
  if (ShapedType::isDynamic(value) || value % divisor == 0)
    return success();
  return op->emitOpError() << label << ": " << divisorName << " (" << divisor
                           << ") must divide " << valueName << " (" << value
                           << ")";
}

LogicalResult expectGroups(Operation *op, StringRef label, int64_t groups,
                           int64_t heads) {
  if (ShapedType::isDynamic(groups))
    return success();
  if (failed(expectAtLeast(op, label, "the number of groups", groups, 1)))
    return failure();
  return expectDivides(op, label, "the number of groups", groups,
                       "the number of heads", heads);
}

LogicalResult multiplySize(Operation *op, StringRef label, int64_t &size,
                           int64_t factor) {
  if (ShapedType::isDynamic(size))
    return success();
  int64_t product;
  if (llvm::MulOverflow(size, factor, product))
    return op->emitOpError() << label << ": a size of " << size << " times "
                             << factor << " is beyond 64 bits; make it smaller";
  size = product;
  return success();
}

LogicalResult expectSkip(Operation *op, StringRef label, Value skip,
                         int64_t heads, int64_t headDim) {
  if (!skip || matches(shapeOf(skip), {heads}) ||
      matches(shapeOf(skip), {heads, headDim}))
    return success();
  return op->emitOpError() << label << ": D must have shape "
                           << sizesText({heads}) << " or "
                           << sizesText({heads, headDim}) << ", but has "
                           << sizesText(shapeOf(skip));
}

LogicalResult expectStepLimits(Operation *op, StringRef label,
                               const APFloat &least, const APFloat &most) {
  // Not so for a NaN either.
  if (least.convertToDouble() <= most.convertToDouble())
    return success();
  return op->emitOpError() << label << ": dt_min must be at most dt_max, but "
                           << least.convertToDouble() << " and "
                           << most.convertToDouble() << " were found";
}

LogicalResult verifyGroup(Operation *op, MeshAttr mesh, ArrayAttr axes) {
  if (axes.empty())
    return op->emitOpError("group_c1: at least one axis must be named");
  llvm::SmallDenseSet<Attribute> seen;
  for (StringAttr axis : axes.getAsRange<StringAttr>()) {
    // A name with a type beside it is none of the mesh's.
    if (mesh.findAxis(axis) < 0)
      return op->emitOpError("group_c1: ") << mesh << " has no axis " << axis;
    if (!seen.insert(axis).second)
      return op->emitOpError("group_c1: axis ") << axis << " is named twice";
  }
  return success();
}

LogicalResult verifyDivides(Operation *op, MeshAttr mesh, ArrayAttr cuts,
                            int64_t dim, int64_t part) {
  std::vector<Cut> values = cutsOf(mesh, cuts);
  if (llvm::any_of(values, [](const Cut &cut) { return isBySizes(cut); }))
    return op->emitOpError(
               "cut_c2: the parts of a local op are of one size, but "
               "the cut of dimension ")
           << dim
           << " lists sizes; write a cp.reshard, which has room for the "
              "largest made and what holds nothing taken out";
  for (const Cut &cut : values)
    if (isPerDocument(cut) && values.size() > 1)
      return op->emitOpError(
                 "cut_c2: an order per document is that of the only "
                 "cut of a local op, but there are ")
             << values.size()
             << "; write a cp.reshard, which cuts over one axis after the "
                "other";
  if (ShapedType::isDynamic(part))
    return success();
  int64_t whole = part;
  if (failed(
          multiplySize(op, "layout_c5", whole, groupSize(mesh, axesOf(cuts)))))
    return failure();
  Layout layout;
  layout.mesh = mesh.toMesh();
  layout.dims.resize(dim + 1);
  layout.dims[dim] = std::move(values);
  std::vector<int64_t> shape(dim + 1, 1);
  shape[dim] = whole;
  if (std::optional<std::string> wrong = check(layout, shape))
    return op->emitOpError(*wrong);
  return success();
}

LogicalResult verifyOneOrder(Operation *op, MeshAttr mesh, ArrayAttr cuts) {
  std::vector<Cut> values = cutsOf(mesh, cuts);
  if (values.size() == 1)
    return success();
  for (const Cut &cut : values)
    if (cut.order != Order())
      return op->emitOpError("cut_c1: several axes are one group here, of "
                             "contiguous cuts, but that over \"")
             << mesh.toMesh().axes[cut.axis].name << "\" is "
             << orderName(cut.order) << "; do one axis after the other";
  return success();
}

FailureOr<int64_t> verifyParts(Operation *op, MeshAttr mesh, ArrayAttr cuts) {
  std::vector<Cut> values = cutsOf(mesh, cuts);
  if (std::optional<int64_t> parts = partsPerRank(values))
    return *parts;
  InFlightDiagnostic error = op->emitOpError(
      "parts_c1: the cuts must be contiguous, or one zigzag cut, but are");
  for (const Cut &cut : values)
    error << " " << orderName(cut.order);
  return error << "; reorder the sequence first";
}

LogicalResult verifyWindow(Operation *op, StringRef label, bool causal,
                           int64_t window) {
  if (window >= 0 && (window == 0 || causal))
    return success();
  return op->emitOpError()
         << label
         << ": a window counts the keys at and before a query's place, so it "
            "must be 0 (none), or above 0 with causal = true, but is "
         << window << (causal ? "" : " without causal");
}

} // namespace cp
