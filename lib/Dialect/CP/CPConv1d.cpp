//===- CPConv1d.cpp - Causal convolution ------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {

LogicalResult Conv1dOp::verify() {
  if (failed(expectType(*this, "conv1d_c1", "the result", getResult(),
                        getX().getType())))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX());
  int64_t width = shapeOf(getWeight())[1];
  bool known = !ShapedType::isDynamic(width);
  int64_t before = known ? width - 1 : ShapedType::kDynamic;
  if (failed(expectShape(*this, "conv1d_c2", "the weight", getWeight(),
                         {x[2], width})) ||
      (known &&
       failed(expectAtLeast(*this, "conv1d_c2", "the window", width, 1))) ||
      failed(expectShape(*this, "conv1d_c2", "the bias", getBias(), {x[2]})) ||
      failed(expectShape(*this, "conv1d_c3", "initial", getInitial(),
                         {x[0], before, x[2]})) ||
      failed(expectShape(*this, "conv1d_c5", "places", getPlaces(),
                         {x[0], x[1]})) ||
      failed(expectGoesOn(*this, "conv1d_c6", getInitial(), getPlaces())))
    return failure();
  return expectOneElementType(*this, "conv1d_c4");
}

FailureOr<ShardingRule> Conv1dOp::getShardingRule() {
  std::string text = "b l c; c .";
  if (getBias())
    text += "; c";
  if (getInitial())
    text += "; b . c";
  if (getPlaces())
    text += "; b l";
  return ShardingRule::parse(text + " -> b l c", *this);
}

//===----------------------------------------------------------------------===//
// A window
//===----------------------------------------------------------------------===//

int64_t Conv1dOp::getWindowRows() { return shapeOf(getWeight())[1] - 1; }
Value Conv1dOp::getInitialRows() { return getInitial(); }
void Conv1dOp::setInitialRows(Value rows) { getInitialMutable().assign(rows); }

} // namespace cp
