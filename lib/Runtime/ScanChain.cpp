//===- ScanChain.cpp - A scan from rank to rank, whole or in blocks -------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScanAlgorithms.h"

#include <algorithm>
#include <cmath>

using namespace cp::runtime;

/// About what a rank combines in the time that a handover costs.
static constexpr double handoverBytes = 16 << 10;

static Result passOn(const Scan &scan, int64_t numBlocks, char *inclusive) {
  const SummaryShape &shape = scan.shape;
  int64_t position = scan.group.position;
  bool isLast = position + 1 == scan.group.size;
  pack(inclusive, scan.call, shape);
  Exchange exchange(scan.context, scan.call, scan.group);
  exchange.setSummary(inclusive);
  if (Result failure = exchange.enter())
    return failure;
  if (position == 0) {
    exchange.publish(uint64_t(numBlocks));
    writeIdentity(scan.call);
    return std::nullopt;
  }
  const char *prefix = exchange.summary(position - 1);
  for (int64_t block = 0; block < numBlocks; ++block) {
    if (Result failure = exchange.await(position - 1, uint64_t(block + 1)))
      return failure;
    if (isLast)
      continue;
    combine(inclusive, prefix, inclusive, shape,
            partOf(shape.size(), numBlocks, block));
    exchange.publish(uint64_t(block + 1));
  }
  unpack(prefix, scan.call, shape);
  exchange.took(position - 1, shape.bytes());
  return std::nullopt;
}

Result cp::runtime::scanByChain(const Scan &scan, char *memory) {
  return passOn(scan, 1, memory);
}

/// A step costs handoverBytes + bytes / K, and there are K + R - 2 of them:
/// least where both halves of the sum cost the same.
static int64_t blocksFor(const Scan &scan) {
  double hops = double(std::max<int64_t>(scan.group.size - 2, 0));
  double best = std::sqrt(hops * double(scan.shape.bytes()) / handoverBytes);
  return std::clamp<int64_t>(int64_t(best), 1,
                             std::max<int64_t>(scan.shape.size(), 1));
}

Result cp::runtime::scanByPipeline(const Scan &scan, char *memory) {
  return passOn(scan, blocksFor(scan), memory);
}
