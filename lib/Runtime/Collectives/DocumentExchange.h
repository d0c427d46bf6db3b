//===- DocumentExchange.h - Ranks that have the same documents --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_DOCUMENTEXCHANGE_H
#define CP_LIB_RUNTIME_DOCUMENTEXCHANGE_H

#include "Exchange.h"

#include <array>

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
/// documents. The host waits for the device that has them.
Error expectSameDocuments(Context &context, const Descriptor &call,
                          Exchange &exchange, const Group &group,
                          const DocumentMoves &round);

/// The lists of all that have to have the same, [r, b, n], as a kernel takes
/// them.
struct ListsOfAll {
  std::array<int64_t, 3> sizes, strides;
  const void *data;

  Buffer buffer() const {
    return {const_cast<void *>(data), DType::I32, 3, sizes.data(),
            strides.data()};
  }
};

/// What has been taken of all ranks in that round, one behind the other in
/// memory of the device; of one rank its own, where it is. `index` is that of
/// the call's lists among its buffers.
Error gatherLists(DeviceQueue &device, const Descriptor &call, size_t index,
                  const List<Taken> &all, ListsOfAll &lists);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_DOCUMENTEXCHANGE_H
