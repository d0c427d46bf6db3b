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

/// Adds `partial`, [blocks][each], over its blocks, so that the bits do not
/// depend on who made which; into the first block, which is where the result
/// is. Two by two, since rounding then grows as the logarithm of the number of
/// blocks. Of no block it is 0, so there must be memory for one.
template <typename Acc>
static const Acc *sumOverBlocks(Acc *partial, int64_t blocks, int64_t each) {
  for (int64_t i = 0; i < each && blocks == 0; ++i)
    partial[i] = Acc(0);
  for (int64_t apart = 1; apart < blocks; apart *= 2)
    for (int64_t block = 0; block + apart < blocks; block += 2 * apart)
      for (int64_t i = 0; i < each; ++i)
        partial[block * each + i] += partial[(block + apart) * each + i];
  return partial;
}

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_BLOCKSUMS_H
