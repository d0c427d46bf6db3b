//===- SsdTilesMemory.h - What tiles are made of ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDTILESMEMORY_H
#define CP_KERNELS_CUDA_SSDTILESMEMORY_H

#include "SsdTilesThread.h"

namespace cp::kernels::cuda {

template <typename Kernel>
CP_DEVICE SsdTilesThread<Kernel>::SsdTilesThread(const Kernel &from)
    : kernel(from), work(from.work), memory(shared<typename Kernel::Shared>()) {
  Head head = ownHead();
  width = head.width;
  ownGroup = group();
  nextB = at(work.B, b(), begin(), group());
  nextX = at(work.x, b(), begin(), head.head, head.channel);
  nextSteps = (thread() % 128 < tokens ? work.sums : work.inputs) +
              (b() * work.h + head.head) * work.l + begin() + thread() % tokens;
  if constexpr (Outputs) {
    nextC = at(work.C, b(), begin(), group());
    nextY = at(work.y, b(), begin() + firstToken(), head.head,
               head.channel + firstChannel());
  }
}

template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::prepareMemory() const {
  if constexpr (Shares) {
    if (thread() == 0)
      for (Arrivals &each : memory.arrivals)
        setArrivals(&each);
    // Behind it each block of the cluster can be copied to; the first tile
    // waits for it, as others do for the one in front.
    arriveAtCluster();
  }
  if constexpr (Outputs) {
    Head head = ownHead();
    for (int i = thread() % 128; i < Kernel::width; i += 128)
      sharedStore(&memory.skips[own()][i],
                  work.D.data && i < width
                      ? widened(*at(work.D, head.head, head.channel + i))
                      : 0.f);
    // Blocks above the diagonal that formRows reads and nobody writes.
    if constexpr (!isOfWarpgroup)
      if (int half = warp() % 4 * 32; half < tokens)
        for (int i = 0; i < 4; ++i)
          pairs.store(memory.made[own()], half + i / 2 * 8,
                      half + band + i % 2 * 8, 0);
  }
}

/// One that is not there has no channels.
template <typename Kernel>
CP_DEVICE auto SsdTilesThread<Kernel>::ownHead() const -> Head {
  int inGroup = blockX() % kernel.blocksPerGroup * Heads + own();
  int perGroup = int(work.h / work.g);
  bool isThere = inGroup < perGroup * kernel.slices;
  int at = isThere ? inGroup / kernel.slices : 0;
  int channel = isThere ? inGroup % kernel.slices * Kernel::width : 0;
  return {group() * perGroup + at, channel,
          isThere ? int(least(Kernel::width, work.p - channel)) : 0};
}

/// Whether two rows are not of one sequence, the second one behind the first.
CP_DEVICE bool isCut(int64_t first, int64_t place) {
  return place == 0 || (place < 0) != (first < 0);
}

template <typename Kernel>
CP_DEVICE TilePiece SsdTilesThread<Kernel>::pieceAt(int first) const {
  int64_t length = least(work.segment, work.l - begin());
  int most = int(least(tokens, length - first));
  if (!work.places.data || most <= 0)
    return {first, most > 0 ? most : 0, false, true};
  int64_t place = *at(work.places, b(), begin() + first);
  int count = most;
  for (int part = 1; part >= 0; --part) {
    int row = part * warpSize + lane();
    bool cut = row > 0 && row < most &&
               isCut(place, *at(work.places, b(), begin() + first + row));
    int found = firstBit(vote(cut));
    if (found < warpSize)
      count = part * warpSize + found;
  }
  return {first, count, place == 0, place >= 0};
}

template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::fill(int slot, const TilePiece &piece) {
  Stage &stage = memory.stages[slot];
  if (piece.count && piece.hasTokens) {
    fillSteps(stage, piece);
    // B by the first threads, C by the last ones.
    constexpr int some = Heads == 1 ? 128 : 256;
    if (int index = thread(); index < some && !isShared(piece))
      fillTile<some>(stage.B, index, nextB,
                     {piece.count, int(work.n), work.B.strides[1],
                      work.B.strides[3], kernel.fastB});
    if constexpr (Outputs)
      if (int index = Kernel::threads - 1 - thread();
          index < some && !isShared(piece))
        fillTile<some>(stage.C, index, nextC,
                       {piece.count, int(work.n), work.C.strides[1],
                        work.C.strides[3], kernel.fastC});
    fillTile<128>(stage.x[own()], thread() % 128, nextX,
                  {piece.count, width, work.x.strides[1], work.x.strides[3],
                   kernel.fastX});
  }
  nextB += piece.count * work.B.strides[1];
  nextX += piece.count * work.x.strides[1];
  nextSteps += piece.count;
  if constexpr (Outputs)
    nextC += piece.count * work.C.strides[1];
  commitCopies();
}

/// Once no block of the cluster uses the stage, each copies its part of the
/// tile to all of them. Each thread comes here once a tile.
template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::shareTile(int slot,
                                                 const TilePiece &piece) const {
  if constexpr (!Shares)
    return;
  waitForCluster();
  if (!piece.count || !isShared(piece))
    return;
  if constexpr (isOfWarpgroup)
    fillBoxes(slot, piece.first);
  else
    fillRows(slot, piece.first);
}

/// Row by row.
template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::fillRows(int slot, int first) const {
  constexpr int bytes = N * int(sizeof(BFloat16));
  Stage &stage = memory.stages[slot];
  Arrivals *arrivals = &memory.arrivals[slot];
  if (thread() == 0)
    announce(arrivals, (Outputs ? 2 : 1) * tokens * bytes);
  int rows = kernel.rowsOfBlock, index = thread();
  bool isOfC = index >= rows;
  if (index >= (Outputs ? 2 : 1) * rows)
    return;
  int row = rankInCluster() * rows + index - (isOfC ? rows : 0);
  uint16_t *to = stage.B.elements;
  const View<const BFloat16, 4> *from = &work.B;
  if constexpr (Outputs)
    if (isOfC) {
      to = stage.C.elements;
      from = &work.C;
    }
  copyToCluster(to + TileOfN::offset(row, 0),
                at(*from, b(), begin() + first + row, ownGroup), bytes,
                arrivals, kernel.cluster);
}

/// In boxes, one a panel.
template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::fillBoxes(int slot, int first) const {
  if (thread())
    return;
  Stage &stage = memory.stages[slot];
  Arrivals *arrivals = &memory.arrivals[slot];
  announce(arrivals, (Outputs ? 2 : 1) * int(sizeof stage.B));
  int row = rankInCluster() * kernel.rowsOfBlock;
  CP_UNROLL
  for (int column = 0; column < N; column += 64) {
    int at = TileOfN::offset(row, 0) + column / 64 * TileOfN::panel;
    const int box[] = {column, int(begin()) + first + row, ownGroup, int(b())};
    copyBoxToCluster(stage.B.elements + at, &kernel.mapOfB, box, arrivals,
                     kernel.cluster);
    if constexpr (Outputs)
      copyBoxToCluster(stage.C.elements + at, &kernel.mapOfC, box, arrivals,
                       kernel.cluster);
  }
}

/// Waits for the tile of a stage, and until the block has done with the other.
template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::awaitTile(int slot,
                                                 const TilePiece &piece) {
  waitCopies<0>();
  if constexpr (isOfWarpgroup)
    publish();
  if (isShared(piece)) {
    waitForArrivals(&memory.arrivals[slot], parities >> slot & 1);
    parities ^= 1u << slot;
  }
  barrier();
}

/// A token that is not there adds nothing.
template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::fillSteps(Stage &stage,
                                                 const TilePiece &piece) const {
  int i = thread() % tokens;
  bool valid = i < piece.count, isSum = thread() % 128 < tokens;
  Steps &steps = stage.steps[own()];
  float *to = isSum ? &steps.sums[i] : &steps.inputs[i];
  if (valid || isSum)
    copy4(to, valid ? nextSteps : nextSteps - i, valid);
  else
    sharedStore(to, -infinity);
}

template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::clearStates() {
  CP_UNROLL
  for (int j = 0; j < Kernel::columnTiles; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    state[j][k] = 0;
}

template <typename Kernel> CP_DEVICE void SsdTilesThread<Kernel>::loadStates() {
  clearStates();
  if (!Outputs || !work.before)
    return;
  Head head = ownHead();
  const float *from =
      work.before +
      stateOffset(work, work.segments, b(), segment(), head.head) +
      (head.channel + channels() + q()) * work.n + r();
  CP_UNROLL
  for (int j = 0; j < Kernel::columnTiles; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    if (channels() + q() + k / 2 * 8 < width && j * 8 + r() + k % 2 < work.n)
      state[j][k] = from[k / 2 * 8 * work.n + j * 8 + k % 2];
}

template <typename Kernel>
template <typename T>
CP_DEVICE void SsdTilesThread<Kernel>::storeStates(T *to, int64_t row,
                                                   int64_t column) const {
  to += (channels() + q()) * row + r() * column;
  CP_UNROLL
  for (int j = 0; j < Kernel::columnTiles; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    if (channels() + q() + k / 2 * 8 < width && j * 8 + r() + k % 2 < work.n)
      to[k / 2 * 8 * row + (j * 8 + k % 2) * column] = narrowed<T>(state[j][k]);
}

template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::storeStates() const {
  Head head = ownHead();
  if constexpr (!Outputs) {
    storeStates(at(work.after, b(), segment(), head.head, head.channel),
                work.after.strides[3], work.after.strides[4]);
    return;
  }
  if (segment() + 1 != work.segments)
    return;
  if (work.finalState.data)
    storeStates(at(work.finalState, b(), head.head, head.channel),
                work.finalState.strides[2], work.finalState.strides[3]);
  if (work.finalSum.data)
    storeStates(at(work.finalSum, b(), head.head, head.channel),
                work.finalSum.strides[2], work.finalSum.strides[3]);
}

template <typename Kernel>
CP_DEVICE void
SsdTilesThread<Kernel>::clearOutputs(const TilePiece &piece) const {
  Head head = ownHead();
  for (int k = thread() % 128; k < piece.count * width; k += 128)
    *at(work.y, b(), begin() + piece.first + k / width, head.head,
        head.channel + k % width) = narrowed<BFloat16>(0);
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDTILESMEMORY_H
