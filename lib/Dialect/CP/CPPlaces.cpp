//===- CPPlaces.cpp - Ops on the places of tokens ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rotation.h"
#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {

LogicalResult verifyTheta(Operation *op, StringRef label,
                          const APFloat &theta) {
  if (theta.isFinite() && !theta.isNegative() && !theta.isZero())
    return success();
  return op->emitOpError() << label
                           << ": theta must be a number above 0, but is "
                           << theta.convertToDouble();
}

LogicalResult verifyRotatedDims(Operation *op, StringRef label,
                                std::optional<int64_t> dims, int64_t channels) {
  int64_t rotated = dims.value_or(channels);
  bool isKnown = !ShapedType::isDynamic(channels);
  if ((!dims && !isKnown) ||
      (rotated >= 2 && rotated % 2 == 0 && (!isKnown || rotated <= channels)))
    return success();
  InFlightDiagnostic error = op->emitOpError();
  error << label << ": channels are turned in pairs, so their number must be "
        << "even, at least 2 and at most that of a head";
  if (isKnown)
    error << " (" << channels << ")";
  return error << ", but is " << rotated;
}

//===----------------------------------------------------------------------===//
// PositionsOp
//===----------------------------------------------------------------------===//

/// That documents are a list for each element of the batch.
template <typename Op> static LogicalResult verifyDocuments(Op op) {
  ArrayRef<int64_t> places = shapeOf(op.getResult());
  size_t rank = op.getDocuments() ? 2 : 1;
  if (places.size() != rank)
    return op.emitOpError("positions_c1: the result must be ")
           << (rank == 2 ? "[b, l], as there are documents"
                         : "[l], as there are no documents")
           << ", but has " << places.size() << " dimensions";
  return expectDocuments(op, "positions_c2", op.getDocuments(), places[0]);
}

LogicalResult PositionsOp::verify() { return verifyDocuments(*this); }

FailureOr<ShardingRule> PositionsOp::getShardingRule() {
  return ShardingRule::parse(getDocuments() ? "b . -> b l" : "-> l", *this);
}

int64_t PositionsOp::getSequenceFactor() { return getDocuments() ? 1 : 0; }
int64_t PositionsOp::getHiddenFactor() { return -1; }
bool PositionsOp::isCausal() { return true; }

SmallVector<Value> PositionsOp::place(OpBuilder &builder, MeshAttr mesh,
                                      ArrayRef<Cut> cuts) {
  // What documents leave to an axis is one string, of which others cut pieces.
  bool isAlone = cuts.size() == 1 || !isPerDocument(cuts.front());
  ArrayRef<Cut> own = isAlone ? cuts : cuts.take_front();
  RankedTensorType type = getType();
  SmallVector<int64_t> shape(type.getShape());
  ArrayAttr others = localCutsAttr(mesh, cuts.drop_front(own.size()));
  if (!isAlone)
    shape.back() *= groupSize(mesh, axesOf(others));
  Value local =
      CutPositionsOp::create(builder, getLoc(), type.clone(shape),
                             getDocuments(), mesh, localCutsAttr(mesh, own));
  if (!isAlone)
    local = SliceOp::create(builder, getLoc(), type, local, mesh, others,
                            getSequenceFactor());
  return {local};
}

//===----------------------------------------------------------------------===//
// CutPositionsOp
//===----------------------------------------------------------------------===//

LogicalResult CutPositionsOp::verify() {
  ArrayAttr alike = getAlikeAttr();
  if (alike && failed(verifyGroup(*this, getMesh(), alike)))
    return failure();
  bool isWhole = alike && getCuts().empty();
  if ((!isWhole && failed(verifyGroup(*this, getMesh(), getAxes()))) ||
      failed(verifyDocuments(*this)))
    return failure();
  if (alike && !getDocuments())
    return emitOpError("positions_c4: ranks have documents alike, but there "
                       "are none; give documents, or leave out `alike`");
  if (isPerDocument(jointCut(toCuts())) && !getDocuments())
    return emitOpError("positions_c3: where rows are in an order per document "
                       "is known by the documents, but there are none; give "
                       "documents, or cut in another order");
  ArrayRef<int64_t> shape = shapeOf(getResult());
  return verifyDivides(*this, getMesh(), getCuts(), shape.size() - 1,
                       shape.back());
}

void CutPositionsOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  // Ranks compare their documents.
  if (getDocuments())
    effects.emplace_back(MemoryEffects::Read::get(),
                         CommunicationResource::get());
}

Value documentsOf(Value places) {
  if (!places)
    return nullptr;
  while (auto reshard = places.getDefiningOp<ReshardOp>())
    places = reshard.getSource();
  if (auto whole = places.getDefiningOp<PositionsOp>())
    return whole.getDocuments();
  if (auto cut = places.getDefiningOp<CutPositionsOp>())
    return cut.getDocuments();
  return nullptr;
}

//===----------------------------------------------------------------------===//
// RotaryOp
//===----------------------------------------------------------------------===//

LogicalResult RotaryOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  if (failed(expectType(*this, "rotary_c1", "the result", getResult(),
                        getX().getType())) ||
      failed(expectShape(*this, "rotary_c2", "positions", getPositions(),
                         isOfBatch() ? x.take_front(2) : x.slice(1, 1))))
    return failure();
  if (failed(verifyRotatedDims(*this, "rotary_c3", getDims(), x[3])))
    return failure();
  return verifyTheta(*this, "rotary_c4", getTheta());
}

FailureOr<ShardingRule> RotaryOp::getShardingRule() {
  return ShardingRule::parse(
      isOfBatch() ? "b l h .; b l -> b l h ." : "b l h .; l -> b l h .", *this);
}

} // namespace cp
