//===- CPLoss.cpp - Losses --------------------------------------*- C++ -*-===//
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

/// c1: h, W and labels fit together.
template <typename OpTy>
static LogicalResult verifyHead(OpTy op, StringRef label) {
  ArrayRef<int64_t> h = shapeOf(op.getH()), weight = shapeOf(op.getWeight());
  if (failed(expectTensor(op, label, "W", op.getWeight(), {weight[0], h[2]},
                          getElementTypeOrSelf(op.getH()))))
    return failure();
  return expectShape(op, label, "labels", op.getLabels(), {h[0], h[1]});
}

/// A number for each token, in f32 or better.
template <typename OpTy>
static LogicalResult expectOfTokens(OpTy op, StringRef label, StringRef what,
                                    Value value) {
  ArrayRef<int64_t> h = shapeOf(op.getH());
  return expectTensor(op, label, what, value, {h[0], h[1]},
                      sumsOf(getElementTypeOrSelf(op.getH())));
}

LogicalResult LinearCrossEntropyOp::verify() {
  StringRef c2 = "linear_cross_entropy_c2";
  if (failed(verifyHead(*this, "linear_cross_entropy_c1")) ||
      failed(expectOfTokens(*this, c2, "the losses", getLosses())))
    return failure();
  return expectOfTokens(*this, c2, "lse", getLse());
}

void LinearCrossEntropyOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getLosses(), "losses");
  setName(getLse(), "lse");
}

FailureOr<ShardingRule> LinearCrossEntropyOp::getShardingRule() {
  return ShardingRule::parse("b l .; . .; b l -> b l; b l", *this);
}

LogicalResult LinearCrossEntropyGradOp::verify() {
  StringRef c1 = "linear_cross_entropy_grad_c1",
            c2 = "linear_cross_entropy_grad_c2";
  if (failed(verifyHead(*this, c1)) ||
      failed(expectType(*this, c1, "dh", getDh(), getH().getType())) ||
      failed(expectOfTokens(*this, c2, "lse", getLse())) ||
      failed(expectOfTokens(*this, c2, "dloss", getDloss())) ||
      failed(expectOfTokens(*this, c2, "dlse", getDlse())))
    return failure();
  return expectTensor(*this, c2, "dW", getDweight(), shapeOf(getWeight()),
                      sumsOf(getElementTypeOrSelf(getH())));
}

FailureOr<ShardingRule> LinearCrossEntropyGradOp::getShardingRule() {
  std::string text = "b l .; . .; b l; b l; b l";
  if (getDlse())
    text += "; b l";
  return ShardingRule::parse(text + " -> b l .; . . {b l}", *this);
}

} // namespace cp
