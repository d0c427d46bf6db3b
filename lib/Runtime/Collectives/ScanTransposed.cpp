//===- ScanTransposed.cpp - A scan in which each rank folds a slice -------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two exchanges of everybody with everybody. First each rank takes its slice of
// the flattened states of all parts, and all their decays, which are few. It
// folds the slice from left to right, and so holds it of every part's prefix.
// Then each rank takes the slices of the prefixes of its own parts. The decays
// of its prefixes it multiplies itself.
//
// Memory, one piece:  the summaries of this rank's parts, which become their
// prefixes;  N + 1 slices for N parts: zeros, then the slices as they are
// taken, which become inclusive prefixes, so that number n is the exclusive
// prefix of part n;  N times the decays.
//
//===----------------------------------------------------------------------===//

#include "ScanAlgorithms.h"

#include <cstring>

using namespace cp::runtime;

namespace {

/// Where everything is; the same on all ranks but for the slice's length.
struct Staging {
  explicit Staging(const Scan &scan)
      : shape(scan.shape), size(scan.group.size),
        numParts(scan.sequence.numParts()) {}

  Range range(int64_t owner) const { return shape.slice(size, owner); }
  int64_t sliceBytes(int64_t owner) const {
    return range(owner).length() * shape.elementBytes();
  }
  int64_t summary(int64_t slot) const { return slot * shape.bytes(); }
  /// Bytes from the start of a summary to a slice.
  int64_t inSummary(int64_t owner) const {
    return range(owner).begin * shape.elementBytes();
  }
  /// Bytes from the start of the owner's memory to a prefix of its slice.
  int64_t prefix(int64_t owner, int64_t part) const {
    return summary(shape.perRank) + part * sliceBytes(owner);
  }
  int64_t decays(int64_t owner, int64_t part) const {
    return prefix(owner, numParts + 1) + part * shape.decayBytes;
  }

  const SummaryShape &shape;
  int64_t size, numParts;
};

} // namespace

int64_t cp::runtime::bytesOfTransposed(const Scan &scan) {
  Staging at(scan);
  return at.decays(scan.group.position, at.numParts);
}

static void copyBytes(char *dst, const char *src, int64_t bytes) {
  std::memcpy(dst, src, size_t(bytes));
}

static void takeSlices(const Scan &scan, const Exchange &exchange,
                       char *memory) {
  Staging at(scan);
  int64_t own = scan.group.position, bytes = at.sliceBytes(own);
  for (int64_t part = 0; part < at.numParts; ++part) {
    auto [peer, slot] = scan.sequence.seatOf(part);
    const char *summary = exchange.summary(peer) + at.summary(slot);
    copyBytes(memory + at.prefix(own, part + 1), summary + at.inSummary(own),
              bytes);
    copyBytes(memory + at.decays(own, part), summary + scan.shape.stateBytes,
              scan.shape.decayBytes);
    exchange.took(peer, bytes + scan.shape.decayBytes);
  }
}

static void foldSlices(const Scan &scan, char *memory) {
  Staging at(scan);
  int64_t own = scan.group.position;
  std::memset(memory + at.prefix(own, 0), 0, size_t(at.sliceBytes(own)));
  int64_t numTaken = scan.hasTotal ? at.numParts : at.numParts - 1;
  for (int64_t part = 1; part < numTaken; ++part) {
    char *slice = memory + at.prefix(own, part + 1);
    combineStates(slice, memory + at.prefix(own, part), slice,
                  memory + at.decays(own, part), scan.shape, at.range(own));
  }
}

/// Takes the slices that `owner` has folded. Their place in this rank's
/// summaries is free: only the owner read it, and has.
static Error takePrefixes(const Scan &scan, const Exchange &exchange,
                          int64_t owner, char *memory) {
  if (Error failure = exchange.await(owner, 1))
    return failure;
  Staging at(scan);
  int64_t bytes = at.sliceBytes(owner);
  for (int64_t slot = 0; slot < scan.shape.perRank; ++slot) {
    copyBytes(memory + at.summary(slot) + at.inSummary(owner),
              exchange.summary(owner) + at.prefix(owner, scan.partIn(slot)),
              bytes);
    exchange.took(owner, bytes);
  }
  return std::nullopt;
}

/// The product of the decays of the first `count` parts, of which there is one,
/// from left to right; in the summary in `slot`.
static void multiplyFirst(const Scan &scan, int64_t count, int64_t slot,
                          char *memory) {
  Staging at(scan);
  const SummaryShape &shape = scan.shape;
  int64_t own = scan.group.position;
  char *product = memory + at.summary(slot) + shape.stateBytes;
  copyBytes(product, memory + at.decays(own, 0), shape.decayBytes);
  for (int64_t part = 1; part < count; ++part)
    multiplyDecays(product, product, memory + at.decays(own, part), shape.dtype,
                   shape.decays);
}

static void writePrefix(const Scan &scan, int64_t slot, char *memory) {
  if (scan.partIn(slot) == 0)
    return writeIdentity(scan.call, scan.shape, slot);
  multiplyFirst(scan, scan.partIn(slot), slot, memory);
  unpack(memory + Staging(scan).summary(slot), scan.call, scan.shape, slot);
}

/// From the slices behind the last part, which all owners have folded; once the
/// summary in slot 0 is written out.
static void writeTotal(const Scan &scan, const Exchange &exchange,
                       char *memory) {
  Staging at(scan);
  for (int64_t owner = 0; owner < scan.group.size; ++owner) {
    int64_t bytes = at.sliceBytes(owner);
    copyBytes(memory + at.summary(0) + at.inSummary(owner),
              exchange.summary(owner) + at.prefix(owner, at.numParts), bytes);
    exchange.took(owner, bytes);
  }
  multiplyFirst(scan, at.numParts, 0, memory);
  unpackTotal(memory + at.summary(0), scan.call, scan.shape);
}

Error cp::runtime::scanTransposed(const Scan &scan, char *memory) {
  int64_t numSlots = scan.shape.perRank;
  for (int64_t slot = 0; slot < numSlots; ++slot)
    pack(memory + Staging(scan).summary(slot), scan.call, scan.shape, slot);
  Exchange exchange(scan.context, scan.call, scan.group);
  exchange.setSummary(memory);
  if (Error failure = exchange.enter())
    return failure;
  takeSlices(scan, exchange, memory);
  foldSlices(scan, memory);
  exchange.publish(1);
  for (int64_t owner = 0; owner < scan.group.size; ++owner)
    if (Error failure = takePrefixes(scan, exchange, owner, memory))
      return failure;
  for (int64_t slot = 0; slot < numSlots; ++slot)
    writePrefix(scan, slot, memory);
  if (scan.hasTotal)
    writeTotal(scan, exchange, memory);
  return std::nullopt;
}
