//===- Rows.h - Where the rows of a tensor start ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_ROWS_H
#define CP_KERNELS_CPU_ROWS_H

#include "OpArguments.h"
#include "Scratch.h"

namespace cp::kernels {

/// The product of all sizes but the last.
int64_t numRows(const Buffer &buffer);

/// The offset (in elements) of each row, in row-major order of the leading
/// dimensions. Any strides. Lives in `slot`; null when there is no memory.
const int64_t *rowOffsets(const Buffer &buffer, Slot slot);
/// The same for each element.
const int64_t *elementOffsets(const Buffer &buffer, Slot slot);

/// A tensor as its rows, whose offsets live in `slot` and may be null as above;
/// nothing of none.
template <typename T> RowTensor<T> rowTensor(const Buffer *buffer, Slot slot) {
  if (!buffer)
    return {};
  return {static_cast<T *>(buffer->data), rowOffsets(*buffer, slot),
          buffer->strides[buffer->rank - 1]};
}

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_ROWS_H
