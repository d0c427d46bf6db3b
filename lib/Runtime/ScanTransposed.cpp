//===- ScanTransposed.cpp - A scan in which each rank folds a slice -------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two exchanges of everybody with everybody. First each rank takes its slice of
// the flattened states of all ranks, and all their decays, which are few. It
// folds the slice from left to right, and so holds it of every rank's prefix.
// Then each rank takes the slices of its own prefix. The decays of its prefix
// it multiplies itself.
//
// Memory, one piece:  this rank's summary, which becomes its prefix;  R + 1
// slices: zeros, then the slices as they are taken, which become inclusive
// prefixes, so that number p is the exclusive prefix of position p;  R times
// the decays.
//
//===----------------------------------------------------------------------===//

#include "Copy.h"
#include "ScanAlgorithms.h"

#include <cstring>

using namespace cp::runtime;

namespace {

/// Where everything is; the same on all ranks but for the slice's length.
struct Places {
  explicit Places(const Scan &scan)
      : shape(scan.shape), size(scan.group.size) {}

  Range range(int64_t owner) const { return partOf(shape.states, size, owner); }
  int64_t sliceBytes(int64_t owner) const {
    return range(owner).length() * shape.elementBytes();
  }
  /// Bytes from the start of a summary to a slice.
  int64_t inSummary(int64_t owner) const {
    return range(owner).begin * shape.elementBytes();
  }
  /// Bytes from the start of the owner's memory to a prefix of its slice.
  int64_t prefix(int64_t owner, int64_t position) const {
    return shape.bytes() + position * sliceBytes(owner);
  }
  int64_t decays(int64_t owner, int64_t position) const {
    return prefix(owner, size + 1) + position * shape.decayBytes;
  }

  const SummaryShape &shape;
  int64_t size;
};

} // namespace

int64_t cp::runtime::bytesOfTransposed(const Scan &scan) {
  return Places(scan).decays(scan.group.position, scan.group.size);
}

static void copyBytes(char *dst, const char *src, int64_t bytes) {
  std::memcpy(dst, src, size_t(bytes));
}

static void takeSlices(const Scan &scan, const Exchange &exchange,
                       char *memory) {
  Places at(scan);
  int64_t own = scan.group.position, bytes = at.sliceBytes(own);
  for (int64_t peer = 0; peer < at.size; ++peer) {
    const char *summary = exchange.summary(peer);
    copyBytes(memory + at.prefix(own, peer + 1), summary + at.inSummary(own),
              bytes);
    copyBytes(memory + at.decays(own, peer), summary + scan.shape.stateBytes,
              scan.shape.decayBytes);
    exchange.took(peer, bytes + scan.shape.decayBytes);
  }
}

static void foldSlices(const Scan &scan, char *memory) {
  Places at(scan);
  int64_t own = scan.group.position;
  std::memset(memory + at.prefix(own, 0), 0, size_t(at.sliceBytes(own)));
  for (int64_t peer = 1; peer + 1 < at.size; ++peer) {
    char *slice = memory + at.prefix(own, peer + 1);
    combineStates(slice, memory + at.prefix(own, peer), slice,
                  memory + at.decays(own, peer), scan.shape, at.range(own));
  }
}

/// Takes the slice that `owner` has folded. Its place in this rank's summary is
/// free: only the owner read it, and has.
static Result takePrefix(const Scan &scan, const Exchange &exchange,
                         int64_t owner, char *memory) {
  if (Result failure = exchange.await(owner, 1))
    return failure;
  Places at(scan);
  int64_t bytes = at.sliceBytes(owner);
  copyBytes(memory + at.inSummary(owner),
            exchange.summary(owner) + at.prefix(owner, scan.group.position),
            bytes);
  exchange.took(owner, bytes);
  return std::nullopt;
}

/// The product of the decays before this rank, from left to right.
static void writeDecays(const Scan &scan, char *memory) {
  Places at(scan);
  const SummaryShape &shape = scan.shape;
  int64_t own = scan.group.position;
  char *product = memory + shape.stateBytes;
  copyBytes(product, memory + at.decays(own, 0), shape.decayBytes);
  for (int64_t peer = 1; peer < own; ++peer)
    multiplyDecays(product, product, memory + at.decays(own, peer), shape.dtype,
                   shape.decays);
}

Result cp::runtime::scanTransposed(const Scan &scan, char *memory) {
  pack(memory, scan.call, scan.shape);
  Exchange exchange(scan.context, scan.call, scan.group);
  exchange.setSummary(memory);
  if (Result failure = exchange.enter())
    return failure;
  takeSlices(scan, exchange, memory);
  foldSlices(scan, memory);
  exchange.publish(1);
  for (int64_t owner = 0; owner < scan.group.size; ++owner)
    if (Result failure = takePrefix(scan, exchange, owner, memory))
      return failure;
  if (scan.group.position == 0) {
    writeIdentity(scan.call);
    return std::nullopt;
  }
  writeDecays(scan, memory);
  unpack(memory, scan.call, scan.shape);
  return std::nullopt;
}
