//===- CPAttentionGrad.cpp - Adjoints of attention --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace cp {
namespace {

/// c1, c2, c5 and c6.
template <typename OpTy> LogicalResult verifyShapes(OpTy op) {
  StringRef c1 = "attention_grad_c1";
  ArrayRef<int64_t> q = shapeOf(op.getQ()), k = shapeOf(op.getK()),
                    v = shapeOf(op.getV());
  if (failed(expectShape(op, c1, "k", op.getK(), {q[0], k[1], k[2], q[3]})) ||
      failed(expectShape(op, c1, "v", op.getV(), {q[0], k[1], k[2], v[3]})) ||
      failed(
          expectShape(op, c1, "out", op.getOut(), {q[0], q[1], q[2], v[3]})) ||
      failed(expectShape(op, c1, "lse", op.getLse(), {q[0], q[2], q[1]})) ||
      failed(expectType(op, c1, "dout", op.getDout(), op.getOut().getType())) ||
      failed(expectType(op, c1, "dlse", op.getDlse(), op.getLse().getType())) ||
      failed(expectType(op, c1, "dq", op.getDq(), op.getQ().getType())) ||
      failed(expectGroups(op, "attention_grad_c2", k[2], q[2])) ||
      failed(verifyWindow(op, "attention_grad_c5", op.getCausal(),
                          op.getWindow())) ||
      failed(expectShape(op, "attention_grad_c6", "places", op.getPlaces(),
                         {q[0], q[1]})))
    return failure();
  if (op.getPlaces() && !op.getCausal())
    return op.emitOpError("attention_grad_c6: places say how far back a query "
                          "sees, which wants causal; set causal, or leave them "
                          "out");
  return success();
}

/// c3. Where queries are cut, dk and dv are sums of parts, which have no layout
/// of k and v.
template <typename OpTy> LogicalResult verifyElements(OpTy op) {
  StringRef c3 = "attention_grad_c3";
  Type element = getElementTypeOrSelf(op.getQ()), sums = sumsOf(element);
  for (Value operand : {Value(op.getK()), Value(op.getV()), Value(op.getOut())})
    if (getElementTypeOrSelf(operand) != element)
      return op.emitOpError("attention_grad_c3: k, v and out must hold ")
             << element << " as q does, but one holds "
             << getElementTypeOrSelf(operand);
  if (failed(expectTensor(op, c3, "lse", op.getLse(), shapeOf(op.getLse()),
                          sums)) ||
      failed(expectTensor(op, c3, "dk", op.getDk(), shapeOf(op.getK()), sums)))
    return failure();
  return expectTensor(op, c3, "dv", op.getDv(), shapeOf(op.getV()), sums);
}

/// c4: as many keys as queries.
template <typename OpTy>
LogicalResult verifyLengths(OpTy op, StringRef why, StringRef advice) {
  int64_t queries = shapeOf(op.getQ())[1], keys = shapeOf(op.getK())[1];
  if (ShapedType::isDynamic(keys) || ShapedType::isDynamic(queries) ||
      keys == queries)
    return success();
  return op.emitOpError("attention_grad_c4: ")
         << why << " wants as many keys as queries, but there are " << keys
         << " keys and " << queries << " queries; " << advice;
}

} // namespace

//===----------------------------------------------------------------------===//
// AttentionGradOp
//===----------------------------------------------------------------------===//

bool AttentionGradOp::keysTravel() {
  return getForm() && (*getForm() == "ring" || *getForm() == "2d");
}

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyShapes(*this)) || failed(verifyElements(*this)) ||
      failed(expectShape(*this, "attention_grad_c7", "positions",
                         getPositions(), {shapeOf(getQ())[1]})))
    return failure();
  if (getPositions() && !getCausal())
    return emitOpError("attention_grad_c7: positions say which keys a causal "
                       "query sees; set causal, or leave them out");
  if (getCausal() && !getPositions())
    return verifyLengths(*this, "causal", "give the queries' positions");
  return keysTravel() ? verifyLengths(*this, "form = \"ring\" or \"2d\"",
                                      "choose another form")
                      : success();
}

/// Where keys and values travel, they are cut with the queries, and so are
/// their cotangents.
FailureOr<ShardingRule> AttentionGradOp::getShardingRule() {
  std::string key = keysTravel() ? "b l g ." : "b . g .";
  std::string text = "b l (g q) .; " + key + "; " + key +
                     "; b l (g q) .; b (g q) l; b l (g q) .";
  if (getDlse())
    text += "; b (g q) l";
  if (getPlaces())
    text += "; b l";
  if (getPositions())
    text += "; l";
  std::string term = keysTravel() ? key : key + " {l}";
  return ShardingRule::parse(text + " -> b l (g q) .; " + term + "; " + term,
                             *this);
}

std::optional<CutStrategy> AttentionGradOp::getCutStrategy() {
  std::optional<AttentionForm> form =
      symbolizeAttentionForm(getForm().value_or("ulysses"));
  return form ? std::optional(cutStrategyOf(*form)) : std::nullopt;
}

bool AttentionGradOp::canRunOn(ArrayRef<Cut> cuts) {
  return cuts.empty() || !isPerDocument(cuts.front()) ||
         (cuts.size() == 1 && keysTravel() && documentsOf(getPlaces()));
}

/// Where keys were gathered, the partitioner adds up dk and dv, which are sums
/// over queries. Without `causal` all queries see the same.
SmallVector<Value> AttentionGradOp::place(OpBuilder &builder, MeshAttr mesh,
                                          ArrayRef<Cut> cuts) {
  ArrayAttr local = localCutsAttr(mesh, cuts);
  Value documents;
  if (isPerDocument(jointCut(cuts.vec())))
    documents = documentsOf(getPlaces());
  if (keysTravel())
    return RingAttentionGradOp::create(
               builder, getLoc(), getResultTypes(), getQ(), getK(), getV(),
               getOut(), getLse(), getDout(), getDlse(), getPlaces(), documents,
               mesh, local, getCausalAttr(), getScaleAttr(), getWindowAttr())
        ->getResults();
  Value positions;
  if (getCausal())
    positions = CutPositionsOp::create(
        builder, getLoc(),
        RankedTensorType::get(shapeOf(getQ())[1], builder.getI64Type()),
        /*documents=*/Value(), mesh, local);
  return AttentionGradOp::create(
             builder, getLoc(), getResultTypes(), getQ(), getK(), getV(),
             getOut(), getLse(), getDout(), getDlse(), getPlaces(), positions,
             getCausalAttr(), getScaleAttr(), getWindowAttr(), getFormAttr())
      ->getResults();
}

//===----------------------------------------------------------------------===//
// RingAttentionGradOp
//===----------------------------------------------------------------------===//

LogicalResult RingAttentionGradOp::verify() {
  if (failed(verifyRingDocuments(*this, "attention_grad_c8", getMesh(),
                                 getCuts(), getDocuments(),
                                 shapeOf(getQ())[0])) ||
      failed(verifyGroup(*this, getMesh(), getAxes())) ||
      failed(
          verifyDivides(*this, getMesh(), getCuts(), 1, shapeOf(getQ())[1])) ||
      failed(verifyShapes(*this)) || failed(verifyElements(*this)))
    return failure();
  return verifyLengths(*this, "a ring", "cut both alike");
}

} // namespace cp
