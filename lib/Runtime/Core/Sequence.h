//===- Sequence.h - A sequence that is cut over a group ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What goes along a sequence goes from part to part in the order of the tokens,
// whoever holds them. In contiguous order a rank holds one part, in zigzag
// order two that are not neighbours (but on the last rank). In reverse it goes
// from the last token to the first.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_SEQUENCE_H
#define CP_LIB_RUNTIME_SEQUENCE_H

#include "Group.h"

namespace cp::runtime {

/// The parts of a sequence are cut as its rows are. They are numbered in the
/// direction of travel, and so are those of one rank: slot 0 comes first.
struct Sequence {
  Cut cut;
  int64_t numRanks;
  bool isReverse = false;

  /// Of R ranks, contiguous and zigzag, and in reverse:
  ///   seat (position, slot)    (0, 0)  (1, 0)  (1, 1)  (0, 1)
  ///   part, R = 2, zigzag      0       1       2       3
  ///   the same in reverse      0       1       2       3
  ///   part, R = 2              0       1
  ///   the same in reverse      1       0
  struct Seat {
    int64_t position, slot;
  };
  int64_t partsPerRank() const { return *cp::partsPerRank(cut); }
  int64_t numParts() const { return numRanks * partsPerRank(); }
  int64_t partAt(Seat seat) const;
  Seat seatOf(int64_t part) const;

  /// Where a rank's buffers have the part in `slot`, as they are laid out in
  /// the order of the tokens whatever the direction; its own inverse.
  int64_t inBuffer(int64_t slot) const {
    return isReverse ? partsPerRank() - 1 - slot : slot;
  }

private:
  /// The same of parts.
  int64_t inTokens(int64_t part) const {
    return isReverse ? numParts() - 1 - part : part;
  }
};

/// That the attribute `order` of a call that goes along a sequence is one that
/// keeps neighbours together; CPRT_UNSUPPORTED otherwise.
Error expectNeighbours(const Descriptor &call, const Cut &order);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_SEQUENCE_H
