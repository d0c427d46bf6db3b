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

namespace {
/// One rank's share of the chain. In zigzag order it goes through the ranks
/// forth and back, so a rank takes in blocks of its two parts in the steps in
/// which they come: block i of the second `delay` steps after that of the
/// first.
class Chain {
public:
  Chain(const Scan &scan, Exchange &exchange, int64_t numBlocks, char *memory)
      : scan(scan), exchange(exchange), numBlocks(numBlocks), memory(memory) {}

  Error run() {
    int64_t delay = delayOf(scan.group.position);
    bool hasTwo = scan.shape.perRank == 2;
    for (int64_t step = 0; step < numBlocks + (hasTwo ? delay : 0); ++step) {
      if (step < numBlocks)
        if (Error failure = pass(0, step))
          return failure;
      if (hasTwo && step >= delay)
        if (Error failure = pass(1, step - delay))
          return failure;
    }
    return scan.hasTotal ? takeTotal() : std::nullopt;
  }

private:
  using Seat = Sequence::Seat;

  /// The first rank has its own summary at once, and no need to wait.
  int64_t delayOf(int64_t position) const {
    int64_t between = 2 * (scan.group.size - 1 - position);
    bool isAlone = scan.shape.perRank == 1 || position == 0;
    return isAlone ? numBlocks : std::min(between, numBlocks);
  }
  /// How many blocks the rank has published when `block` of a part is ready.
  uint64_t readyAfter(Seat seat, int64_t block) const {
    int64_t delay = delayOf(seat.position);
    if (seat.slot == 0)
      return uint64_t(block + 1 + std::max<int64_t>(block - delay, 0));
    return uint64_t(std::min(block + delay + 1, numBlocks) + block + 1);
  }
  /// The summary in a slot, in the memory of the rank whose it is.
  Piece whole(int64_t slot) const {
    return {slot * scan.shape.bytes(), scan.shape.bytes()};
  }
  Piece piece(int64_t slot, int64_t block) const {
    Range range = scan.shape.block(numBlocks, block);
    return {whole(slot).offset + range.begin * scan.shape.elementBytes(),
            range.length() * scan.shape.elementBytes()};
  }
  char *own(int64_t slot) const { return memory + whole(slot).offset; }

  Error pass(int64_t slot, int64_t block);
  Error takeIn(int64_t slot, int64_t block);
  void handOn(int64_t slot, int64_t block);
  Error takeTotal();

  const Scan &scan;
  Exchange &exchange;
  int64_t numBlocks;
  char *memory;
  /// By slot: where the previous part's prefix is seen.
  const char *prefixes[2] = {};
};
} // namespace

/// Takes one block of the previous part's inclusive prefix, and hands on this
/// part's.
Error Chain::pass(int64_t slot, int64_t block) {
  if (scan.partIn(slot) > 0)
    return takeIn(slot, block);
  if (block > 0)
    return std::nullopt;
  for (int64_t each = 0; each < numBlocks; ++each)
    handOn(slot, each);
  if (Error failure = exchange.publish(uint64_t(numBlocks)))
    return failure;
  return writeIdentity(scan.call, scan.shape, slot);
}

Error Chain::takeIn(int64_t slot, int64_t block) {
  int64_t part = scan.partIn(slot);
  Seat previous = scan.sequence.seatOf(part - 1);
  const char *&prefix = prefixes[slot];
  if (block == 0)
    if (Error failure =
            exchange.window(previous.position, whole(previous.slot), prefix))
      return failure;
  Piece taken = piece(slot, block);
  if (Error failure = exchange.await(
          previous.position, readyAfter(previous, block),
          prefix + taken.offset - whole(slot).offset, taken.bytes))
    return failure;
  if (part < scan.lastPart() || scan.hasTotal) {
    if (Error failure = combine(scan.call, own(slot), prefix, own(slot),
                                scan.shape, scan.shape.block(numBlocks, block)))
      return failure;
    handOn(slot, block);
    if (Error failure =
            exchange.publish(readyAfter({scan.group.position, slot}, block)))
      return failure;
  }
  if (block + 1 == numBlocks)
    return unpack(prefix, scan.call, scan.shape, slot);
  return std::nullopt;
}

/// To the next part, or what the last one has in the end to everybody.
void Chain::handOn(int64_t slot, int64_t block) {
  int64_t part = scan.partIn(slot);
  if (part < scan.lastPart())
    exchange.offer(scan.sequence.seatOf(part + 1).position, piece(slot, block));
  else if (scan.hasTotal && block + 1 == numBlocks)
    for (int64_t peer = 0; peer < scan.group.size; ++peer)
      exchange.offer(peer, whole(slot));
}

/// The last part's inclusive prefix.
Error Chain::takeTotal() {
  Seat last = scan.sequence.seatOf(scan.lastPart());
  const char *total = nullptr;
  if (Error failure = exchange.window(last.position, whole(last.slot), total))
    return failure;
  if (Error failure =
          exchange.await(last.position, readyAfter(last, numBlocks - 1), total,
                         scan.shape.bytes()))
    return failure;
  return unpackTotal(total, scan.call, scan.shape);
}

static Error passOn(const Scan &scan, int64_t numBlocks, char *memory) {
  for (int64_t slot = 0; slot < scan.shape.perRank; ++slot)
    if (Error failure = pack(memory + slot * scan.shape.bytes(), scan.call,
                             scan.shape, slot))
      return failure;
  Exchange exchange(scan.context, scan.call, scan.group, memory);
  if (Error failure = exchange.enter())
    return failure;
  return exchange.told(Chain(scan, exchange, numBlocks, memory).run());
}

Error cp::runtime::scanByChain(const Scan &scan, char *memory) {
  return passOn(scan, 1, memory);
}

/// A step costs handoverBytes + bytes / K, and there are K - 1 more of them
/// than handovers: least where both halves of the sum cost the same.
static int64_t blocksFor(const Scan &scan) {
  int64_t handovers = scan.shape.perRank * (scan.group.size - 1);
  double hops = double(std::max<int64_t>(handovers - 1, 0));
  double best = std::sqrt(hops * double(scan.shape.bytes()) / handoverBytes);
  return std::clamp<int64_t>(int64_t(best), 1,
                             std::max<int64_t>(scan.shape.units(), 1));
}

Error cp::runtime::scanByPipeline(const Scan &scan, char *memory) {
  return passOn(scan, blocksFor(scan), memory);
}
