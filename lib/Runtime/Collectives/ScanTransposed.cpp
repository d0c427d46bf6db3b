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
  /// In the memory of any rank: the owner's slice of one of its summaries, and
  /// its decays; in the owner's, what it has folded before a part.
  Piece slice(int64_t slot, int64_t owner) const {
    return {summary(slot) + inSummary(owner), sliceBytes(owner)};
  }
  Piece ownDecays(int64_t slot) const {
    return {summary(slot) + shape.stateBytes, shape.decayBytes};
  }
  Piece folded(int64_t owner, int64_t part) const {
    return {prefix(owner, part), sliceBytes(owner)};
  }
  /// The whole total, of a scan that has one.
  int64_t total(int64_t owner) const { return decays(owner, numParts); }

  const SummaryShape &shape;
  int64_t size, numParts;
};

} // namespace

int64_t cp::runtime::bytesOfTransposed(const Scan &scan) {
  return Staging(scan).total(scan.group.position) +
         (scan.hasTotal ? scan.shape.bytes() : 0);
}

/// To each owner its slices of this rank's parts, and their decays.
static void offerSlices(const Scan &scan, Exchange &exchange) {
  Staging at(scan);
  for (int64_t owner = 0; owner < scan.group.size; ++owner)
    for (int64_t slot = 0; slot < scan.shape.perRank; ++slot) {
      exchange.offer(owner, at.slice(slot, owner));
      exchange.offer(owner, at.ownDecays(slot));
    }
}

namespace {
/// A piece that this rank takes, and to where.
struct Taking {
  int64_t from;
  Piece piece;
  char *to;
};
} // namespace

/// Takes them in their order, once their owners have published `progress`.
static Error takeAll(const Exchange &exchange, const List<Taking> &takings,
                     uint64_t progress) {
  for (const Taking &each : takings)
    if (Error failure = exchange.expect(each.from, each.piece, each.to))
      return failure;
  for (const Taking &each : takings)
    if (Error failure =
            exchange.fetch(each.from, progress, each.piece, each.to))
      return failure;
  return std::nullopt;
}

static Error takeSlices(const Scan &scan, const Exchange &exchange,
                        char *memory) {
  Staging at(scan);
  int64_t own = scan.group.position;
  List<Taking> takings;
  for (int64_t part = 0; part < at.numParts; ++part) {
    auto [peer, slot] = scan.sequence.seatOf(part);
    takings.push_back(
        {peer, at.slice(slot, own), memory + at.prefix(own, part + 1)});
    takings.push_back(
        {peer, at.ownDecays(slot), memory + at.decays(own, part)});
  }
  return takeAll(exchange, takings, 0);
}

static Error foldSlices(const Scan &scan, char *memory) {
  Staging at(scan);
  int64_t own = scan.group.position;
  if (Error failure = clearStates(scan.call, memory + at.prefix(own, 0),
                                  scan.shape, at.range(own).length()))
    return failure;
  int64_t numTaken = scan.hasTotal ? at.numParts : at.numParts - 1;
  for (int64_t part = 1; part < numTaken; ++part) {
    char *slice = memory + at.prefix(own, part + 1);
    if (Error failure = combineStates(
            scan.call, slice, memory + at.prefix(own, part), slice,
            memory + at.decays(own, part), scan.shape, at.range(own)))
      return failure;
  }
  return std::nullopt;
}

/// To each rank the slices that this one has folded for its parts, and for the
/// total.
static void offerPrefixes(const Scan &scan, Exchange &exchange) {
  Staging at(scan);
  int64_t own = scan.group.position;
  for (int64_t peer = 0; peer < scan.group.size; ++peer) {
    for (int64_t slot = 0; slot < scan.shape.perRank; ++slot)
      exchange.offer(peer, at.folded(own, scan.sequence.partAt({peer, slot})));
    if (scan.hasTotal)
      exchange.offer(peer, at.folded(own, at.numParts));
  }
}

/// Takes the slices that the owners have folded. Their place in this rank's
/// summaries is free: only the owner read it, and has.
static Error takePrefixes(const Scan &scan, const Exchange &exchange,
                          char *memory) {
  Staging at(scan);
  int64_t own = scan.group.position;
  List<Taking> takings;
  for (int64_t owner = 0; owner < scan.group.size; ++owner) {
    for (int64_t slot = 0; slot < scan.shape.perRank; ++slot)
      takings.push_back({owner, at.folded(owner, scan.partIn(slot)),
                         memory + at.slice(slot, owner).offset});
    if (scan.hasTotal)
      takings.push_back({owner, at.folded(owner, at.numParts),
                         memory + at.total(own) + at.inSummary(owner)});
  }
  return takeAll(exchange, takings, 1);
}

/// The product of the decays of the first `count` parts, of which there is one,
/// from left to right; in a summary.
static Error multiplyFirst(const Scan &scan, int64_t count, char *summary,
                           const char *memory) {
  Staging at(scan);
  const SummaryShape &shape = scan.shape;
  int64_t own = scan.group.position;
  char *product = summary + shape.stateBytes;
  if (Error failure = copyBytes(shape.queue, scan.call, product,
                                memory + at.decays(own, 0), shape.decayBytes))
    return failure;
  for (int64_t part = 1; part < count; ++part)
    if (Error failure =
            multiplyDecays(scan.call, product, product,
                           memory + at.decays(own, part), shape, shape.decays))
      return failure;
  return std::nullopt;
}

static Error writePrefix(const Scan &scan, int64_t slot, char *memory) {
  if (scan.partIn(slot) == 0)
    return writeIdentity(scan.call, scan.shape, slot);
  char *summary = memory + Staging(scan).summary(slot);
  if (Error failure = multiplyFirst(scan, scan.partIn(slot), summary, memory))
    return failure;
  return unpack(summary, scan.call, scan.shape, slot);
}

/// From the slices behind the last part.
static Error writeTotal(const Scan &scan, char *memory) {
  Staging at(scan);
  char *total = memory + at.total(scan.group.position);
  if (Error failure = multiplyFirst(scan, at.numParts, total, memory))
    return failure;
  return unpackTotal(total, scan.call, scan.shape);
}

static Error transpose(const Scan &scan, Exchange &exchange, char *memory) {
  offerSlices(scan, exchange);
  if (Error failure = takeSlices(scan, exchange, memory))
    return failure;
  if (Error failure = foldSlices(scan, memory))
    return failure;
  // The slices that were offered make way for those that come back.
  if (Error failure = exchange.reclaim())
    return failure;
  offerPrefixes(scan, exchange);
  if (Error failure = exchange.publish(1))
    return failure;
  return takePrefixes(scan, exchange, memory);
}

Error cp::runtime::scanTransposed(const Scan &scan, char *memory) {
  int64_t numSlots = scan.shape.perRank;
  for (int64_t slot = 0; slot < numSlots; ++slot)
    if (Error failure = pack(memory + Staging(scan).summary(slot), scan.call,
                             scan.shape, slot))
      return failure;
  Exchange exchange(scan.context, scan.call, scan.group, memory);
  if (Error failure = exchange.enter())
    return failure;
  if (Error failure = exchange.told(transpose(scan, exchange, memory)))
    return failure;
  for (int64_t slot = 0; slot < numSlots; ++slot)
    if (Error failure = exchange.told(writePrefix(scan, slot, memory)))
      return failure;
  return scan.hasTotal ? exchange.told(writeTotal(scan, memory)) : std::nullopt;
}
