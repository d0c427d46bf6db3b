//===- PackedPositions.h - Where the rows of packed parts stand -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_PACKEDPOSITIONS_H
#define CP_LIB_RUNTIME_PACKEDPOSITIONS_H

#include "Positions.h"

namespace cp::runtime {

/// What each position of a group holds of packed rows in an order per document:
/// by element of the batch, as its documents say.
struct PackedPositions {
  const Group *group = nullptr;
  Order order = Order::ZigzagPerDocument;
  int64_t whole = 0, numLists = 0;
  /// Of each element, for kernels.
  std::vector<Positions> rows;
  /// Of each element, by position, for moves.
  std::vector<std::vector<std::vector<Run>>> runs;

  /// Runs of an element that a position may have, by the length of its list.
  size_t mostRuns = 0;
  /// The documents that these are of, row by row.
  std::vector<int32_t> documents;
};

/// Those of `lists`, `i32[b, n]` in memory of the host, when each rank holds
/// `localRows` of a dimension that is cut over `axes` in `order`, one per
/// document; kept by the context until another batch has other documents.
/// CPRT_INVALID_ARGUMENT for axes that make no group, and for lists that
/// checkDocuments refuses.
Error findPackedPositions(cprt_context &context, const Descriptor &call,
                          Words axes, Order order, const Buffer &lists,
                          int64_t localRows, const PackedPositions *&packed);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_PACKEDPOSITIONS_H
