//===- CPMixer.cpp - A whole Mamba-2 mixer ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"

using namespace mlir;

namespace cp {

SmallVector<int64_t, 5> MambaMixerOp::getSectionSizes() {
  int64_t shared = getNumGroups() * getStateSize();
  return {getInnerSize(), getInnerSize(), shared, shared,
          static_cast<int64_t>(getNumHeads())};
}

static LogicalResult verifyMixerSizes(MambaMixerOp op) {
  std::pair<StringRef, int64_t> sizes[] = {
      {"num_heads", op.getNumHeads()},   {"head_dim", op.getHeadDim()},
      {"num_groups", op.getNumGroups()}, {"state_size", op.getStateSize()},
      {"chunk_size", op.getChunkSize()}, {"norm_groups", op.getNormGroups()}};
  constexpr int64_t most = int64_t(1) << 24;
  for (auto [name, size] : sizes)
    if (size < 1 || size > most)
      return op.emitOpError("mixer_c2: ") << name << " must be between 1 and "
                                          << most << ", but is " << size;
  if (failed(expectDivides(op, "mixer_c2", "num_groups", op.getNumGroups(),
                           "num_heads", op.getNumHeads())))
    return failure();
  return expectDivides(op, "mixer_c2", "norm_groups", op.getNormGroups(),
                       "num_heads * head_dim", op.getInnerSize());
}

LogicalResult MambaMixerOp::verify() {
  if (failed(expectType(*this, "mixer_c1", "the result", getResult(),
                        getU().getType())) ||
      failed(verifyMixerSizes(*this)))
    return failure();
  int64_t width = shapeOf(getU())[2], inner = getInnerSize();
  SmallVector<int64_t, 5> sections = getSectionSizes();
  int64_t rows = 0;
  for (int64_t size : sections)
    rows += size;
  int64_t channels = inner + 2 * sections[2];
  int64_t window = shapeOf(getConvWeight())[1];
  if (!ShapedType::isDynamic(window) &&
      failed(expectAtLeast(*this, "mixer_c3", "the window", window, 1)))
    return failure();
  std::tuple<StringRef, Value, SmallVector<int64_t>> shapes[] = {
      {"in_proj", getInProj(), {rows, width}},
      {"in_proj bias", getInProjBias(), {rows}},
      {"conv weight", getConvWeight(), {channels, window}},
      {"conv bias", getConvBias(), {channels}},
      {"dt_bias", getDtBias(), {sections[4]}},
      {"A_log", getALog(), {sections[4]}},
      {"norm", getNormWeight(), {inner}},
      {"out_proj", getOutProj(), {width, inner}},
      {"out_proj bias", getOutProjBias(), {width}}};
  if (failed(expectDocuments(*this, "mixer_c6", getDocuments(),
                             shapeOf(getU())[0])))
    return failure();
  for (auto &[what, value, shape] : shapes)
    if (failed(expectShape(*this, "mixer_c3", what, value, shape)))
      return failure();
  if (failed(
          expectSkip(*this, "mixer_c3", getD(), getNumHeads(), getHeadDim())) ||
      failed(expectStepLimits(*this, "mixer_c5", getDtMin(), getDtMax())))
    return failure();
  return expectOneElementType(*this, "mixer_c4");
}

} // namespace cp
