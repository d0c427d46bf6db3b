//===- OrderChoice.cpp - Which ops run on which token order -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrderChoice.h"

#include "MinCut.h"
#include "cp/Layout/Saturating.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace cp {

int64_t sequenceFactorOf(Operation *op, const ShardingRule &rule,
                         const DenseMap<Value, int64_t> &sequenceDims) {
  if (auto sequenceOp = dyn_cast<SequenceOpInterface>(op))
    return sequenceOp.getSequenceFactor();
  return factorOf(op, rule, sequenceDims);
}

int64_t factorOf(Operation *op, const ShardingRule &rule,
                 const DenseMap<Value, int64_t> &dims) {
  for (auto [value, factors] : llvm::zip(op->getOperands(), rule.operands)) {
    auto it = dims.find(value);
    if (it != dims.end() && factors[it->second].size() == 1)
      return factors[it->second].front();
  }
  return -1;
}

void noteFactor(Operation *op, const ShardingRule &rule, int64_t factor,
                DenseMap<Value, int64_t> &dims) {
  for (auto [result, factors] : llvm::zip_equal(op->getResults(), rule.results))
    for (auto [dim, of] : llvm::enumerate(factors))
      if (of.size() == 1 && of.front() == factor)
        dims[result] = dim;
}

void noteSequence(Operation *op, const ShardingRule &rule, int64_t sequence,
                  DenseMap<Value, int64_t> &sequenceDims) {
  noteFactor(op, rule, sequence, sequenceDims);
  if (!isa<SequenceOpInterface>(op))
    return;
  // Keys are read whole, and so are the cotangents that go back to them.
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands)) {
    auto it = sequenceDims.find(operand);
    if (it == sequenceDims.end() || !dims[it->second].empty())
      continue;
    int64_t dim = it->second;
    for (auto [result, others] :
         llvm::zip_equal(op->getResults(), rule.results))
      if (others == dims)
        sequenceDims[result] = dim;
  }
}

bool OrderChoice::needsContiguous(SequenceOpInterface op) const {
  std::vector<Cut> cuts = sharding.onSequence(sharding.strategyOf(op));
  // Nothing that depends along it runs on a sequence cut behind such an order.
  if (sharding.isPerDocument() && cuts.size() > 1)
    return true;
  // On one rank all orders are the same.
  llvm::erase_if(cuts, [&](const Cut &cut) {
    return sharding.mesh.axes[cut.axis].size == 1;
  });
  return !cuts.empty() && !op.canRunOn(cuts);
}

bool OrderChoice::mayKeep(const ShardingRule &rule, int64_t factor) const {
  bool areOverSeveralAxes = sharding.sequence.size() > 1 || sharding.tensorRows;
  return !sharding.isPerDocument() ||
         (!areOverSeveralAxes && rule.isBatchwise(factor));
}

namespace {

/// The graph of which a minimum cut parts the ops: with the source those on the
/// order that was asked for, with the sink those on contiguous rows.
class OrderGraph {
public:
  /// `argumentNode` is the side on which arguments are.
  explicit OrderGraph(int argumentNode) : argumentNode(argumentNode) {}

  void addOp(Operation *op) { nodes[op] = graph.addNode(); }
  void keepOrder(Operation *op) {
    graph.addEdge(MinCut::source, nodes.lookup(op), MinCut::unlimited);
  }
  void makeContiguous(Operation *op) {
    graph.addEdge(nodes.lookup(op), MinCut::sink, MinCut::unlimited);
  }

  /// Whoever uses a value in another order than it is made in has it converted,
  /// once for all.
  void addValue(Value value) {
    Operation *op = value.getDefiningOp();
    if (op && !nodes.contains(op))
      return;
    int made = op ? nodes.lookup(op) : argumentNode;
    int64_t bytes = bytesOf(value.getType());
    int to = graph.addNode(), back = graph.addNode();
    graph.addEdge(made, to, bytes);
    graph.addEdge(back, made, bytes);
    for (Operation *user : value.getUsers())
      if (auto *it = nodes.find(user); it != nodes.end()) {
        graph.addEdge(to, it->second, MinCut::unlimited);
        graph.addEdge(it->second, back, MinCut::unlimited);
      }
  }

  DenseSet<Operation *> onSinkSide() {
    std::vector<bool> side = graph.sinkSide();
    DenseSet<Operation *> ops;
    for (auto [op, node] : nodes)
      if (side[node])
        ops.insert(op);
    return ops;
  }

private:
  /// Never so much that it looks unlimited.
  static int64_t bytesOf(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    int64_t bytes = std::max<int64_t>(elementBytes(type), 1);
    for (int64_t size : tensor.getShape())
      if (!ShapedType::isDynamic(size))
        bytes = multiplySaturating(bytes, size);
    return std::min(bytes, int64_t(1) << 40);
  }

  const int argumentNode;
  MinCut graph;
  llvm::MapVector<Operation *, int> nodes;
};

} // namespace

LogicalResult OrderChoice::refuseOrder(FunctionOpInterface function) const {
  return function->emitOpError("assign_c10: no op can have the order ")
         << orderName(sharding.sequence.front().order)
         << ": that is for causal attention whose keys travel over one axis "
            "(attention=ring, or 2d of two axes) and whose places are those of "
            "documents (cp.positions documents); give the model documents, or "
            "use the order zigzag";
}

LogicalResult OrderChoice::run(FunctionOpInterface function) {
  bool any = sharding.isPerDocument();
  function.walk([&](SequenceOpInterface op) { any |= needsContiguous(op); });
  if (!any)
    return success();
  OrderGraph graph(sharding.isPerDocument() ? MinCut::sink : MinCut::source);
  bool isKept = false;
  DenseMap<Value, int64_t> sequenceDims;
  for (BlockArgument arg : function.getArguments())
    if (auto dim = function.getArgAttrOfType<IntegerAttr>(arg.getArgNumber(),
                                                          sequenceAttr))
      sequenceDims[arg] = dim.getInt();
  for (Operation &op : function.getFunctionBody().front()) {
    if (op.hasTrait<OpTrait::IsTerminator>() && sharding.isPerDocument()) {
      graph.addOp(&op);
      graph.makeContiguous(&op);
    }
    auto rules = dyn_cast<ShardingRuleOpInterface>(op);
    if (!rules)
      continue;
    FailureOr<ShardingRule> rule = rules.getShardingRule();
    if (failed(rule))
      return failure();
    int64_t sequence = sequenceFactorOf(&op, *rule, sequenceDims);
    if (sequence < 0)
      continue;
    noteSequence(&op, *rule, sequence, sequenceDims);
    auto sequenceOp = dyn_cast<SequenceOpInterface>(op);
    // Where heads are cut, the exchange before has the rows in any order; and
    // positions, which read no rows, can give any.
    if ((sequenceOp &&
         sharding.onSequence(sharding.strategyOf(sequenceOp)).empty()) ||
        op.getNumOperands() == 0 || isa<PositionsOp>(op))
      continue;
    graph.addOp(&op);
    bool isPlaced = isa<PlacedOpInterface>(op);
    if ((sequenceOp && needsContiguous(sequenceOp)) ||
        (!isPlaced && !mayKeep(*rule, sequence)))
      graph.makeContiguous(&op);
    else if (isPlaced) {
      graph.keepOrder(&op);
      isKept = true;
    }
  }
  if (sharding.isPerDocument() && !isKept)
    return refuseOrder(function);
  // In whatever order: of the cheapest cuts the one taken is unique.
  for (auto [value, dim] : sequenceDims)
    graph.addValue(value);
  contiguous = graph.onSinkSide();
  return success();
}

} // namespace cp
