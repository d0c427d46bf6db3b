//===- OpenAttentionBlock.cpp - An attention layer in parts -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpenAttentionBlock.h"

#include "DocumentPlaces.h"
#include "Heads.h"
#include "cp/IR/Projection.h"

using namespace mlir;

namespace cp {
namespace {

class AttentionBuilder {
public:
  explicit AttentionBuilder(AttentionBlockOp block)
      : block(block), b(block.getLoc(), block) {}

  Value build() {
    int64_t heads = block.getNumHeads(), groups = block.getNumKvHeads();
    // All contractions first, so that exchanges behind them can be merged.
    Value q = project(block.getQProj(), block.getQBias(), heads);
    Value k = project(block.getKProj(), block.getKBias(), groups);
    Value v = project(block.getVProj(), block.getVBias(), groups);
    if (block.getDocuments())
      places = createPlaces(b, block.getU(), block.getDocuments());
    if (block.getRopeTheta()) {
      Value turns = places ? places : wholePlaces();
      q = rotate(q, turns);
      k = rotate(k, turns);
    }
    return createLinear(b, mergeHeads(b, attend(q, k, v)), block.getOProj(),
                        block.getOBias(), Parallel::Rows);
  }

private:
  RankedTensorType input() {
    return cast<RankedTensorType>(block.getU().getType());
  }

  Value project(Value weight, Value bias, int64_t heads) {
    return splitHeads(
        b, createLinear(b, block.getU(), weight, bias, Parallel::Columns),
        heads, block.getHeadDim());
  }

  Value wholePlaces() {
    return PositionsOp::create(
        b, RankedTensorType::get({input().getDimSize(1)}, b.getI64Type()));
  }

  Value rotate(Value x, Value turns) {
    return RotaryOp::create(b, x.getType(), x, turns, block.getRopeThetaAttr(),
                            block.getRotaryDimsAttr());
  }

  Value attend(Value q, Value k, Value v) {
    Type element = input().getElementType();
    Type sums = sumsOf(element);
    auto lse = RankedTensorType::get({input().getDimSize(0),
                                      static_cast<int64_t>(block.getNumHeads()),
                                      input().getDimSize(1)},
                                     sums);
    return AttentionOp::create(b, q.getType(), lse, q, k, v, /*mask=*/Value(),
                               places, block.getCausalAttr(),
                               block.getScaleAttr(), block.getWindowAttr(),
                               block.getFormAttr())
        .getOut();
  }

  AttentionBlockOp block;
  ImplicitLocOpBuilder b;
  /// Of tokens in their documents, or null.
  Value places;
};

} // namespace

Value openAttentionBlock(AttentionBlockOp block) {
  return AttentionBuilder(block).build();
}

} // namespace cp
