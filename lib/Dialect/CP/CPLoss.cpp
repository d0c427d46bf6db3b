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

/// c3: slices are of a vocabulary.
template <typename OpTy>
static LogicalResult verifyRows(OpTy op, StringRef label) {
  int64_t vocabulary = op.getVocabulary();
  if (!op.getRows())
    return vocabulary == 0 ? success()
                           : op.emitOpError(label)
                                 << ": has a vocabulary of " << vocabulary
                                 << " rows but no 'rows'; say with which row "
                                    "of it each slice starts";
  int64_t slices = shapeOf(op.getRows())[0], rows = shapeOf(op.getWeight())[0];
  if (ShapedType::isDynamic(slices) || ShapedType::isDynamic(rows))
    return success();
  if (slices < 1 || rows % slices != 0)
    return op.emitOpError(label)
           << ": " << rows << " rows of W must be slices of equal size, but "
           << "'rows' has " << slices;
  if (vocabulary < rows)
    return op.emitOpError(label) << ": the vocabulary must have W's " << rows
                                 << " rows or more, but has " << vocabulary;
  return success();
}

/// A number for each token, or each token and slice, in f32 or better.
template <typename OpTy>
static LogicalResult expectOfTokens(OpTy op, StringRef label, StringRef what,
                                    Value value) {
  SmallVector<int64_t> shape(shapeOf(op.getH()).take_front(2));
  if (op.getRows())
    shape.push_back(shapeOf(op.getRows())[0]);
  return expectTensor(op, label, what, value, shape,
                      sumsOf(getElementTypeOrSelf(op.getH())));
}

LogicalResult LinearCrossEntropyOp::verify() {
  StringRef c2 = "linear_cross_entropy_c2";
  if (failed(verifyHead(*this, "linear_cross_entropy_c1")) ||
      failed(verifyRows(*this, "linear_cross_entropy_c3")) ||
      failed(expectOfTokens(*this, c2, "the losses", getLosses())))
    return failure();
  return expectOfTokens(*this, c2, "lse", getLse());
}

void LinearCrossEntropyOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getLosses(), "losses");
  setName(getLse(), "lse");
}

FailureOr<ShardingRule> LinearCrossEntropyOp::getShardingRule() {
  return ShardingRule::parse(getRows()
                                 ? "b l .; (s v) .; b l; s -> b l s; b l s"
                                 : "b l .; . .; b l -> b l; b l",
                             *this);
}

LogicalResult LinearCrossEntropyGradOp::verify() {
  StringRef c1 = "linear_cross_entropy_grad_c1",
            c2 = "linear_cross_entropy_grad_c2";
  if (failed(verifyHead(*this, c1)) ||
      failed(verifyRows(*this, "linear_cross_entropy_grad_c3")) ||
      failed(expectTensor(*this, c1, "dh", getDh(), shapeOf(getH()),
                          getElementTypeOrSelf(getH()))) ||
      failed(expectOfTokens(*this, c2, "lse", getLse())) ||
      failed(expectOfTokens(*this, c2, "dloss", getDloss())) ||
      failed(expectOfTokens(*this, c2, "dlse", getDlse())))
    return failure();
  return expectTensor(*this, c2, "dW", getDweight(), shapeOf(getWeight()),
                      sumsOf(getElementTypeOrSelf(getH())));
}

FailureOr<ShardingRule> LinearCrossEntropyGradOp::getShardingRule() {
  bool isSliced = static_cast<bool>(getRows());
  StringRef each = isSliced ? "; b l s" : "; b l";
  std::string text = isSliced ? "b l .; (s v) .; b l; s" : "b l .; . .; b l";
  // lse, dloss, dlse
  for (int i = getDlse() ? 3 : 2; i > 0; --i)
    text += each;
  text += isSliced ? " -> b l . {s}; (s v) . {b l}" : " -> b l .; . . {b l}";
  return ShardingRule::parse(text, *this);
}

} // namespace cp
