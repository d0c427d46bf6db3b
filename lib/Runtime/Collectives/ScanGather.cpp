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

/// Puts the summaries of all parts in a row.
static Error takeAll(const Scan &scan, char *summaries) {
  int64_t bytes = scan.shape.bytes();
  auto piece = [&](int64_t part) { return Piece{part * bytes, bytes}; };
  for (int64_t slot = 0; slot < scan.shape.perRank; ++slot)
    if (Error failure = pack(summaries + piece(scan.partIn(slot)).offset,
                             scan.call, scan.shape, slot))
      return failure;
  Exchange exchange(scan.context, scan.call, scan.group, summaries);
  if (Error failure = exchange.enter())
    return failure;
  for (int64_t peer = 0; peer < scan.group.size; ++peer)
    for (int64_t slot = 0; slot < scan.shape.perRank; ++slot)
      exchange.offer(peer, piece(scan.partIn(slot)));
  int64_t numParts = scan.sequence.numParts();
  auto peerOf = [&](int64_t part) {
    return scan.sequence.seatOf(part).position;
  };
  for (int64_t part = 0; part < numParts; ++part)
    if (Error failure = exchange.expect(peerOf(part), piece(part),
                                        summaries + piece(part).offset))
      return failure;
  for (int64_t part = 0; part < numParts; ++part)
    if (Error failure = exchange.told(exchange.fetch(
            peerOf(part), 0, piece(part), summaries + piece(part).offset)))
      return failure;
  return std::nullopt;
}

Error cp::runtime::scanByGather(const Scan &scan, char *memory) {
  const SummaryShape &shape = scan.shape;
  if (Error failure = takeAll(scan, memory))
    return failure;
  // A rank's parts ascend, so the fold for one goes on for the next.
  int64_t numFolded = 1;
  auto foldUpTo = [&](int64_t part) -> Error {
    for (; numFolded < part; ++numFolded)
      if (Error failure =
              combine(scan.call, memory, memory,
                      memory + numFolded * shape.bytes(), shape, shape.all()))
        return failure;
    return std::nullopt;
  };
  for (int64_t slot = 0; slot < shape.perRank; ++slot) {
    int64_t part = scan.partIn(slot);
    if (Error failure = foldUpTo(part))
      return failure;
    if (Error failure = part == 0 ? writeIdentity(scan.call, shape, slot)
                                  : unpack(memory, scan.call, shape, slot))
      return failure;
  }
  if (!scan.hasTotal)
    return std::nullopt;
  if (Error failure = foldUpTo(scan.sequence.numParts()))
    return failure;
  return unpackTotal(memory, scan.call, shape);
}
