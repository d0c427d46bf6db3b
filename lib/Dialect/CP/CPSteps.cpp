//===- CPSteps.cpp - Collectives as steps of a plan -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/CPDialect.h"
#include "cp/Layout/Saturating.h"

using namespace mlir;

namespace cp {

int64_t elementBytes(Type tensor) {
  Type element = cast<ShapedType>(tensor).getElementType();
  return element.isIntOrFloat()
             ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
             : 0;
}

//===----------------------------------------------------------------------===//
// What steps move
//===----------------------------------------------------------------------===//

static Layout layoutOf(const Share &share, const TensorStep &moved,
                       const Mesh &mesh) {
  return layoutOf(share, moved.step.axes, moved.shape.size(), mesh);
}

SmallVector<Transfer> transfersOf(MeshAttr mesh, ArrayRef<TensorStep> steps) {
  Mesh value = mesh.toMesh();
  return llvm::map_to_vector(steps, [&](const TensorStep &moved) {
    return Transfer{layoutOf(moved.step.from, moved, value),
                    layoutOf(moved.step.to, moved, value)};
  });
}

SmallVector<int64_t> bytesSentBy(MeshAttr mesh, ArrayAttr axes,
                                 ArrayRef<TensorStep> steps) {
  Mesh value = mesh.toMesh();
  std::vector<int64_t> group = value.group(0, axisPositions(mesh, axes));
  SmallVector<int64_t> bytes(group.size());
  for (const TensorStep &moved : steps) {
    Layout before = layoutOf(moved.step.from, moved, value);
    Layout after = layoutOf(moved.step.to, moved, value);
    std::vector<int64_t> whole = moved.shape;
    if (const Parts *parts = std::get_if<Parts>(&moved.step.from))
      whole[parts->dim] = multiplySaturating(whole[parts->dim], group.size());
    int64_t element = elementBytes(moved.source.getType());
    for (auto [rank, sent] : llvm::zip_equal(group, bytes))
      sent = addSaturating(
          sent,
          multiplySaturating(
              elementsSent(moved.step, before, after, whole, rank), element));
  }
  return bytes;
}

//===----------------------------------------------------------------------===//
// The steps of each op
//===----------------------------------------------------------------------===//

static std::vector<int64_t> partOf(Value value) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  return {shape.begin(), shape.end()};
}

/// The same step for each of these.
template <typename OpTy>
static SmallVector<TensorStep> stepOfEach(OpTy op, ValueRange sources,
                                          const Share &from, const Share &to) {
  std::vector<int> axes = axisPositions(op.getMesh(), op.getAxes());
  return llvm::map_to_vector(sources, [&](Value source) {
    return TensorStep{source, partOf(source), {axes, from, to}};
  });
}

template <typename OpTy>
static SmallVector<TensorStep> oneStep(OpTy op, const Share &from,
                                       const Share &to) {
  return stepOfEach(op, ValueRange{op.getSource()}, from, to);
}

/// A rank's part of the dimension that an op cuts.
template <typename OpTy> static Parts partsOf(OpTy op) {
  return {static_cast<int>(op.getDim()), op.toCuts()};
}

SmallVector<TensorStep> AllToAllOp::getSteps() {
  std::vector<int> axes = axisPositions(getMesh(), getAxes());
  std::vector<Cut> contiguous;
  for (int axis : axes)
    contiguous.push_back({axis});
  auto parts = [&](int64_t dim, std::optional<ArrayAttr> cuts, size_t i) {
    if (!cuts)
      return Parts{static_cast<int>(dim), contiguous};
    return Parts{static_cast<int>(dim),
                 {cast<CutAttr>((*cuts)[i]).toCut(getMesh())}};
  };
  SmallVector<TensorStep> steps;
  for (auto [i, source] : llvm::enumerate(getSources())) {
    std::vector<int64_t> shape = partOf(source);
    int64_t concat = getConcatDims()[i], split = getSplitDims()[i];
    if (getRepeats())
      shape[split] = multiplySaturating(shape[split], (*getRepeats())[i]);
    steps.push_back({source,
                     std::move(shape),
                     {axes, parts(concat, getConcatCuts(), i),
                      parts(split, getSplitCuts(), i)}});
  }
  return steps;
}

SmallVector<TensorStep> AllGatherOp::getSteps() {
  return stepOfEach(*this, getSources(), partsOf(*this), Whole());
}
SmallVector<TensorStep> SliceOp::getSteps() {
  return oneStep(*this, Whole(), partsOf(*this));
}
SmallVector<TensorStep> UnsliceOp::getSteps() {
  return oneStep(*this, partsOf(*this), Partial());
}
SmallVector<TensorStep> AllReduceOp::getSteps() {
  return stepOfEach(*this, getSources(), Partial(), Whole());
}
SmallVector<TensorStep> ReduceScatterOp::getSteps() {
  return stepOfEach(*this, getSources(), Partial(), partsOf(*this));
}
SmallVector<TensorStep> ReorderOp::getSteps() {
  int dim = getDim();
  return oneStep(*this, Parts{dim, cutsOf(getMesh(), getFrom())},
                 Parts{dim, cutsOf(getMesh(), getTo())});
}

} // namespace cp
