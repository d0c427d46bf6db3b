//===- CPGrad.cpp - Adjoints of ops, fused ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients of weights are sums over tokens, so where these are cut they are
// partial, while gradients of activations are cut as these are.
//
//===----------------------------------------------------------------------===//

#include "NormRule.h"
#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace cp {

//===----------------------------------------------------------------------===//
// stop_gradient
//===----------------------------------------------------------------------===//

FailureOr<ShardingRule> StopGradientOp::getShardingRule() {
  std::string dims;
  for (int64_t dim = 0, e = getSource().getType().getRank(); dim < e; ++dim)
    dims += "d" + std::to_string(dim) + " ";
  ShardingRule rule = ShardingRule::parse(dims + "-> " + dims, *this);
  rule.uses[0] = Use::Additive;
  return rule;
}

//===----------------------------------------------------------------------===//
// conv1d_grad
//===----------------------------------------------------------------------===//

LogicalResult Conv1dGradOp::verify() {
  StringRef c1 = "conv1d_grad_c1", c2 = "conv1d_grad_c2", c3 = "conv1d_grad_c3",
            c4 = "conv1d_grad_c4";
  Type type = getX().getType();
  ArrayRef<int64_t> x = shapeOf(getX());
  int64_t width = shapeOf(getWeight())[1];
  bool known = !ShapedType::isDynamic(width);
  SmallVector<int64_t> rows = {x[0], known ? width - 1 : ShapedType::kDynamic,
                               x[2]};
  Type element = getElementTypeOrSelf(type), sums = sumsOf(element);
  if (failed(expectType(*this, c1, "dy", getDy(), type)) ||
      failed(expectType(*this, c1, "dx", getDx(), type)) ||
      failed(
          expectShape(*this, c2, "the weight", getWeight(), {x[2], width})) ||
      (known && failed(expectAtLeast(*this, c2, "the window", width, 1))) ||
      failed(expectShape(*this, c2, "the bias", getBias(), {x[2]})) ||
      failed(expectShape(*this, c3, "initial", getInitial(), rows)) ||
      failed(expectShape(*this, c3, "places", getPlaces(), {x[0], x[1]})) ||
      failed(expectTensor(*this, c3, "dinitial", getDinitial(), rows, element)))
    return failure();
  for (Value operand :
       {Value(getWeight()), Value(getBias()), Value(getInitial())})
    if (operand && getElementTypeOrSelf(operand) != element)
      return emitOpError("conv1d_grad_c4: all operands must hold ")
             << element << ", but one holds " << getElementTypeOrSelf(operand);
  if (failed(expectTensor(*this, c4, "dweight", getDweight(), {x[2], width},
                          sums)))
    return failure();
  return expectTensor(*this, c4, "dbias", getDbias(), {x[2]}, sums);
}

FailureOr<ShardingRule> Conv1dGradOp::getShardingRule() {
  std::string text = "b l c; c .; b l c";
  if (getBias())
    text += "; c";
  if (getInitial())
    text += "; b . c";
  if (getPlaces())
    text += "; b l";
  return ShardingRule::parse(text + " -> b l c; c . {b l}; c {b l}; b . c",
                             *this);
}

//===----------------------------------------------------------------------===//
// rms_norm_grad
//===----------------------------------------------------------------------===//

LogicalResult RmsNormGradOp::verify() {
  StringRef c1 = "rms_norm_grad_c1", c2 = "rms_norm_grad_c2",
            c3 = "rms_norm_grad_c3";
  Type type = getX().getType(), element = getElementTypeOrSelf(type);
  if (getX().getType().getRank() < 1)
    return emitOpError("rms_norm_grad_c1: x must have at least one dimension");
  int64_t channels = shapeOf(getX()).back();
  if (failed(expectType(*this, c1, "dy", getDy(), type)) ||
      failed(expectType(*this, c1, "the gate", getGate(), type)) ||
      failed(expectType(*this, c1, "dx", getDx(), type)) ||
      failed(expectType(*this, c1, "dgate", getDgate(), type)))
    return failure();
  if (static_cast<bool>(getGate()) != static_cast<bool>(getDgate()))
    return emitOpError("rms_norm_grad_c1: there must be a dgate where there is "
                       "a gate, and nowhere else");
  if (failed(expectTensor(*this, c2, "the weight", getWeight(), {channels},
                          element)) ||
      failed(expectTensor(*this, c2, "dweight", getDweight(), {channels},
                          sumsOf(element))) ||
      failed(expectAtLeast(*this, c3, "groups", getGroups(), 1)))
    return failure();
  return expectDivides(*this, c3, "groups", getGroups(),
                       "the number of channels", channels);
}

FailureOr<ShardingRule> RmsNormGradOp::getShardingRule() {
  std::string text = "X; X";
  if (getWeight())
    text += "; C";
  if (getGate())
    text += "; X";
  text += " -> X; C {L}";
  if (getDgate())
    text += "; X";
  return normRule(*this, text, getX().getType(), getGroups());
}

void RmsNormGradOp::localizeSizes() {
  setGroups(localGroups(getGroups(), shapeOf(getX()).back(),
                        shapeOf(getDx()).back()));
}

