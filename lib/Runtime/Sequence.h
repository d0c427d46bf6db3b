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

/// The parts of a sequence are cut as its rows are.
struct Sequence {
  Cut cut;
  int64_t numRanks;

  /// Of R ranks, contiguous and zigzag:
  ///   place (position, slot)  (0, 0)  (1, 0)  (1, 1)  (0, 1)
  ///   part, R = 2, zigzag     0       1       2       3
  ///   part, R = 2             0       1
  struct Place {
    int64_t position, slot;
  };
  int64_t partsPerRank() const { return *cp::partsPerRank(cut); }
  int64_t numParts() const { return numRanks * partsPerRank(); }
  int64_t partAt(Place place) const;
  Place placeOf(int64_t part) const {
    Holder holder = holderOf(cut, numRanks, numParts(), part);
    return {holder.position, holder.local};
  }
};

/// Reads the word `order` of a call that goes along a sequence.
/// CPRT_UNSUPPORTED for striped, whose neighbours are all elsewhere.
Result readSequenceCut(const Descriptor &call, int64_t order, Cut &cut);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_SEQUENCE_H
