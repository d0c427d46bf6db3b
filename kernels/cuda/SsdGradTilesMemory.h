//===- SsdGradTilesMemory.h - What its products are made of -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDGRADTILESMEMORY_H
#define CP_KERNELS_CUDA_SSDGRADTILESMEMORY_H

#include "SsdGradTilesThread.h"

namespace cp::kernels::cuda {

template <typename Kernel>
template <typename Tile>
CP_DEVICE void SsdGradTilesThread<Kernel>::bringRows(
    Tile &to, const View<const BFloat16, 4> &from, int64_t of, int64_t column,
    int64_t columns, bool isFast) const {
  fillTile<Kernel::threads>(to, thread(), at(from, b(), first(), of, column),
                            {int(least(work.l - first(), tokens)), int(columns),
                             from.strides[1], from.strides[3], isFast});
}

template <typename Kernel>
CP_DEVICE void
SsdGradTilesThread<Kernel>::bringState(const BFloat16 *states) const {
  fillTile<Kernel::threads>(
      mine.state, thread(), states + stateAt(),
      {int(kernel.slice.width), int(work.n), work.n, 1, kernel.isFastState});
  commitCopies();
}

template <typename Kernel> CP_DEVICE void SsdGradTilesThread<Kernel>::bring() {
  const ChannelSlice &slice = kernel.slice;
  bringRows(mine.x, work.x, head(), slice.first, slice.width, kernel.isFastX);
  bringRows(mine.dy, work.dy, head(), slice.first, slice.width,
            kernel.isFastDy);
  bringRows(mine.B, work.B, group(), 0, work.n, kernel.isFastB);
  bringRows(mine.C, work.C, group(), 0, work.n, kernel.isFastC);
  bringState(kernel.behind);
  if (warp() == 0)
    mine.steps.form(work, b(), first(), work.l, head());
  waitCopies<0>();
  barrier();
  dropRows<Kernel::threads>(mine.x, mine.steps.there);
  dropRows<Kernel::threads>(mine.dy, mine.steps.there);
  dropRows<Kernel::threads>(mine.B, mine.steps.there);
  dropRows<Kernel::threads>(mine.C, mine.steps.there);
  if constexpr (isOfWarpgroup)
    publish();
  barrier();
}

/// Of two numbers in bf16, without a branch.
CP_DEVICE bool isSpoiltPair(uint32_t pair) {
  return int((pair & 0x7f80u) == 0x7f80u) |
         int((pair & 0x7f800000u) == 0x7f800000u);
}
/// With 0 for what is not finite.
CP_DEVICE uint32_t finiteOf(uint32_t pair) {
  if ((pair & 0x7f80u) == 0x7f80u)
    pair &= 0xffff0000u;
  return (pair & 0x7f800000u) == 0x7f800000u ? pair & 0xffffu : pair;
}

template <typename Kernel>
template <typename Tile>
CP_DEVICE bool SsdGradTilesThread<Kernel>::hasSpoilt(const Tile &tile) {
  constexpr int parts = Tile::rows * Tile::columns / 8 / Kernel::threads;
  const auto *from = reinterpret_cast<const uint4 *>(tile.elements) + thread();
  int isSpoilt = 0;
  CP_UNROLL
  for (int i = 0; i < parts; ++i) {
    uint4 part = sharedLoad(from + i * Kernel::threads);
    isSpoilt |= int(isSpoiltPair(part.x)) | int(isSpoiltPair(part.y)) |
                int(isSpoiltPair(part.z)) | int(isSpoiltPair(part.w));
  }
  return isSpoilt;
}
template <typename Kernel>
template <typename Tile>
CP_DEVICE uint16_t SsdGradTilesThread<Kernel>::isSpoiltRow(const Tile &tile,
                                                           int row) {
  for (int i = 0; i < Tile::columns; i += 2)
    if (isSpoiltPair(sharedLoad(reinterpret_cast<const uint32_t *>(
            tile.elements + Tile::offset(row, i)))))
      return 1;
  return 0;
}

/// Whether something is not finite, and then where.
template <typename Kernel>
CP_DEVICE bool SsdGradTilesThread<Kernel>::findSpoilt() const {
  bool isSpoilt = hasSpoilt(mine.dy) | hasSpoilt(mine.B) | hasSpoilt(mine.C);
  if (!mine.isSpoilt.of(isSpoilt))
    return false;
  if (int row = thread(); row < tokens) {
    sharedStore(&mine.spoilt[OfDy][row], isSpoiltRow(mine.dy, row));
    sharedStore(&mine.spoilt[OfB][row], isSpoiltRow(mine.B, row));
    sharedStore(&mine.spoilt[OfC][row], isSpoiltRow(mine.C, row));
  }
  barrier();
  return true;
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDGRADTILESMEMORY_H
