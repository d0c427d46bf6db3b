//===- ScanAlgorithms.h - The ways a scan goes over a group -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each algorithm says how much memory it wants on this rank, and writes the
// exclusive prefix of each of this rank's parts to the outputs, and the total
// if it is wanted. What a rank sends is in cprt.h.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_SCANALGORITHMS_H
#define CP_LIB_RUNTIME_SCANALGORITHMS_H

#include "Core/Sequence.h"
#include "Exchange.h"
#include "ScanSummary.h"

namespace cp::runtime {

/// One checked call.
struct Scan {
  Context &context;
  const Descriptor &call;
  const Group &group;
  SummaryShape shape;
  Sequence sequence;
  /// Whether all parts' summary is wanted too, by every rank.
  bool hasTotal = false;

  int64_t lastPart() const { return sequence.numParts() - 1; }
  int64_t partIn(int64_t slot) const {
    return sequence.partAt({group.position, slot});
  }
};

/// Not more than the number of parts and 4 summaries, so that it is known to
/// fit 63 bits, together with a combine's scratch memory.
using ScanBytes = int64_t (*)(const Scan &scan);
/// `memory` holds these bytes until the call returns.
using ScanBody = Error (*)(const Scan &scan, char *memory);

/// For the algorithms that keep one summary for each part.
inline int64_t bytesOfOwn(const Scan &scan) {
  return scan.shape.perRank * scan.shape.bytes();
}

/// Each part takes the previous one's inclusive prefix: R - 1 steps, and as
/// many back in zigzag order.
Error scanByChain(const Scan &scan, char *memory);

/// The chain in blocks: a rank hands one on while it waits for the next.
Error scanByPipeline(const Scan &scan, char *memory);

/// Each rank takes all summaries and folds those before it: one step.
int64_t bytesOfGather(const Scan &scan);
Error scanByGather(const Scan &scan, char *memory);

/// Each rank takes in ever longer runs of its predecessors: ceil(log2 R) + 1
/// steps. Hillis and Steele, Data parallel algorithms, CACM 29(12), 1986.
int64_t bytesOfDoubling(const Scan &scan);
Error scanByDoubling(const Scan &scan, char *memory);

/// Each rank folds one slice of the states for everybody: two exchanges.
int64_t bytesOfTransposed(const Scan &scan);
Error scanTransposed(const Scan &scan, char *memory);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_SCANALGORITHMS_H
