//===- ScanGather.cpp - A scan that every rank folds on its own -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScanAlgorithms.h"

using namespace cp::runtime;

int64_t cp::runtime::bytesOfGather(const Scan &scan) {
  return scan.sequence.numParts() * scan.shape.bytes();
}

static Error takeAll(const Scan &scan, char *summaries) {
  const SummaryShape &shape = scan.shape;
  Exchange exchange(scan.context, scan.call, scan.group);
  if (Error failure = exchange.enter())
    return failure;
  for (int64_t part = 0; part < scan.sequence.numParts(); ++part) {
    auto [peer, slot] = scan.sequence.seatOf(part);
    pack(summaries + part * shape.bytes(), exchange.call(peer), shape, slot);
    exchange.took(peer, shape.bytes());
  }
  return std::nullopt;
}

Error cp::runtime::scanByGather(const Scan &scan, char *memory) {
  const SummaryShape &shape = scan.shape;
  if (Error failure = takeAll(scan, memory))
    return failure;
  // A rank's parts ascend, so the fold for one goes on for the next.
  int64_t numFolded = 1;
  auto foldUpTo = [&](int64_t part) {
    for (; numFolded < part; ++numFolded)
      combine(memory, memory, memory + numFolded * shape.bytes(), shape,
              shape.all());
  };
  for (int64_t slot = 0; slot < shape.perRank; ++slot) {
    int64_t part = scan.partIn(slot);
    foldUpTo(part);
    if (part == 0)
      writeIdentity(scan.call, shape, slot);
    else
      unpack(memory, scan.call, shape, slot);
  }
  if (scan.hasTotal) {
    foldUpTo(scan.sequence.numParts());
    unpackTotal(memory, scan.call, shape);
  }
  return std::nullopt;
}
