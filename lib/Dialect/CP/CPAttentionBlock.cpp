//===- CPAttentionBlock.cpp - A whole attention layer -----------*- C++ -*-===//
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

static LogicalResult verifySizes(AttentionBlockOp op) {
  std::pair<StringRef, int64_t> sizes[] = {{"num_heads", op.getNumHeads()},
                                           {"num_kv_heads", op.getNumKvHeads()},
                                           {"head_dim", op.getHeadDim()}};
  constexpr int64_t most = int64_t(1) << 24;
  for (auto [name, size] : sizes)
    if (size < 1 || size > most)
      return op.emitOpError("attention_block_c2: ")
             << name << " must be between 1 and " << most << ", but is "
             << size;
  return expectDivides(op, "attention_block_c2", "num_kv_heads",
                       op.getNumKvHeads(), "num_heads", op.getNumHeads());
}

static LogicalResult verifyWeights(AttentionBlockOp op) {
  int64_t width = shapeOf(op.getU())[2];
  int64_t queries = op.getNumHeads() * op.getHeadDim();
  int64_t keys = op.getNumKvHeads() * op.getHeadDim();
  std::tuple<StringRef, Value, SmallVector<int64_t>> shapes[] = {
      {"q_proj", op.getQProj(), {queries, width}},
      {"q_proj bias", op.getQBias(), {queries}},
      {"k_proj", op.getKProj(), {keys, width}},
      {"k_proj bias", op.getKBias(), {keys}},
      {"v_proj", op.getVProj(), {keys, width}},
      {"v_proj bias", op.getVBias(), {keys}},
      {"o_proj", op.getOProj(), {width, queries}},
      {"o_proj bias", op.getOBias(), {width}}};
  for (auto &[what, value, shape] : shapes)
    if (failed(expectShape(op, "attention_block_c3", what, value, shape)))
      return failure();
  return expectOneElementType(op, "attention_block_c4");
}

static LogicalResult verifyRotary(AttentionBlockOp op) {
  constexpr StringRef label = "attention_block_c6";
  std::optional<APFloat> theta = op.getRopeTheta();
  if (theta) {
    if (failed(verifyTheta(op, label, *theta)))
      return failure();
    return verifyRotatedDims(op, label, op.getRotaryDims(), op.getHeadDim());
  }
  if (op.getRotaryDims())
    return op.emitOpError(label)
           << ": rotary_dims is " << *op.getRotaryDims()
           << " but there is no rope_theta, so nothing is turned; give it one, "
              "or leave rotary_dims out";
  return success();
}

static LogicalResult verifyDocuments(AttentionBlockOp op) {
  constexpr StringRef label = "attention_block_c7";
  if (op.getDocuments() && !op.getCausal())
    return op.emitOpError(label)
           << ": documents say how far back a query sees, and without causal "
              "it sees what is behind it; make it causal, or give it documents "
              "as elements of the batch";
  return expectDocuments(op, label, op.getDocuments(), shapeOf(op.getU())[0]);
}

LogicalResult AttentionBlockOp::verify() {
  if (failed(expectType(*this, "attention_block_c1", "the result", getResult(),
                        getU().getType())) ||
      failed(verifySizes(*this)) || failed(verifyWeights(*this)) ||
      failed(verifyWindow(*this, "attention_block_c5", getCausal(),
                          getWindow())) ||
      failed(verifyDocuments(*this)))
    return failure();
  return verifyRotary(*this);
}

} // namespace cp
