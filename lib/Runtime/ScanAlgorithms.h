//===- ScanAlgorithms.h - The ways a scan goes over a group -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each algorithm says how much memory it wants on this rank, and writes this
// rank's exclusive prefix to the outputs. What a rank sends is in cprt.h.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_SCANALGORITHMS_H
#define CP_LIB_RUNTIME_SCANALGORITHMS_H

#include "Exchange.h"
#include "ScanSummary.h"

namespace cp::runtime {

/// One checked call.
struct Scan {
  Context &context;
  const Descriptor &call;
  const Group &group;
  SummaryShape shape;
};

/// Not more than group.size + 4 summaries, so that it is known to fit 63 bits.
using ScanBytes = int64_t (*)(const Scan &scan);
/// `memory` holds these bytes until the call returns.
using ScanBody = Result (*)(const Scan &scan, char *memory);

/// For the algorithms that keep one summary.
inline int64_t bytesOfOne(const Scan &scan) { return scan.shape.bytes(); }

/// Each rank takes the previous one's inclusive prefix: R - 1 steps.
Result scanByChain(const Scan &scan, char *memory);

/// The chain in blocks: a rank hands one on while it waits for the next.
Result scanByPipeline(const Scan &scan, char *memory);

/// Each rank takes all summaries and folds those before it: one step.
int64_t bytesOfGather(const Scan &scan);
Result scanByGather(const Scan &scan, char *memory);

/// Each rank takes in ever longer runs of its predecessors: ceil(log2 R) + 1
/// steps. Hillis and Steele, Data parallel algorithms, CACM 29(12), 1986.
int64_t bytesOfDoubling(const Scan &scan);
Result scanByDoubling(const Scan &scan, char *memory);

/// Each rank folds one slice of the states for everybody: two exchanges.
int64_t bytesOfTransposed(const Scan &scan);
Result scanTransposed(const Scan &scan, char *memory);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_SCANALGORITHMS_H
