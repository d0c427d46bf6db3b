//===- MatmulPlan.cpp - How a matrix product is cut -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatmulPlan.h"

#include "CeilDiv.h"
#include "Team.h"

#include <algorithm>
#include <unistd.h>

namespace cp::kernels {

/// What the system says, or 1 MiB; within reason, whatever it says.
static int64_t secondCacheBytes() {
  int64_t bytes = 0;
#if defined(_SC_LEVEL2_CACHE_SIZE)
  bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
  constexpr int64_t usual = int64_t(1) << 20;
  return bytes <= 0 ? usual : std::clamp(bytes, usual / 4, usual * 4);
}

/// Of a block of A. Ranks of one process share the third cache, and processes
/// the machine: a block is no larger than it takes for packing W not to be
/// felt.
static constexpr int64_t mostBlockBytes = int64_t(8) << 20, mostRows = 1024;
/// Of the blocks of all threads, where each has its own.
static constexpr int64_t mostOwnBytes = int64_t(16) << 20;
static constexpr int64_t mostDepth = 1024;
/// Of a panel of W, and of the sums of the rows beside it: the second cache
/// holds both.
static int64_t mostPanelBytes() {
  static const int64_t bytes = secondCacheBytes() * 3 / 8;
  return bytes;
}
static constexpr int64_t mostSumBytes = int64_t(1) << 19, mostSumRows = 768;

/// The largest even part of `whole` of at most `most`, in steps.
static int64_t evenPart(int64_t whole, int64_t most, int64_t step) {
  int64_t parts = std::max<int64_t>(ceilDiv(whole, std::max(most, step)), 1);
  return std::max<int64_t>(ceilDiv(ceilDiv(whole, parts), step), 1) * step;
}

MatmulPlan::MatmulPlan(const MatmulShape &shape) {
  depth = evenPart(shape.k, mostDepth, 1);
  blockDepth = shape.sumsAside ? shape.k : depth;
  int64_t rowBytes = std::max<int64_t>(blockDepth * shape.bytes, 1);
  rows = evenPart(shape.m,
                  std::min(shape.sumsAside ? mostSumRows : mostRows,
                           mostBlockBytes / rowBytes),
                  shape.group);
  int64_t threads = numThreads();
  hasOwnBlocks = ceilDiv(shape.m, rows) % threads == 0 &&
                 threads * rows * rowBytes <= mostOwnBytes;
  int64_t most = mostPanelBytes() / (depth * shape.bytes);
  if (shape.sumsAside)
    most =
        std::min<int64_t>(most, mostSumBytes / (rows * int64_t(sizeof(float))));
  columns = std::max<int64_t>(most / shape.columns, 1) * shape.columns;
}

} // namespace cp::kernels
