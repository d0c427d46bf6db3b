//===- MatmulBlocks.h - How a matrix product is shared out ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_MATMULBLOCKS_H
#define CP_KERNELS_CPU_MATMULBLOCKS_H

#include <cstdint>

namespace cp::kernels {

/// Rows [row, row + rows) and columns [column, column + columns) of a result.
struct MatmulBlock {
  int64_t row, rows, column, columns;
};

/// A result [m, n] in blocks of `mostRows` rows and `mostColumns` columns at
/// most; `width`, the columns of a block but the last, is a multiple of
/// `columnStep`. Where these are few they are made narrower, until each of the
/// caller's threads has as many as the next one.
struct MatmulBlocks {
  MatmulBlocks(int64_t m, int64_t n, int64_t mostRows, int64_t mostColumns,
               int64_t columnStep);
  int64_t count() const { return down * across; }
  /// Column by column: threads then read the same part of one operand.
  MatmulBlock operator[](int64_t i) const;

  int64_t m, n, height, width, down, across;
};

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_MATMULBLOCKS_H
