//===- CPAttention.cpp - Attention ops --------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FitHeads.h"
#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {
namespace {

/// c1, c2, c3 and c7; `keys` is how many rows k and v have.
template <typename OpTy> LogicalResult verifyShapes(OpTy op, int64_t keys) {
  ArrayRef<int64_t> q = shapeOf(op.getQ()), k = shapeOf(op.getK()),
                    v = shapeOf(op.getV());
  Type element = op.getQ().getType().getElementType();
  if (failed(expectReshaped(op, "attention_c1", "k", op.getK(), op.getQ(),
                            {q[0], keys, k[2], q[3]})) ||
      failed(expectReshaped(op, "attention_c1", "v", op.getV(), op.getQ(),
                            {q[0], keys, k[2], v[3]})) ||
      failed(expectReshaped(op, "attention_c1", "the result", op.getOut(),
                            op.getQ(), {q[0], q[1], q[2], v[3]})) ||
      failed(expectShape(op, "attention_c1", "lse", op.getLse(),
                         {q[0], q[2], q[1]})) ||
      failed(expectGroups(op, "attention_c2", k[2], q[2])))
    return failure();
  if (failed(expectShape(op, "attention_c7", "places", op.getPlaces(),
                         {q[0], q[1]})))
    return failure();
  if (op.getPlaces() && !op.getCausal())
    return op.emitOpError("attention_c7: places say how far back a query sees, "
                          "which wants causal; set causal, or leave them out");
  Type sums = sumsOf(element);
  if (op.getLse().getType().getElementType() != sums)
    return op.emitOpError("attention_c3: with ")
           << element << " lse must hold " << sums << ", but holds "
           << op.getLse().getType().getElementType();
  return success();
}

/// c4: as many keys as the queries, whose number this is.
template <typename OpTy>
LogicalResult verifyLengths(OpTy op, int64_t queries, StringRef why) {
  int64_t keys = shapeOf(op.getK())[1];
  if (ShapedType::isDynamic(keys) || ShapedType::isDynamic(queries) ||
      keys == queries)
    return success();
  return op.emitOpError("attention_c4: ")
         << why << " wants as many keys as queries, but there are " << keys
         << " keys and " << queries << " queries";
}

template <typename OpTy> LogicalResult verifyCut(OpTy op) {
  if (failed(verifyGroup(op, op.getMesh(), op.getAxes())))
    return failure();
  if (failed(verifyDivides(op, op.getMesh(), op.getCuts(), 1,
                           shapeOf(op.getQ())[1])))
    return failure();
  return verifyWindow(op, "attention_c5", op.getCausal(), op.getWindow());
}

template <typename OpTy>
void nameResults(OpTy op, OpAsmSetValueNameFn setName) {
  setName(op.getOut(), "out");
  setName(op.getLse(), "lse");
}

} // namespace

CutStrategy cutStrategyOf(AttentionForm form) {
  switch (form) {
  case AttentionForm::Ulysses:
    return CutStrategy::Hidden;
  case AttentionForm::Ring:
  case AttentionForm::Gather:
    return CutStrategy::Sequence;
  case AttentionForm::TwoD:
    return CutStrategy::TwoD;
  }
  llvm_unreachable("all forms are handled");
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

bool AttentionOp::keysTravel() {
  return getForm() && (*getForm() == "ring" || *getForm() == "2d");
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyShapes(*this, shapeOf(getK())[1])) ||
      failed(expectShape(*this, "attention_c6", "the mask", getMask(),
                         {shapeOf(getQ())[1], shapeOf(getK())[1]})) ||
      failed(verifyWindow(*this, "attention_c5", getCausal(), getWindow())))
    return failure();
  if (!getCausal() && !keysTravel())
    return success();
  return verifyLengths(*this, shapeOf(getQ())[1],
                       getCausal() ? "causal" : "form = \"ring\" or \"2d\"");
}

