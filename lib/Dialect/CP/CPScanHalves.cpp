//===- CPScanHalves.cpp - The halves of a scan ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {

static int64_t chunkCount(int64_t length, int64_t chunkSize) {
  return ShapedType::isDynamic(length)
             ? length
             : static_cast<int64_t>(llvm::divideCeil(length, chunkSize));
}

LogicalResult SsdStatesOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), b = shapeOf(getB());
  int64_t batch = x[0], length = x[1], heads = x[2];
  if (failed(expectAtLeast(*this, "ssd_states_c2", "chunk_size", getChunkSize(),
                           1)) ||
      failed(expectStepLimits(*this, "ssd_states_c2", getDtMin(), getDtMax())))
    return failure();
  int64_t chunks = chunkCount(length, getChunkSize());
  StringRef c1 = "ssd_states_c1", c2 = "ssd_states_c2";
  if (failed(expectShape(*this, c1, "dt", getDt(), {batch, length, heads})) ||
      failed(expectShape(*this, c1, "A_log", getALog(), {heads})) ||
      failed(expectShape(*this, c1, "dt_bias", getDtBias(), {heads})) ||
      failed(
          expectShape(*this, c1, "B", getB(), {batch, length, b[2], b[3]})) ||
      failed(expectGroups(*this, c1, b[2], heads)) ||
      failed(expectShape(*this, c2, "decay", getDecay(), {batch, heads})) ||
      failed(expectShape(*this, c2, "state", getState(),
                         {batch, heads, x[3], b[3]})) ||
      failed(expectShape(*this, c2, "chunk states", getChunkStates(),
                         {batch, chunks, heads, x[3], b[3]})))
    return failure();
  return expectShape(*this, c2, "delta", getDelta(), {batch, length, heads});
}

void SsdStatesOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getDecay(), "decay");
  setName(getState(), "state");
  setName(getChunkStates(), "chunk_states");
  setName(getDelta(), "delta");
}

LogicalResult SsdScanOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), b = shapeOf(getB());
  int64_t batch = x[0], length = x[1], heads = x[2];
  SmallVector<int64_t> state = {batch, heads, x[3], b[3]};
  StringRef c1 = "ssd_scan_c1", c2 = "ssd_scan_c2";
  if (failed(expectAtLeast(*this, c2, "chunk_size", getChunkSize(), 1)))
    return failure();
  int64_t chunks = chunkCount(length, getChunkSize());
  if (failed(expectType(*this, c1, "y", getY(), getX().getType())) ||
      failed(expectShape(*this, c1, "A_log", getALog(), {heads})) ||
      failed(
          expectShape(*this, c1, "B", getB(), {batch, length, b[2], b[3]})) ||
      failed(expectType(*this, c1, "C", getC(), getB().getType())) ||
      failed(expectGroups(*this, c1, b[2], heads)) ||
      failed(expectSkip(*this, c1, getD(), heads, x[3])) ||
      failed(expectShape(*this, c2, "chunk states", getChunkStates(),
                         {batch, chunks, heads, x[3], b[3]})) ||
      failed(expectShape(*this, c2, "delta", getDelta(),
                         {batch, length, heads})) ||
      failed(expectShape(*this, c2, "the prefix decay", getPrefixDecay(),
                         {batch, heads})) ||
      failed(expectShape(*this, c2, "the prefix state", getPrefixState(),
                         state)) ||
      failed(expectShape(*this, c2, "the initial state", getInitial(), state)))
    return failure();
  return expectShape(*this, c2, "the final state", getFinalState(), state);
}

void SsdScanOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getY(), "y");
  setName(getFinalState(), "final_state");
}

} // namespace cp
