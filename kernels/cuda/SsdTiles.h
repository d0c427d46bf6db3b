//===- SsdTiles.h - The scan on matrix units --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chunked form of Dao and Gu, "Transformers are SSMs" (2024), section 6, in
// bf16 with sums, states and decays in f32. A block goes through a segment in
// tiles of 64 tokens. Of its heads, which share a group's B and C, each has
// four warps, of which each has 16 channels, whose states stay in its
// registers:
//
//   weights  W = (C B^T) * decay * delta on and below the diagonal, in bf16,
//            made by all warps and kept in shared memory
//   outputs  y = from_start (C S) + W x + D x
//   update   S = whole S + (to_end x)^T B
//
// In W x a masked weight of 0 meets tokens behind the output's own: where an
// output is not finite, the block goes through its segment again, token by
// token, so that what is not finite reaches no earlier token. Tiles begin with
// documents.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDTILES_H
#define CP_KERNELS_CUDA_SSDTILES_H

#include "SsdGroupProducts.h"
#include "SsdRepair.h"
#include "SsdTilesMemory.h"
#include "SsdTilesProducts.h"

namespace cp::kernels::cuda {

template <int N, int Heads, bool Outputs, SsdForm Form>
CP_DEVICE void SsdTiles<N, Heads, Outputs, Form>::operator()() const {
  // Blocks of a form that code does not have are not started.
  if constexpr (Form == SsdForm::Alone ||
                (Form == SsdForm::Shared && codeHasClusters) ||
                (Form == SsdForm::Warpgroup && codeHasWarpgroups))
    SsdTilesThread<SsdTiles>(*this).run();
  else
    giveUp();
}

template <typename Kernel> CP_DEVICE void SsdTilesThread<Kernel>::run() {
  TilePiece piece = pieceAt(0);
  prepareMemory();
  fill(0, piece);
  shareTile(0, piece);
  if constexpr (Shares)
    arriveAtCluster();
  loadStates();
  for (int slot = 0; piece.count; slot ^= 1) {
    TilePiece next = pieceAt(piece.first + piece.count);
    // The tile is there, and the block has done with the other stage.
    awaitTile(slot, piece);
    fill(slot ^ 1, next);
    if (piece.starts) {
      // Else every tile selects among 0 and the state.
      keepBranch();
      clearStates();
    }
    if (piece.hasTokens)
      passTile(slot, piece, next);
    else
      skipTile(slot, piece, next);
    if constexpr (Outputs)
      nextY += piece.count * work.y.strides[1];
    if constexpr (Shares)
      arriveAtCluster();
    piece = next;
  }
  if constexpr (Shares)
    waitForCluster();
  storeStates();
  if constexpr (Outputs)
    repair();
}

/// What a tile gives, and what it does to the state. In its midst the cluster
/// goes on to the next one: its blocks need not be equally far.
template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::passTile(int slot,
                                                const TilePiece &piece,
                                                const TilePiece &next) {
  const Stage &stage = memory.stages[slot];
  if constexpr (isOfWarpgroup) {
    passTileAsGroup(slot, piece, next);
  } else {
    if constexpr (Outputs) {
      formWeights(stage, piece.count);
      barrier();
      shareTile(slot ^ 1, next);
      formOutputs(stage, piece);
    } else {
      shareTile(slot ^ 1, next);
    }
    update(stage, piece.count);
  }
}

template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::skipTile(int slot,
                                                const TilePiece &piece,
                                                const TilePiece &next) {
  if constexpr (Outputs)
    clearOutputs(piece);
  shareTile(slot ^ 1, next);
}

template <typename Kernel>
CP_DEVICE void SsdTilesThread<Kernel>::repair() const {
  uint32_t spoiled = vote(!(check == 0));
  if (lane() == 0)
    sharedStore(&memory.spoiled[warp()], spoiled);
  // Behind it all that the head's warps have stored is there too.
  barrier();
  spoiled = 0;
  CP_UNROLL
  for (int i = 0; i < 4; ++i)
    spoiled |= sharedLoad(&memory.spoiled[own() * 4 + i]);
  if (!spoiled)
    return;
  Head head = ownHead();
  repairSegment<N / warpSize>(work, b(), segment(), head.head, head.channel,
                              width);
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDTILES_H
