//===- HeadBlocks.h - How a scan is shared out ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_HEADBLOCKS_H
#define CP_KERNELS_CPU_HEADBLOCKS_H

#include "OpArguments.h"

namespace cp::kernels {

/// Heads [begin, end) of group g, in sequence b.
struct HeadBlock {
  int64_t b, g, begin, end;
};

/// The heads of a scan in blocks whose states stay in the caches near a
/// processor while the tokens go by. What the heads of a group share is formed
/// once a block and tile.
struct HeadBlocks {
  /// For states of `stateBytes` a head. Where there are few blocks, they are
  /// made smaller until each of the caller's threads has one.
  HeadBlocks(const SsdSizes &sizes, int64_t stateBytes);
  HeadBlock operator[](int64_t i) const;

  /// The most heads of a block, blocks of a group, and all blocks.
  int64_t perBlock, perGroup, count;

private:
  int64_t heads, groups;
};

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_HEADBLOCKS_H
