//===- Rows.cpp - Where the rows of a tensor start ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

namespace cp::kernels {

int64_t numRows(const Buffer &buffer) {
  int64_t count = 1;
  for (int32_t i = 0; i + 1 < buffer.rank; ++i)
    count *= buffer.sizes[i];
  return count;
}

/// The offset of each index of the first `rank` dimensions, of which there are
/// `count`.
static const int64_t *offsetsOf(const Buffer &buffer, int32_t rank,
                                int64_t count, Slot slot) {
  auto *offsets = static_cast<int64_t *>(
      scratch(slot, static_cast<size_t>(count) * sizeof(int64_t)));
  if (!offsets || count == 0)
    return offsets;
  offsets[0] = 0;
  int64_t known = 1;
  // The offsets of the inner dimensions are known; repeat them, from the back
  // so that none is overwritten before its last use.
  for (int32_t dim = rank - 1; dim >= 0; --dim) {
    for (int64_t i = buffer.sizes[dim] - 1; i >= 0; --i)
      for (int64_t r = 0; r < known; ++r)
        offsets[i * known + r] = offsets[r] + i * buffer.strides[dim];
    known *= buffer.sizes[dim];
  }
  return offsets;
}

const int64_t *rowOffsets(const Buffer &buffer, Slot slot) {
  return offsetsOf(buffer, buffer.rank - 1, numRows(buffer), slot);
}

const int64_t *elementOffsets(const Buffer &buffer, Slot slot) {
  int64_t last = buffer.rank > 0 ? buffer.sizes[buffer.rank - 1] : 1;
  return offsetsOf(buffer, buffer.rank, numRows(buffer) * last, slot);
}

} // namespace cp::kernels
