//===- Shapes.cpp - Changes of shape on ids ---------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Models.h"

#include <algorithm>

using namespace mlir;

namespace cp {

/// Whether on every rank the elements of a dimension have one index of it each,
/// when this is counted in steps of `strides[dim + 1]` below `strides[dim]`.
static bool isSeparable(const TracedValue &value, size_t dim, int64_t ranks) {
  bool separable = true;
  for (int64_t rank = 0; rank < ranks && separable; ++rank)
    digitsAlong(value, rank, dim, dim,
                [&](int64_t, int64_t, int64_t) { separable = false; });
  return separable;
}

/// Where the whole tensor is divided between dimensions `dim` - 1 and `dim`,
/// which a change of shape has made of one. An inner dimension is not cut, so
/// that it has the size that it has here, unless the elements say otherwise: a
/// batch may have been one dimension with the parts of a sequence. Of a batch
/// of one what is cut is the inner one, if any is.
static void divide(TracedValue &value, IdSpace &space, size_t dim,
                   int64_t ranks) {
  int64_t outer = space.strides[dim - 1], inner = space.strides[dim + 1];
  SmallVector<int64_t> candidates = {inner * value.shape[dim]};
  int64_t stride = 1;
  for (int64_t size : llvm::reverse(space.sizes)) {
    stride *= size;
    if (stride > inner && stride <= outer)
      candidates.push_back(stride);
  }
  if (dim == 1 && value.shape[0] == 1)
    std::rotate(candidates.begin(), candidates.begin() + 1, candidates.end());
  for (int64_t candidate : candidates) {
    space.strides[dim] = candidate;
    value.space = std::make_shared<IdSpace>(space);
    if (outer % candidate == 0 && isSeparable(value, dim - 1, ranks))
      return;
  }
  space.strides[dim] = candidates.front();
  value.space = std::make_shared<IdSpace>(space);
}

static void reshape(OpTrace &trace, ArrayRef<ReassociationIndices> groups,
                    bool expands) {
  const TracedValue source = trace.operand(0u);
  TracedValue &value = trace.result(0);
  value.ids = source.ids;
  value.covers = source.covers;
  if (!source.space)
    return;
  IdSpace space{{}, source.space->sizes};
  space.strides.assign(value.shape.size() + 1, 1);
  if (!expands) {
    for (auto [dim, group] : llvm::enumerate(groups))
      space.strides[dim] = source.space->strides[group.front()];
    value.space = std::make_shared<IdSpace>(space);
    return;
  }
  // First all borders that stay, then from the innermost one out.
  for (auto [dim, group] : llvm::enumerate(groups))
    for (int64_t index : group)
      space.strides[index] = source.space->strides[dim];
  for (const ReassociationIndices &group : llvm::reverse(groups))
    for (int64_t index : llvm::reverse(ArrayRef(group).drop_front()))
      divide(value, space, index, trace.numRanks());
  value.space = std::make_shared<IdSpace>(space);
}

template <typename OpTy>
static void reshapeBy(OpTrace &trace, OpTy op, bool expands) {
  // It says what is wrong with the dimensions that such an op names.
  auto rules = cast<ShardingRuleOpInterface>(op.getOperation());
  if (failed(rules.getShardingRule()))
    return trace.giveUp();
  reshape(trace, op.getReassociationIndices(), expands);
}

void traceExpandShape(OpTrace &trace, tensor::ExpandShapeOp op) {
  reshapeBy(trace, op, /*expands=*/true);
}

void traceCollapseShape(OpTrace &trace, tensor::CollapseShapeOp op) {
  reshapeBy(trace, op, /*expands=*/false);
}

} // namespace cp
