//===- Layers.cpp - Which layer an op belongs to ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Transforms/Layers.h"

#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {

/// The first of the names between dots that is a number.
static std::optional<int64_t> numberIn(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  for (StringRef part : parts) {
    int64_t number;
    if (!part.getAsInteger(10, number) && number >= 0)
      return number;
  }
  return std::nullopt;
}

Layers::Layers(FunctionOpInterface function) {
  for (BlockArgument argument : function.getArguments()) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      paramAttr);
    std::optional<int64_t> number = name ? numberIn(name) : std::nullopt;
    hasLayers |= number.has_value();
    origins[argument] = {static_cast<bool>(name), /*isBackward=*/false,
                         number.value_or(outside)};
    if (function.getArgAttr(argument.getArgNumber(), cotangentAttr))
      origins[argument] = {/*isParameter=*/false, /*isBackward=*/true, head};
  }
  for (Block &block : function.getFunctionBody())
    for (Operation &op : block) {
      Origin origin = originOf(&op);
      layers[&op] = origin.layer;
      for (Value result : op.getResults())
        origins[result] = origin;
    }
}

/// What is behind the layers and reads a parameter of none of them is head: a
/// table that is tied to the embedding is read twice. What then reads of a
/// layer again is its backward pass.
Layers::Origin Layers::originOf(Operation *op) const {
  Origin origin;
  bool readsOutside = false, readsLayers = false, readsHead = false;
  int64_t numbered = none;
  for (Value operand : op->getOperands()) {
    Origin from = origins.lookup(operand);
    // A constant belongs to whoever uses it.
    if (from.layer == none)
      continue;
    origin.isParameter &= from.isParameter;
    origin.isBackward |= from.isBackward;
    origin.layer = std::max(origin.layer, from.layer);
    readsOutside |= from.isParameter && from.layer == outside;
    readsLayers |= !from.isParameter && from.layer >= 0;
    readsHead |= from.layer == head;
    if (from.layer != head)
      numbered = std::max(numbered, from.layer);
  }
  origin.isBackward |= readsHead && numbered >= 0 && !readsOutside;
  if (origin.isBackward)
    origin.layer = backwardLayerOf(op);
  else if (readsOutside && readsLayers)
    origin.layer = head;
  return origin;
}

int64_t Layers::backwardLayerOf(Operation *op) const {
  int64_t forward = none, first = head, last = none;
  for (Value operand : op->getOperands()) {
    Origin from = origins.lookup(operand);
    if (from.layer == none)
      continue;
    if (from.isBackward || from.layer == head) {
      first = std::min(first, from.layer);
      last = std::max(last, from.layer);
    } else {
      forward = std::max(forward, from.layer);
    }
  }
  if (first != last && op->getNumResults() > 1 && forward == none)
    return gradients;
  return forward >= 0 ? std::min(forward, first) : first;
}

std::string Layers::of(Operation *op) const {
  auto found = layers.find(op);
  if (!hasLayers || found == layers.end() || found->second == none)
    return "-";
  if (found->second == head)
    return "head";
  if (found->second == gradients)
    return "gradients";
  return found->second == outside ? "embedding" : std::to_string(found->second);
}

} // namespace cp
