//===- ScanDoubling.cpp - A scan in a logarithmic number of steps ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After step k a rank holds the fold of the 2^(k+1) ranks that end with it, or
// of all up to it: then it is done. Each step has memory of its own, as ranks
// further on may still read the one before.
//
//===----------------------------------------------------------------------===//

#include "ScanAlgorithms.h"

#include <algorithm>

using namespace cp::runtime;

/// In how many steps the rank at `position` takes something in.
static int64_t stepsOf(int64_t position) {
  int64_t steps = 0;
  for (; position > 0; position /= 2)
    ++steps;
  return steps;
}

int64_t cp::runtime::bytesOfDoubling(const Scan &scan) {
  return (stepsOf(scan.group.position) + 1) * scan.shape.bytes();
}

namespace {

/// The rank at `position`, and what it holds before a step.
struct Held {
  int64_t position, step;
};

} // namespace

/// Waits for what a peer holds; it stays until the peer has left.
static Result take(const Scan &scan, const Exchange &exchange, Held held,
                   const char *&summary) {
  int64_t step = std::min(held.step, stepsOf(held.position));
  if (Result failure = exchange.await(held.position, uint64_t(step)))
    return failure;
  summary = exchange.summary(held.position) + step * scan.shape.bytes();
  exchange.took(held.position, scan.shape.bytes());
  return std::nullopt;
}

Result cp::runtime::scanByDoubling(const Scan &scan, char *memory) {
  const SummaryShape &shape = scan.shape;
  int64_t position = scan.group.position, numSteps = stepsOf(position);
  pack(memory, scan.call, shape);
  Exchange exchange(scan.context, scan.call, scan.group);
  exchange.setSummary(memory);
  if (Result failure = exchange.enter())
    return failure;
  const char *earlier = nullptr;
  for (int64_t step = 0; step < numSteps; ++step) {
    Held peer = {position - (int64_t(1) << step), step};
    if (Result failure = take(scan, exchange, peer, earlier))
      return failure;
    char *mine = memory + step * shape.bytes();
    combine(mine + shape.bytes(), earlier, mine, shape, {0, shape.size()});
    exchange.publish(uint64_t(step + 1));
  }
  if (position == 0) {
    writeIdentity(scan.call);
    return std::nullopt;
  }
  // From inclusive to exclusive prefixes: what the previous rank ends with.
  Held previous = {position - 1, numSteps};
  if (Result failure = take(scan, exchange, previous, earlier))
    return failure;
  unpack(earlier, scan.call, shape);
  return std::nullopt;
}
