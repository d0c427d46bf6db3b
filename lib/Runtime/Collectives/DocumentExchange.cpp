//===- DocumentExchange.cpp - Ranks that have the same documents ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DocumentExchange.h"

#include "Core/DocumentLists.h"

using namespace cp::runtime;

Error cp::runtime::expectSameDocuments(const Descriptor &call,
                                       Exchange &exchange, const Group &group) {
  Taken first, other;
  if (Error failure = exchange.take(0, first))
    return failure;
  for (int64_t peer = 1; peer < group.size; ++peer) {
    if (Error failure = exchange.take(peer, other))
      return failure;
    std::optional<int64_t> row =
        otherDocuments(first.views[0].buffer, other.views[0].buffer);
    if (row)
      return exchange.failAll(
          {CPRT_MISMATCH,
           call.title() + ": positions 0 and " + std::to_string(peer) +
               " of the group have other documents in row " +
               std::to_string(*row) +
               " of their cu_seqlens; give all ranks of a sequence the same"});
  }
  return std::nullopt;
}
