//===- CPReshard.cpp - A change of layout -----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"
#include "cp/Layout/Refinement.h"

using namespace mlir;

namespace cp {

/// The layouts stand in the types.
static LogicalResult verifyGlobalReshard(ReshardOp op) {
  if (op.getFrom() || op.getTo())
    return op.emitOpError("reshard_c2: the types have layouts, so 'from' and "
                          "'to' must not be there; remove them");
  return expectShape(op, "reshard_c1", "the result", op.getResult(),
                     op.getSource().getType().getShape());
}

/// Finds the whole shape of which `local` is one rank's part.
static LogicalResult wholeShape(ReshardOp op, LayoutAttr layout,
                                RankedTensorType local,
                                SmallVectorImpl<int64_t> &shape) {
  shape.assign(local.getShape().begin(), local.getShape().end());
  Layout value = layout.toLayout();
  for (auto [dim, size] : llvm::enumerate(shape)) {
    const std::vector<Cut> &cuts = value.dims[dim];
    if (!isBySizes(cuts)) {
      for (const Cut &cut : cuts)
        if (failed(multiplySize(op, "reshard_c5", size,
                                value.mesh.axes[cut.axis].size)))
          return failure();
      continue;
    }
    std::optional<int64_t> whole = wholeSize(value.mesh, cuts, size);
    if (!whole)
      return op.emitOpError("reshard_c5: dimension ")
             << dim << " of a part must have room for the largest of "
             << sizesText(cuts.back().sizes) << ", but has " << sizeText(size);
    size = *whole;
  }
  return layout.verifyEncoding(shape, local.getElementType(),
                               [&] { return op.emitOpError("reshard_c5: "); });
}

/// The layouts stand in `from` and `to`.
static LogicalResult verifyLocalReshard(ReshardOp op) {
  RankedTensorType source = op.getSource().getType();
  RankedTensorType result = op.getResult().getType();
  if (!op.getFrom() || !op.getTo() || LayoutAttr::of(source))
    return op.emitOpError(
        "reshard_c2: the result must have a layout, or 'from' "
        "and 'to' must both be there and no layout in a type");
  if (op.getFrom()->getRank() != source.getRank() ||
      op.getTo()->getRank() != result.getRank())
    return op.emitOpError(
               "reshard_c2: 'from' and 'to' must have the rank of the "
               "types, ")
           << source.getRank() << " and " << result.getRank();
  SmallVector<int64_t> before, after;
  if (failed(wholeShape(op, *op.getFrom(), source, before)) ||
      failed(wholeShape(op, *op.getTo(), result, after)))
    return failure();
  if (before != after)
    return op.emitOpError(
               "reshard_c5: the types must be parts of one shape, but "
               "are parts of ")
           << sizesText(before) << " and " << sizesText(after);
  return success();
}

/// Two layouts of one tensor.
struct LayoutPair {
  Layout from, to;
};

/// Both on one mesh: their own, or in the global view the one that refines
/// both.
static FailureOr<LayoutPair> onOneMesh(ReshardOp op, LayoutAttr from,
                                       LayoutAttr to) {
  LayoutPair pair = {from.toLayout(), to.toLayout()};
  if (from.getMesh() == to.getMesh())
    return pair;
  if (op.getFrom())
    return op.emitOpError("reshard_c3: in the local view both layouts must be "
                          "of one mesh, but ")
           << from.getMesh() << " and " << to.getMesh()
           << " were found; run cp-unify-meshes before cp-partition";
  std::string error;
  std::optional<Refinement> both =
      refine({pair.from.mesh, pair.to.mesh}, error);
  if (both) {
    std::optional<Layout> before = refine(*both, 0, pair.from, error);
    std::optional<Layout> after = refine(*both, 1, pair.to, error);
    if (before && after)
      return LayoutPair{std::move(*before), std::move(*after)};
  }
  return op.emitOpError("reshard_c3: ") << error;
}

/// A full value has no summands to give.
static LogicalResult verifySums(ReshardOp op, const LayoutPair &layouts) {
  for (int axis : layouts.to.partial)
    if (!llvm::is_contained(layouts.from.partial, axis) &&
        !isCutOver(layouts.from, axis))
      return op.emitOpError("reshard_c4: axis \"")
             << layouts.to.mesh.axes[axis].name
             << "\" cannot become partial: it does not cut the source, and a "
                "full value has no summands to give";
  return success();
}

LogicalResult ReshardOp::verify() {
  RankedTensorType source = getSource().getType();
  RankedTensorType result = getResult().getType();
  if (source.getElementType() != result.getElementType())
    return emitOpError("reshard_c1: element types must agree, but ")
           << source.getElementType() << " and " << result.getElementType()
           << " were found";
  if (failed(LayoutAttr::of(result) ? verifyGlobalReshard(*this)
                                    : verifyLocalReshard(*this)))
    return failure();
  LayoutAttr from = getFrom().value_or(LayoutAttr::of(source));
  LayoutAttr to = getTo().value_or(LayoutAttr::of(result));
  if (!from)
    return success();
  FailureOr<LayoutPair> layouts = onOneMesh(*this, from, to);
  return failed(layouts) ? failure() : verifySums(*this, *layouts);
}

OpFoldResult ReshardOp::fold(FoldAdaptor) {
  bool same = getFrom() ? getFrom() == getTo()
                        : getSource().getType() == getResult().getType();
  return same ? OpFoldResult(getSource()) : OpFoldResult();
}

void ReshardOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "resharded");
}

} // namespace cp
