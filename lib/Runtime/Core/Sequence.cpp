//===- Sequence.cpp - A sequence that is cut over a group -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sequence.h"

using namespace cp::runtime;

int64_t Sequence::partAt(Seat seat) const {
  CutRuns runs = runsOf(cut, numRanks, seat.position, numParts());
  return inTokens(runs.globalOf(inBuffer(seat.slot)));
}

Sequence::Seat Sequence::seatOf(int64_t part) const {
  Holder holder = holderOf(cut, numRanks, numParts(), inTokens(part));
  return {holder.position, inBuffer(holder.local)};
}

Error cp::runtime::expectNeighbours(const Descriptor &call, const Cut &order) {
  if (partsPerRank(order))
    return std::nullopt;
  return call.unsupported(
      "attribute 'order' is " + std::to_string(orderWord(order)) + " (" +
      orderName(order.order) +
      "), expected 0 (contiguous) or 1 (zigzag): the tokens next to those of "
      "such a rank are all on other ranks; reorder the sequence first");
}
