//===- ScanDoubling.cpp - A scan in a logarithmic number of steps ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After step k a rank holds, for each of its parts, the fold of the 2^(k+1)
// parts that end with it, or of all up to it: then it is done. Each step has
// memory of its own, as ranks further on may still read the one before.
//
//===----------------------------------------------------------------------===//

#include "ScanAlgorithms.h"

#include <algorithm>

using namespace cp::runtime;

/// In how many steps a part takes something in.
static int64_t stepsOf(int64_t part) {
  int64_t steps = 0;
  for (; part > 0; part /= 2)
    ++steps;
  return steps;
}

int64_t cp::runtime::bytesOfDoubling(const Scan &scan) {
  int64_t summaries = 0;
  for (int64_t slot = 0; slot < scan.shape.perRank; ++slot)
    summaries += stepsOf(scan.partIn(slot)) + 1;
  return summaries * scan.shape.bytes();
}

namespace {

/// A part, and what is held for it before a step.
struct Held {
  int64_t part, step;
};

class Doubling {
public:
  Doubling(const Scan &scan, Exchange &exchange, char *memory)
      : scan(scan), exchange(exchange), memory(memory) {}

  Error run();
  /// Bytes from the start of the owner's memory.
  int64_t offsetOf(Held held) const;
  Piece pieceOf(Held held) const {
    return {offsetOf(held), scan.shape.bytes()};
  }

private:
  /// Something that a peer holds, as this rank sees it.
  struct Sight {
    Held held;
    const char *summary;
  };

  Error expect(Held held, Sight &sight);
  Error await(const Sight &sight);
  void offerFor(int64_t step);
  void offerResults();
  Error fold(int64_t step);
  Error finish();
  uint64_t readyAfter(Held held) const;

  const Scan &scan;
  Exchange &exchange;
  char *memory;
};

} // namespace

int64_t Doubling::offsetOf(Held held) const {
  Sequence::Seat seat = scan.sequence.seatOf(held.part);
  int64_t before = seat.slot == 0 ? 0 : stepsOf(seat.position) + 1;
  return (before + held.step) * scan.shape.bytes();
}

/// What its owner has published by then: in each step one for its first part,
/// while that takes something in, and one for its second, which does so longer.
uint64_t Doubling::readyAfter(Held held) const {
  Sequence::Seat seat = scan.sequence.seatOf(held.part);
  if (held.step == 0)
    return 0;
  if (seat.slot == 1)
    return uint64_t(held.step + std::min(held.step, stepsOf(seat.position)));
  return uint64_t(scan.shape.perRank * (held.step - 1) + 1);
}

/// What a peer holds; it stays until the peer has left.
Error Doubling::expect(Held held, Sight &sight) {
  held.step = std::min(held.step, stepsOf(held.part));
  int64_t owner = scan.sequence.seatOf(held.part).position;
  sight.held = held;
  if (Error failure = exchange.window(owner, pieceOf(held), sight.summary))
    return failure;
  return exchange.expect(owner, pieceOf(held),
                         const_cast<char *>(sight.summary));
}

Error Doubling::await(const Sight &sight) {
  int64_t owner = scan.sequence.seatOf(sight.held.part).position;
  return exchange.await(owner, readyAfter(sight.held), sight.summary,
                        scan.shape.bytes());
}

/// Whom this rank's parts are taken by in a step.
void Doubling::offerFor(int64_t step) {
  for (int64_t slot = 0; slot < scan.shape.perRank; ++slot) {
    int64_t part = scan.partIn(slot), taker = part + (int64_t(1) << step);
    if (taker <= scan.lastPart())
      exchange.offer(scan.sequence.seatOf(taker).position,
                     pieceOf({part, std::min(step, stepsOf(part))}));
  }
}

/// Whom they are taken by in the end.
void Doubling::offerResults() {
  for (int64_t slot = 0; slot < scan.shape.perRank; ++slot) {
    int64_t part = scan.partIn(slot);
    if (part < scan.lastPart())
      exchange.offer(scan.sequence.seatOf(part + 1).position,
                     pieceOf({part, stepsOf(part)}));
    else if (scan.hasTotal)
      for (int64_t peer = 0; peer < scan.group.size; ++peer)
        exchange.offer(peer, pieceOf({part, stepsOf(part)}));
  }
}

/// One step: what this rank's parts take in, each behind what it has.
Error Doubling::fold(int64_t step) {
  Sight earlier[2];
  auto takesIn = [&](int64_t slot) {
    return step < stepsOf(scan.partIn(slot));
  };
  for (int64_t slot = 0; slot < scan.shape.perRank; ++slot)
    if (takesIn(slot))
      if (Error failure = expect(
              {scan.partIn(slot) - (int64_t(1) << step), step}, earlier[slot]))
        return failure;
  for (int64_t slot = 0; slot < scan.shape.perRank; ++slot) {
    if (!takesIn(slot))
      continue;
    if (Error failure = await(earlier[slot]))
      return failure;
    char *mine = memory + offsetOf({scan.partIn(slot), step});
    if (Error failure =
            combine(scan.call, mine + scan.shape.bytes(), earlier[slot].summary,
                    mine, scan.shape, scan.shape.all()))
      return failure;
    if (Error failure =
            exchange.publish(readyAfter({scan.partIn(slot), step + 1})))
      return failure;
  }
  return std::nullopt;
}

/// From inclusive to exclusive prefixes: what the previous part ends with; and
/// what the last one does.
Error Doubling::finish() {
  Sight previous[2], last;
  for (int64_t slot = 0; slot < scan.shape.perRank; ++slot)
    if (int64_t part = scan.partIn(slot); part > 0)
      if (Error failure = expect({part - 1, stepsOf(part)}, previous[slot]))
        return failure;
  if (scan.hasTotal)
    if (Error failure =
            expect({scan.lastPart(), stepsOf(scan.lastPart())}, last))
      return failure;
  for (int64_t slot = 0; slot < scan.shape.perRank; ++slot) {
    if (scan.partIn(slot) == 0) {
      if (Error failure = writeIdentity(scan.call, scan.shape, slot))
        return failure;
      continue;
    }
    if (Error failure = await(previous[slot]))
      return failure;
    if (Error failure =
            unpack(previous[slot].summary, scan.call, scan.shape, slot))
      return failure;
  }
  if (!scan.hasTotal)
    return std::nullopt;
  if (Error failure = await(last))
    return failure;
  return unpackTotal(last.summary, scan.call, scan.shape);
}

Error Doubling::run() {
  for (int64_t step = 0; step < stepsOf(scan.lastPart()); ++step) {
    offerFor(step);
    if (Error failure = fold(step))
      return failure;
  }
  offerResults();
  return finish();
}

Error cp::runtime::scanByDoubling(const Scan &scan, char *memory) {
  Exchange exchange(scan.context, scan.call, scan.group, memory);
  Doubling doubling(scan, exchange, memory);
  for (int64_t slot = 0; slot < scan.shape.perRank; ++slot)
    if (Error failure = pack(memory + doubling.offsetOf({scan.partIn(slot), 0}),
                             scan.call, scan.shape, slot))
      return failure;
  if (Error failure = exchange.enter())
    return failure;
  return exchange.told(doubling.run());
}
