//===- ResidualCut.cpp - What to keep and what to make again ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResidualCut.h"

#include "ArgumentAttributes.h"
#include "Differentiate/HalfFunction.h"
#include "ForwardPass.h"
#include "OpCost.h"
#include "Shard/MinCut.h"
#include "cp/IR/CPDialect.h"
#include "cp/Layout/Saturating.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace cp {

ResidualCut::ResidualCut(func::FuncOp function, bool exchanges)
    : block(function.getBody().front()) {
  llvm::DenseSet<Value> values = forwardValues(function);
  Layers names(function);
  for (Operation &op : block.without_terminator()) {
    // A sum over ranks that gradients have joined is of neither pass.
    bool isForward =
        op.getNumResults() && llvm::all_of(op.getResults(), [&](Value result) {
          return values.contains(result) || result.use_empty();
        });
    if (!isForward)
      continue;
    ops.insert(&op);
    layers[&op] = names.of(&op);
  }
  for (Operation *op : ops)
    if (canBeAgain(op, exchanges))
      candidates.insert(op);
}

bool ResidualCut::canBeAgain(Operation *op, bool exchanges) const {
  if (costOf(op) == 0)
    return true;
  if (leavesLayer(op))
    return false;
  // Who keeps parameters in parts wants the memory.
  if (isMemoryEffectFree(op) || gathersParameters(op))
    return true;
  return exchanges && isa<GroupOpInterface>(op);
}

/// Whether the forward pass of another layer reads it.
bool ResidualCut::leavesLayer(Operation *op) const {
  const std::string &layer = layerOf(op);
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    auto found = layers.find(user);
    return found != layers.end() && found->second != layer;
  });
}

llvm::DenseSet<Operation *> ResidualCut::opsAgain(int64_t costPerByte) const {
  MinCut cut;
  DenseMap<Operation *, int> nodes;
  // In the order of the block, so that the same program has the same plan.
  for (Operation &op : block) {
    if (!ops.contains(&op))
      continue;
    int node = cut.addNode();
    nodes[&op] = node;
    // To be on the sink's side is to be made again.
    cut.addEdge(MinCut::source, node,
                candidates.contains(&op) ? costOf(&op) : MinCut::unlimited);
  }
  for (Operation &op : block) {
    if (!ops.contains(&op))
      continue;
    for (Value result : op.getResults()) {
      if (result.use_empty())
        continue;
      // What has no memory of its own is made again with what it is of.
      int value = cut.addNode();
      bool isFree = candidates.contains(&op) && costOf(&op) == 0;
      cut.addEdge(nodes[&op], value,
                  isFree ? MinCut::unlimited
                         : std::min(multiplySaturating(
                                        std::max<int64_t>(bytesOf(result), 1),
                                        costPerByte),
                                    mostCost));
      for (Operation *user : result.getUsers()) {
        Operation *reader = block.findAncestorOpInBlock(*user);
        if (isBackward(reader, ops))
          cut.addEdge(value, MinCut::sink, MinCut::unlimited);
        else if (candidates.contains(reader))
          cut.addEdge(value, nodes[reader], MinCut::unlimited);
      }
    }
  }
  std::vector<bool> isAgain = cut.sinkSide();
  llvm::DenseSet<Operation *> again;
  // Views and constants need no copy of what is kept.
  for (Operation &op : block)
    if (auto found = nodes.find(&op);
        found != nodes.end() && isAgain[size_t(found->second)] &&
        (costOf(&op) || llvm::any_of(readsOf(&op), [&](Value value) {
           return again.contains(value.getDefiningOp());
         })))
      again.insert(&op);
  return again;
}

} // namespace cp
