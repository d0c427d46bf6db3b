//===- CPTokenwise.cpp - Ops on each token alone ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NormRule.h"
#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {

LogicalResult RmsNormOp::verify() {
  if (getX().getType().getRank() < 1)
    return emitOpError("rms_norm_c1: x must have at least one dimension");
  Type element = getX().getType().getElementType();
  int64_t channels = getX().getType().getShape().back();
  if (failed(expectType(*this, "rms_norm_c1", "the result", getResult(),
                        getX().getType())) ||
      failed(expectType(*this, "rms_norm_c1", "the gate", getGate(),
                        getX().getType())) ||
      failed(expectShape(*this, "rms_norm_c2", "the weight", getWeight(),
                         {channels})))
    return failure();
  if (getWeight() && getWeight().getType().getElementType() != element)
    return emitOpError("rms_norm_c2: the weight must hold ")
           << element << ", but holds "
           << getWeight().getType().getElementType();
  if (failed(expectAtLeast(*this, "rms_norm_c3", "groups", getGroups(), 1)))
    return failure();
  return expectDivides(*this, "rms_norm_c3", "groups", getGroups(),
                       "the number of channels", channels);
}

LogicalResult EmbeddingOp::verify() {
  ArrayRef<int64_t> ids = shapeOf(getIds());
  if (getResult().getType().getElementType() !=
      getTable().getType().getElementType())
    return emitOpError("embedding_c1: the result must hold ")
           << getTable().getType().getElementType() << ", but holds "
           << getResult().getType().getElementType();
  ArrayRef<int64_t> table = shapeOf(getTable());
  std::optional<int64_t> padding = getPaddingIdx();
  if (padding && (*padding < 0 ||
                  (!ShapedType::isDynamic(table[0]) && *padding >= table[0])))
    return emitOpError("embedding_c2: padding_idx must be a row of the table, "
                       "in [0, ")
           << table[0] << "), but is " << *padding;
  return expectShape(*this, "embedding_c1", "the result", getResult(),
                     {ids[0], ids[1], table[1]});
}

LogicalResult RepeatOp::verify() {
  SmallVector<int64_t> shape(shapeOf(getSource()));
  int64_t dim = getDim();
  if (dim < 0 || dim >= static_cast<int64_t>(shape.size()))
    return emitOpError("repeat_c1: dim must be below ")
           << shape.size() << ", but is " << dim;
  if (failed(expectAtLeast(*this, "repeat_c1", "unit", getUnit(), 1)) ||
      failed(expectAtLeast(*this, "repeat_c1", "times", getTimes(), 1)) ||
      failed(expectDivides(*this, "repeat_c1", "unit", getUnit(), "the size",
                           shape[dim])))
    return failure();
  if (failed(multiplySize(*this, "repeat_c2", shape[dim], getTimes())))
    return failure();
  return expectReshaped(*this, "repeat_c2", "the result", getResult(),
                        getSource(), shape);
}

//===----------------------------------------------------------------------===//
// Sharding rules
//===----------------------------------------------------------------------===//

ShardingRule normRule(Operation *op, StringRef text, RankedTensorType x,
                      int64_t groups) {
  std::string leading;
  for (int64_t dim = 0; dim + 1 < x.getRank(); ++dim)
    leading += "d" + std::to_string(dim) + " ";
  // A group is normed as a whole, so only whole groups may be cut apart.
  std::string channels = groups > 1 ? "(g i)" : ".";
  std::string dims;
  for (char letter : text)
    if (letter == 'X')
      dims += leading + channels;
    else if (letter == 'C')
      dims += channels;
    else if (letter == 'L')
      dims += leading;
    else
      dims += letter;
  ShardingRule rule = ShardingRule::parse(dims, op);
  if (groups == 1)
    return rule;
  // The sizes of g and i are not to be read off any type.
  const DimFactors &ofChannels = rule.operands.front().back();
  rule.sizes[ofChannels.front()] = groups;
  rule.sizes[ofChannels.back()] = x.getShape().back() / groups;
  return rule;
}

int64_t localGroups(int64_t groups, int64_t whole, int64_t own) {
  return own == whole ? groups : groups * own / whole;
}

FailureOr<ShardingRule> RmsNormOp::getShardingRule() {
  std::string text = "X";
  if (getWeight())
    text += "; C";
  if (getGate())
    text += "; X";
  return normRule(*this, text + " -> X", getX().getType(), getGroups());
}

/// A rank has its share of the groups, each whole.
void RmsNormOp::localizeSizes() {
  setGroups(localGroups(getGroups(), shapeOf(getX()).back(),
                        shapeOf(getResult()).back()));
}

FailureOr<ShardingRule> EmbeddingOp::getShardingRule() {
  ShardingRule rule = ShardingRule::parse("b l; . d -> b l d", *this);
  rule.uses[1] = Use::Additive;
  return rule;
}

FailureOr<ShardingRule> RepeatOp::getShardingRule() {
  std::string dims;
  for (int64_t dim = 0, e = shapeOf(getSource()).size(); dim < e; ++dim)
    dims += dim == static_cast<int64_t>(getDim())
                ? std::string(". ")
                : "d" + std::to_string(dim) + " ";
  ShardingRule rule = ShardingRule::parse(dims + "-> " + dims, *this);
  rule.uses[0] = Use::Additive;
  return rule;
}

} // namespace cp
