//===- MatmulBlocks.cpp - How a matrix product is shared out --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatmulBlocks.h"

#include "Team.h"

#include <algorithm>

namespace cp::kernels {

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

MatmulBlocks::MatmulBlocks(int64_t m, int64_t n, int64_t mostRows,
                           int64_t mostColumns, int64_t columnStep)
    : m(m), n(n), height(mostRows), down(ceilDiv(m, mostRows)) {
  int64_t threads = numThreads();
  across = std::max<int64_t>(ceilDiv(n, std::max<int64_t>(mostColumns, 1)), 1);
  // Half a dozen blocks a thread need no evening out.
  if (down * across < 6 * threads)
    while (down * across % threads)
      ++across;
  width = std::max<int64_t>(ceilDiv(ceilDiv(n, across), columnStep), 1) *
          columnStep;
  across = ceilDiv(n, width);
}

MatmulBlock MatmulBlocks::operator[](int64_t i) const {
  int64_t row = i % down * height, column = i / down * width;
  return {row, std::min(height, m - row), column, std::min(width, n - column)};
}

} // namespace cp::kernels
