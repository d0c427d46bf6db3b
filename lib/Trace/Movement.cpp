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

llvm::Error traceMove(OpTrace &trace, RuntimeOpInterface call) {
  size_t count = call->getNumResults();
  std::vector<CallBuffer> ids, marks;
  bool hasCovers = false;
  for (unsigned i = 0; i < call->getNumOperands(); ++i) {
    const TracedValue &value = trace.operand(i);
    ids.push_back(idBuffer(value, trace.numRanks(), /*isInitial=*/i >= count));
    marks.push_back(coverBuffer(value, trace.numRanks()));
    hasCovers |= !value.covers.empty();
  }
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

} // namespace cp
