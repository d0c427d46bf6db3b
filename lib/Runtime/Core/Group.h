//===- Group.h - The ranks that take part in a collective -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_GROUP_H
#define CP_LIB_RUNTIME_GROUP_H

#include "Channel.h"
#include "Signature.h"

#include "cp/Layout/Layout.h"

#include <memory>

namespace cp::runtime {

/// One rank's view of a group: who is at which position.
struct Group {
  int64_t size = 1;
  int64_t position = 0;
  uint64_t axesMask = 0;
  /// Null in a group of one, which never waits.
  std::unique_ptr<Channel> channel;
  /// One axis whose coordinate is the position.
  Mesh mesh;
};

/// The group of this rank over `axes` of the world's mesh, major to minor; made
/// once and kept by the context. CPRT_INVALID_ARGUMENT for an axis that the
/// mesh does not have, or that is named twice.
Error findGroup(cprt_context &context, const Descriptor &call, Words axes,
                const Group *&group);

/// Whether `dim` of a tensor of `sizes` (the whole) can be cut over the group:
/// CPRT_INVALID_ARGUMENT when it does not divide.
Error checkCut(const Descriptor &call, const Group &group,
               const List<int64_t> &sizes, size_t dim, const Cut &cut);
/// The part that `position` holds of a dimension of `size` elements.
inline CutRuns runsAt(const Group &group, const Cut &cut, int64_t size,
                      int64_t position) {
  return runsOf(cut, group.size, position, size);
}

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_GROUP_H
