//===- CPRules.cpp - Sharding rules of the logical ops ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {

FailureOr<ShardingRule> Conv1dOp::getShardingRule() {
  std::string text = "b l c; c .";
  if (getBias())
    text += "; c";
  if (getInitial())
    text += "; b . c";
  return ShardingRule::parse(text + " -> b l c", *this);
}

FailureOr<ShardingRule> SsdOp::getShardingRule() {
  std::string text = "b l (g q) p; b l (g q); (g q); b l g .; b l g .";
  if (getD())
    text += shapeOf(getD()).size() == 1 ? "; (g q)" : "; (g q) p";
  if (getDtBias())
    text += "; (g q)";
  if (getInitial())
    text += "; b (g q) p .";
  return ShardingRule::parse(text + " -> b l (g q) p; b (g q) p .", *this);
}

FailureOr<ShardingRule> RmsNormOp::getShardingRule() {
  std::string leading;
  for (int64_t dim = 0; dim + 1 < getX().getType().getRank(); ++dim)
    leading += "d" + std::to_string(dim) + " ";
  // A group is normed as a whole, so only whole groups may be cut apart.
  std::string channels = getGroups() > 1 ? "(g i)" : ".";
  std::string whole = leading + channels;
  std::string text = whole;
  if (getWeight())
    text += "; " + channels;
  if (getGate())
    text += "; " + whole;
  ShardingRule rule = ShardingRule::parse(text + " -> " + whole, *this);
  if (getGroups() == 1)
    return rule;
  // The sizes of g and i are not to be read off any type.
  int64_t group = rule.operands.front().back().front();
  rule.sizes[group] = getGroups();
  rule.sizes[rule.operands.front().back().back()] =
      shapeOf(getX()).back() / static_cast<int64_t>(getGroups());
  return rule;
}

/// A rank has its share of the groups, each whole.
void RmsNormOp::localizeSizes() {
  int64_t whole = shapeOf(getX()).back(), own = shapeOf(getResult()).back();
  if (own != whole)
    setGroups(getGroups() * own / whole);
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
