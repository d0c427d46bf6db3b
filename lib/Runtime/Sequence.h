//===- Sequence.h - A sequence that is cut over a group ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What goes along a sequence goes from part to part in the order of the tokens,
// whoever holds them. In contiguous order a rank holds one part, in zigzag
// order two that are not neighbours (but on the last rank).
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_SEQUENCE_H
#define CP_LIB_RUNTIME_SEQUENCE_H

#include "Group.h"

namespace cp::runtime {

struct Sequence {
  /// The group's size, and 1 for contiguous, 2 for zigzag order.
  int64_t numRanks, partsPerRank;

  /// Of R ranks, contiguous and zigzag:
  ///   place (position, slot)  (0, 0)  (1, 0)  (1, 1)  (0, 1)
  ///   part, R = 2, zigzag     0       1       2       3
  ///   part, R = 2             0       1
  struct Place {
    int64_t position, slot;
  };
  int64_t numParts() const { return numRanks * partsPerRank; }
  int64_t partAt(Place place) const {
    return place.slot == 0 ? place.position : 2 * numRanks - 1 - place.position;
  }
  Place placeOf(int64_t part) const {
    if (part < numRanks)
      return {part, 0};
    return {2 * numRanks - 1 - part, 1};
  }
};

/// Reads the word `order` of a call that goes along a sequence; 1 or 2 parts a
/// rank. CPRT_UNSUPPORTED for striped, whose neighbours are all elsewhere.
Result readPartsPerRank(const Descriptor &call, int64_t order, int64_t &parts);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_SEQUENCE_H
