//===- Sequence.cpp - A sequence that is cut over a group -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sequence.h"

using namespace cp::runtime;

int64_t Sequence::partAt(Place place) const {
  return runsOf(cut, numRanks, place.position, numParts()).globalOf(place.slot);
}

Result cp::runtime::readSequenceCut(const Descriptor &call, int64_t order,
                                    Cut &cut) {
  cut = cutOfWord(order);
  if (partsPerRank(cut))
    return std::nullopt;
  return call.unsupported(
      "attribute 'order' is " + std::to_string(order) + " (" +
      orderName(cut.order) +
      "), expected 0 (contiguous) or 1 (zigzag): the tokens before those of "
      "such a rank are all on other ranks; reorder the sequence first");
}
