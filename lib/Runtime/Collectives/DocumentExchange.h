//===- DocumentExchange.h - Ranks that have the same documents --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_DOCUMENTEXCHANGE_H
#define CP_LIB_RUNTIME_DOCUMENTEXCHANGE_H

#include "Exchange.h"

namespace cp::runtime {

/// The moves of a round in which each rank looks at all others' cu_seqlens, of
/// which none count as traffic.
struct DocumentMoves {
  /// Among all buffers of the call.
  size_t lists;
  void operator()(int64_t, int64_t, List<Move> &moves) const {
    moves.push_back({lists, nullptr});
  }
};

/// In that round: CPRT_MISMATCH, on every rank, where two of them have other
/// documents.
Error expectSameDocuments(const Descriptor &call, Exchange &exchange,
                          const Group &group);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_DOCUMENTEXCHANGE_H
