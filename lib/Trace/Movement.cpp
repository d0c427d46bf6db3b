//===- Movement.cpp - Collectives on ids ------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Models.h"
#include "Tracer.h"

using namespace mlir;

namespace cp {
namespace {

CallBuffer idBuffer(const TracedValue &value, int64_t ranks, bool isInitial) {
  CallBuffer buffer{value.shape, {}};
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Words words = *value.idsOf(rank);
    if (isInitial)
      for (int64_t &word : words)
        word = word > 0 ? word | initialTag : word;
    buffer.ranks.push_back(std::move(words));
  }
  return buffer;
}

CallBuffer coverBuffer(const TracedValue &value, int64_t ranks) {
  CallBuffer buffer{value.shape, {}};
  for (int64_t rank = 0; rank < ranks; ++rank)
    buffer.ranks.push_back(*value.coversOf(rank));
  return buffer;
}

std::vector<Plane> planesOf(CallBuffer buffer) {
  std::vector<Plane> planes;
  for (Words &words : buffer.ranks)
    planes.push_back(std::make_shared<Words>(std::move(words)));
  return planes;
}

} // namespace

std::vector<std::vector<int64_t>> groupsOf(Operation *op) {
  auto group = cast<GroupOpInterface>(op);
  Mesh mesh = group.getMesh().toMesh();
  std::vector<int> axes = axisPositions(group.getMesh(), group.getAxes());
  std::vector<std::vector<int64_t>> groups;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    groups.push_back(mesh.group(rank, axes));
  return groups;
}

/// A call of which so many operands are traced, and others follow.
static llvm::Error moveTraced(OpTrace &trace, RuntimeOpInterface call,
                              unsigned numTraced, ArrayRef<CallBuffer> others) {
  size_t count = call->getNumResults();
  std::vector<CallBuffer> ids, marks;
  bool hasCovers = false;
  for (unsigned i = 0; i < numTraced; ++i) {
    const TracedValue &value = trace.operand(i);
    ids.push_back(idBuffer(value, trace.numRanks(), /*isInitial=*/i >= count));
    marks.push_back(coverBuffer(value, trace.numRanks()));
    hasCovers |= !value.covers.empty();
  }
  llvm::append_range(ids, others);
  llvm::append_range(marks, others);
  auto moved = worldOf(trace).call(call, ids, /*asDoubles=*/false);
  if (!moved)
    return moved.takeError();
  for (size_t i = 0; i < count; ++i) {
    trace.result(i).space = trace.operand(i).space;
    if (!trace.operand(i).isConstant())
      trace.result(i).ids = planesOf(std::move((*moved)[i]));
  }
  if (!hasCovers)
    return llvm::Error::success();
  auto covered = worldOf(trace).call(call, marks, /*asDoubles=*/false);
  if (!covered)
    return covered.takeError();
  for (size_t i = 0; i < count; ++i)
    trace.result(i).covers = planesOf(std::move((*covered)[i]));
  return llvm::Error::success();
}

llvm::Error traceMove(OpTrace &trace, RuntimeOpInterface call) {
  return moveTraced(trace, call, call->getNumOperands(), {});
}

/// Lists of one document, which is all of a row of so many tokens.
static CallBuffer oneDocument(ArrayRef<int64_t> shape, int64_t tokens,
                              int64_t ranks) {
  std::vector<int32_t> ends;
  for (int64_t row = 0; row < shape[0]; ++row)
    for (int64_t i = 0; i < shape[1]; ++i)
      ends.push_back(i == 0 ? 0 : static_cast<int32_t>(tokens));
  Words words(llvm::divideCeil(ends.size(), 2));
  std::memcpy(words.data(), ends.data(), ends.size() * sizeof(int32_t));
  return {SmallVector<int64_t>(shape),
          std::vector<Words>(static_cast<size_t>(ranks), words),
          /*isI32=*/true};
}

llvm::Error traceReorder(OpTrace &trace, ReorderOp op) {
  auto call = cast<RuntimeOpInterface>(op.getOperation());
  if (!op.getDocuments())
    return traceMove(trace, call);
  ArrayRef<int64_t> lists = op.getDocuments().getType().getShape();
  int64_t tokens = op.getSource().getType().getDimSize(op.getDim()) *
                   groupSize(op.getMesh(), op.getAxes());
  // A list of one number has no document.
  if (lists[1] < 2 || tokens > INT32_MAX) {
    trace.giveUp();
    return llvm::Error::success();
  }
  return moveTraced(trace, call, /*numTraced=*/1,
                    oneDocument(lists, tokens, trace.numRanks()));
}

} // namespace cp
