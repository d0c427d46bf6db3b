//===- fast/BlockSums.h - Sums over the blocks of a kernel ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_BLOCKSUMS_H
#define CP_KERNELS_CPU_FAST_BLOCKSUMS_H

#include <cstdint>

namespace cp::kernels::fast {

/// Adds `partial`, [blocks][each], over its blocks in their order, so that the
/// bits do not depend on who made which; into the first block, which is where
/// the result is. Of no block it is 0, so there must be memory for one.
template <typename Acc>
static const Acc *sumOverBlocks(Acc *partial, int64_t blocks, int64_t each) {
  for (int64_t i = 0; i < each && blocks == 0; ++i)
    partial[i] = Acc(0);
  for (int64_t block = 1; block < blocks; ++block)
    for (int64_t i = 0; i < each; ++i)
      partial[i] += partial[block * each + i];
  return partial;
}

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_BLOCKSUMS_H