//===----------------------------------------------------------------------===//
// embedding_grad
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingGradOp::verify() {
  StringRef c1 = "embedding_grad_c1";
  ArrayRef<int64_t> ids = shapeOf(getIds()), dy = shapeOf(getDy());
  if (failed(expectShape(*this, c1, "dy", getDy(), {ids[0], ids[1], dy[2]})))
    return failure();
  return expectTensor(*this, c1, "the result", getDtable(),
                      {shapeOf(getDtable())[0], dy[2]},
                      sumsOf(getElementTypeOrSelf(getDy())));
}

FailureOr<ShardingRule> EmbeddingGradOp::getShardingRule() {
  ShardingRule rule = ShardingRule::parse("b l; b l d -> . d", *this);
  rule.uses[1] = Use::Additive;
  return rule;
}

//===----------------------------------------------------------------------===//
// ssd_grad
//===----------------------------------------------------------------------===//

LogicalResult SsdGradOp::verify() {
  StringRef c1 = "ssd_grad_c1", c2 = "ssd_grad_c2", c3 = "ssd_grad_c3",
            c4 = "ssd_grad_c4", c5 = "ssd_grad_c5";
  Type type = getX().getType(), element = getElementTypeOrSelf(type),
       sums = sumsOf(element);
  ArrayRef<int64_t> x = shapeOf(getX()), b = shapeOf(getB());
  SmallVector<int64_t> state = {x[0], x[2], x[3], b[3]};
  SmallVector<int64_t> steps = {x[0], x[1], x[2]};
  if (failed(expectType(*this, c1, "dy", getDy(), type)) ||
      failed(expectType(*this, c1, "dx", getDx(), type)) ||
      failed(expectTensor(*this, c1, "the initial state", getInitial(), state,
                          sums)) ||
      failed(expectTensor(*this, c1, "dstate", getDstate(), state, sums)) ||
      failed(expectTensor(*this, c1, "dinitial", getDinitial(), state, sums)) ||
      failed(expectTensor(*this, c2, "dt", getDt(), steps, element)) ||
      failed(expectTensor(*this, c2, "ddt", getDdt(), steps, element)) ||
      failed(expectTensor(*this, c2, "A_log", getALog(), {x[2]}, element)) ||
      failed(
          expectTensor(*this, c2, "dt_bias", getDtBias(), {x[2]}, element)) ||
      failed(expectTensor(*this, c2, "dA_log", getDALog(), {x[2]}, sums)) ||
      failed(expectTensor(*this, c2, "ddt_bias", getDdtBias(), {x[2]}, sums)))
    return failure();
  if (failed(expectTensor(*this, c3, "B", getB(), {x[0], x[1], b[2], b[3]},
                          element)) ||
      failed(expectType(*this, c3, "C", getC(), getB().getType())) ||
      failed(expectType(*this, c3, "dB", getDB(), getB().getType())) ||
      failed(expectType(*this, c3, "dC", getDC(), getB().getType())) ||
      failed(expectGroups(*this, c3, b[2], x[2])) ||
      failed(expectSkip(*this, c4, getD(), x[2], x[3])) ||
      failed(expectTensor(*this, c4, "dD", getDD(), {x[2], x[3]}, sums)) ||
      failed(expectAtLeast(*this, c5, "chunk_size", getChunkSize(), 1)) ||
      failed(expectShape(*this, "ssd_grad_c6", "places", getPlaces(),
                         {x[0], x[1]})))
    return failure();
  return expectStepLimits(*this, c5, getDtMin(), getDtMax());
}

FailureOr<ShardingRule> SsdGradOp::getShardingRule() {
  std::string text =
      "b l (g q) .; b l (g q); (g q); b l g .; b l g .; b l (g q) .";
  if (getD())
    text += shapeOf(getD()).size() == 1 ? "; (g q)" : "; (g q) .";
  if (getDtBias())
    text += "; (g q)";
  if (getInitial())
    text += "; b (g q) . .";
  if (getDstate())
    text += "; b (g q) . .";
  if (getPlaces())
    text += "; b l";
  return ShardingRule::parse(
      text + " -> b l (g q) .; b l (g q); (g q) {b l}; b l g .; b l g .; "
             "(g q) . {b l}; (g q) {b l}; b (g q) . .",
      *this);
}

LogicalResult SsdGradStatesOp::verify() {
  StringRef c1 = "ssd_grad_states_c1", c2 = "ssd_grad_states_c2";
  Type element = getElementTypeOrSelf(getDy());
  ArrayRef<int64_t> dy = shapeOf(getDy()), c = shapeOf(getC());
  if (failed(expectTensor(*this, c1, "dt", getDt(), {dy[0], dy[1], dy[2]},
                          element)) ||
      failed(expectTensor(*this, c1, "A_log", getALog(), {dy[2]}, element)) ||
      failed(
          expectTensor(*this, c1, "dt_bias", getDtBias(), {dy[2]}, element)) ||
      failed(expectTensor(*this, c1, "C", getC(), {dy[0], dy[1], c[2], c[3]},
                          element)) ||
      failed(expectGroups(*this, c1, c[2], dy[2])) ||
      failed(expectShape(*this, c1, "places", getPlaces(), {dy[0], dy[1]})) ||
      failed(expectTensor(*this, c2, "the result", getDstate(),
                          {dy[0], dy[2], dy[3], c[3]}, sumsOf(element))) ||
      failed(expectAtLeast(*this, c2, "chunk_size", getChunkSize(), 1)))
    return failure();
  return expectStepLimits(*this, c2, getDtMin(), getDtMax());
}

} // namespace cp
