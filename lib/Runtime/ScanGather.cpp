//===- ScanGather.cpp - A scan that every rank folds on its own -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Copy.h"
#include "ScanAlgorithms.h"

using namespace cp::runtime;

int64_t cp::runtime::bytesOfGather(const Scan &scan) {
  return scan.group.size * scan.shape.bytes();
}

static Result takeAll(const Scan &scan, char *summaries) {
  const SummaryShape &shape = scan.shape;
  Exchange exchange(scan.context, scan.call, scan.group);
  if (Result failure = exchange.enter())
    return failure;
  for (int64_t peer = 0; peer < scan.group.size; ++peer) {
    char *summary = summaries + peer * shape.bytes();
    const Buffer &decay = exchange.input(peer, 0);
    const Buffer &state = exchange.input(peer, 1);
    copyWhole(Contiguous(state, summary).buffer(), state);
    copyWhole(Contiguous(decay, summary + shape.stateBytes).buffer(), decay);
    exchange.took(peer, shape.bytes());
  }
  return std::nullopt;
}

Result cp::runtime::scanByGather(const Scan &scan, char *memory) {
  const SummaryShape &shape = scan.shape;
  if (Result failure = takeAll(scan, memory))
    return failure;
  for (int64_t peer = 1; peer < scan.group.position; ++peer)
    combine(memory, memory, memory + peer * shape.bytes(), shape,
            {0, shape.size()});
  if (scan.group.position == 0)
    writeIdentity(scan.call);
  else
    unpack(memory, scan.call, shape);
  return std::nullopt;
}
