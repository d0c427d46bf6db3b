//===- CPUpdate.cpp - What an optimizer does --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// c1: all are as the parameter. c2: what is rounded has its sizes.
static LogicalResult verifyTensors(Operation *op, StringRef c1, StringRef c2,
                                   TypedValue<RankedTensorType> param,
                                   ValueRange likeParam, Value rounded) {
  Type element = param.getType().getElementType();
  if (sumsOf(element) != element)
    return op->emitOpError(c1)
           << ": parameters must be in f32 or better, but are in " << element
           << "; keep them in " << sumsOf(element)
           << " and let 'rounded' be those that the model takes";
  for (Value value : likeParam)
    if (failed(expectType(op, c1, "what goes with a parameter", value,
                          param.getType())))
      return failure();
  if (rounded && !element.isF32())
    return op->emitOpError(c2)
           << ": parameters that are rounded must be in f32, but are in "
           << element;
  return expectTensor(op, c2, "rounded", rounded, shapeOf(param),
                      BFloat16Type::get(op->getContext()));
}

/// A number of at least 0, and below `limit`.
static LogicalResult
verifyReal(Operation *op, StringRef label, StringRef name, const APFloat &real,
           double limit = std::numeric_limits<double>::infinity()) {
  double value = real.convertToDouble();
  if (value >= 0 && value < limit)
    return success();
  auto error = op->emitOpError(label)
               << ": " << name << " must be a number of at least 0";
  if (std::isfinite(limit))
    error << " and below " << limit;
  return error << ", but is " << value;
}

LogicalResult SgdOp::verify() {
  if (failed(verifyTensors(*this, "sgd_c1", "sgd_c2", getParam(),
                           {getGrad(), getUpdated()}, getRounded())))
    return failure();
  return verifyReal(*this, "sgd_c3", "weight_decay", getWeightDecay());
}

LogicalResult AdamwOp::verify() {
  StringRef c3 = "adamw_c3";
  if (failed(verifyTensors(*this, "adamw_c1", "adamw_c2", getParam(),
                           {getGrad(), getExpAvg(), getExpAvgSq(), getUpdated(),
                            getExpAvgOut(), getExpAvgSqOut()},
                           getRounded())) ||
      failed(verifyReal(*this, c3, "beta1", getBeta1(), 1)) ||
      failed(verifyReal(*this, c3, "beta2", getBeta2(), 1)) ||
      failed(verifyReal(*this, c3, "eps", getEps())))
    return failure();
  return verifyReal(*this, c3, "weight_decay", getWeightDecay());
}

LogicalResult AccumulateOp::verify() {
  // Nothing is rounded.
  return verifyTensors(*this, "accumulate_c1", "", getSum(),
                       {getGrad(), getUpdated()}, Value());
}

//===----------------------------------------------------------------------===//
// Sharding rules
//===----------------------------------------------------------------------===//

static std::string dimsText(Value tensor) {
  std::string dims;
  for (size_t dim = 0, e = shapeOf(tensor).size(); dim < e; ++dim)
    dims += "d" + std::to_string(dim) + " ";
  return dims;
}

/// Element by element; operands without a dimension are scalars.
static ShardingRule updateRule(Operation *op, Value param) {
  std::string dims = dimsText(param), text;
  bool hasDims = !dims.empty();
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    bool isScalar = hasDims && shapeOf(operand).empty();
    text += (i ? "; " : "") + (isScalar ? "" : dims);
  }
  text += "-> ";
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    text += (i ? "; " : "") + dims;
  return ShardingRule::parse(text, op);
}

FailureOr<ShardingRule> SgdOp::getShardingRule() {
  return updateRule(*this, getParam());
}
FailureOr<ShardingRule> AdamwOp::getShardingRule() {
  return updateRule(*this, getParam());
}
FailureOr<ShardingRule> AccumulateOp::getShardingRule() {
  return updateRule(*this, getSum());
}

FailureOr<ShardingRule> SumOp::getShardingRule() {
  ShardingRule rule;
  rule.operands.resize(getTerms().size());
  rule.results.resize(1);
  rule.uses.assign(getTerms().size(), Use::Term);
  return rule;
}

FailureOr<ShardingRule> SquaredNormOp::getShardingRule() {
  std::string dims = dimsText(getSource());
  return ShardingRule::parse(dims + "-> {" + dims + "}", *this);
}

} // namespace cp