/// Keys and values are a factor of their own, which nothing may cut: a rank
/// would see a part of the keys only. The forms in which they travel run them
/// over the factor of the queries.
FailureOr<ShardingRule> AttentionOp::getShardingRule() {
  if (getMask())
    return emitOpError("has a mask, of which no pass but cp-decompose knows; "
                       "run cp-decompose first");
  StringRef keys = keysTravel() ? "b l" : "b .";
  std::string text =
      ("b l (g q) .; " + keys + " g .; " + keys + " g v" +
       (getPlaces() ? "; b l" : "") + " -> b l (g q) v; b (g q) l")
          .str();
  return ShardingRule::parse(text, *this);
}

int64_t AttentionOp::getHiddenFactor() { return 2; }
bool AttentionOp::isCausal() { return getCausal(); }

std::optional<CutStrategy> AttentionOp::getCutStrategy() {
  std::optional<AttentionForm> form =
      symbolizeAttentionForm(getForm().value_or(""));
  return form ? std::optional(cutStrategyOf(*form)) : std::nullopt;
}

bool AttentionOp::canRunOn(ArrayRef<Cut> cuts) {
  return cuts.empty() || !isPerDocument(cuts.front()) ||
         (cuts.size() == 1 && keysTravel() && documentsOf(getPlaces()));
}

SmallVector<Value> AttentionOp::place(OpBuilder &builder, MeshAttr mesh,
                                      ArrayRef<Cut> cuts) {
  ArrayAttr local = localCutsAttr(mesh, cuts);
  if (!keysTravel())
    return AttentionRowsOp::create(builder, getLoc(), getResultTypes(), getQ(),
                                   getK(), getV(), getPlaces(), mesh, local,
                                   getCausalAttr(), getScaleAttr(),
                                   getWindowAttr())
        ->getResults();
  Value documents;
  if (isPerDocument(jointCut(cuts.vec())))
    documents = documentsOf(getPlaces());
  return RingAttentionOp::create(builder, getLoc(), getResultTypes(), getQ(),
                                 getK(), getV(), getPlaces(), documents, mesh,
                                 local, getCausalAttr(), getScaleAttr(),
                                 getWindowAttr())
      ->getResults();
}

LogicalResult AttentionOp::prepareHiddenCut(OpBuilder &builder, int64_t parts) {
  HeadTensors tensors;
  tensors.heads = {{&getQMutable(), 2}};
  tensors.groups = {{&getKMutable(), 2}, {&getVMutable(), 2}};
  tensors.results = {{cast<OpResult>(getOut()), 2},
                     {cast<OpResult>(getLse()), 1}};
  tensors.otherwise = "attention=ring";
  return fitHeads(*this, builder, parts, tensors);
}

void AttentionOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  nameResults(*this, setName);
}

//===----------------------------------------------------------------------===//
// AttentionRowsOp, RingAttentionOp
//===----------------------------------------------------------------------===//

LogicalResult AttentionRowsOp::verify() {
  if (isPerDocument(jointCut(toCuts())))
    return emitOpError(
        "attention_c8: all keys are here in their natural order, "
        "so queries must not be in one per document; let keys "
        "travel (form = \"ring\"), or cut in zigzag order");
  if (failed(verifyCut(*this)) ||
      failed(verifyShapes(*this, shapeOf(getK())[1])))
    return failure();
  int64_t queries = shapeOf(getQ())[1];
  if (failed(multiplySize(*this, "attention_c4", queries, getGroupSize())))
    return failure();
  return getCausal() ? verifyLengths(*this, queries, "causal") : success();
}

void AttentionRowsOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  nameResults(*this, setName);
}

LogicalResult RingAttentionOp::verify() {
  if (failed(verifyRingDocuments(*this, "attention_c8", getMesh(), getCuts(),
                                 getDocuments(), shapeOf(getQ())[0])) ||
      failed(verifyCut(*this)) ||
      failed(verifyShapes(*this, shapeOf(getK())[1])))
    return failure();
  return verifyLengths(*this, shapeOf(getQ())[1], "ring attention");
}

void RingAttentionOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  nameResults(*this, setName);
}

} // namespace cp
