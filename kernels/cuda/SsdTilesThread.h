//===- SsdTilesThread.h - A thread of the scan on matrix units --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDTILESTHREAD_H
#define CP_KERNELS_CUDA_SSDTILESTHREAD_H

#include "SsdWork.h"
#include "Tile.h"

namespace cp::kernels::cuda {

/// Of scans with n <= N. `Heads` heads share a block; one with more than 64
/// channels counts as several.
template <int N, int Heads, bool Outputs> struct SsdTiles {
  static constexpr int threads = 128 * Heads, blocks = Heads == 1 ? 2 : 1;
  static constexpr int tokens = tileTokens, width = 64, band = 16;
  /// Products side by side along n, and those that one fragment of b is for.
  static constexpr int columnTiles = N / 8, columnPairs = N / 16;

  /// What SsdSteps gives of each token.
  struct Steps {
    float sums[tokens], inputs[tokens];
  };
  struct Stage {
    Tile<tokens, N> B;
    Tile<Outputs ? tokens : 1, Outputs ? N : 64> C;
    Tile<tokens, width> x[Heads];
    Steps steps[Heads];
  };
  struct Shared {
    Stage stages[2];
    Tile<Outputs ? tokens : 1, tokens> weights[Heads];
    /// D of each channel; zeros where there is none.
    float skips[Heads][width];
    /// Of each warp, its lanes with outputs that are not finite.
    uint32_t spoiled[4 * Heads];
  };

  SsdWork<BFloat16> work;
  /// How many times 64 channels a head has; blocks that a group's heads take.
  int slices, blocksPerGroup;
  /// Whether tiles can be filled 16 bytes at a time, and y stored in pairs.
  bool fastX, fastB, fastC, fastY;

  /// How many of its blocks a multiprocessor takes.
  static int residents(int heads) { return heads == 1 ? 2 : 1; }
  CP_DEVICE void operator()() const;
};

/// Rows of a tile, which are one sequence's, or have no tokens.
struct TilePiece {
  /// In its segment.
  int first;
  int count;
  bool starts, hasTokens;
};

/// Where a row of blocks of 16 x 16 on and below the diagonal is, of ten.
CP_DEVICE int rowOfBlock(int i) {
  return i < 4 ? 3 : i < 7 ? 2 : i < 9 ? 1 : 0;
}
CP_DEVICE int columnOfBlock(int i) {
  return i < 4 ? i : i < 7 ? i - 4 : i < 9 ? i - 7 : 0;
}

/// One thread of a block.
template <int N, int Heads, bool Outputs> class SsdTilesThread {
public:
  using Kernel = SsdTiles<N, Heads, Outputs>;
  using Work = SsdWork<BFloat16>;
  using Stage = typename Kernel::Stage;
  using Steps = typename Kernel::Steps;
  static constexpr int tokens = Kernel::tokens, band = Kernel::band;
  /// Rows of blocks whose outputs are formed at once: as many as registers
  /// allow.
  static constexpr int height = 2;

  CP_DEVICE explicit SsdTilesThread(const Kernel &kernel);
  CP_DEVICE void run();

private:
  /// A head of the block, or 64 channels of it.
  struct Head {
    int head, channel, width;
  };
  CP_DEVICE Head ownHead() const;
  CP_DEVICE TilePiece pieceAt(int first) const;
  CP_DEVICE void fill(Stage &stage, const TilePiece &piece);
  CP_DEVICE void fillSteps(Stage &stage, const TilePiece &piece) const;
  CP_DEVICE void prepareMemory() const;
  CP_DEVICE void clearStates();
  CP_DEVICE void loadStates();
  CP_DEVICE void storeStates() const;
  template <typename T>
  CP_DEVICE void storeStates(T *to, int64_t row, int64_t column) const;
  CP_DEVICE void formWeights(const Stage &stage, int count) const;
  CP_DEVICE void formBlock(const Stage &stage, int row, int column) const;
  CP_DEVICE void formOutputs(const Stage &stage, const TilePiece &piece);
  CP_DEVICE void formRows(const Stage &stage, int top, int count,
                          float (&y)[height][2][4]) const;
  template <bool Whole>
  CP_DEVICE float storeRows(const Stage &stage, int count, int top,
                            const float (&y)[height][2][4]) const;
  CP_DEVICE void update(const Stage &stage, int count);
  CP_DEVICE void clearOutputs(const TilePiece &piece) const;
  CP_DEVICE void repair() const;

  // Few of what follows is kept, since registers are.

  CP_DEVICE static int64_t b() { return blockZ(); }
  CP_DEVICE static int64_t segment() { return blockY(); }
  CP_DEVICE int64_t begin() const { return segment() * work.segment; }
  CP_DEVICE int group() const { return blockX() / kernel.blocksPerGroup; }
  /// Which of the block's heads this warp is for, and where its channels and
  /// the lane's part of a fragment are; see Tile.h.
  CP_DEVICE static int own() { return warp() / 4; }
  CP_DEVICE static int channels() { return warp() % 4 * band; }
  CP_DEVICE static int q() { return lane() / 4; }
  CP_DEVICE static int r() { return lane() % 4 * 2; }

  const Kernel &kernel;
  const Work &work;
  typename Kernel::Shared &memory;
  /// Of the head's channels there are here.
  int width;
  /// What the thread copies next of B, C, x and the steps, and where in y its
  /// part of d goes next.
  const BFloat16 *nextB, *nextC, *nextX;
  const float *nextSteps;
  BFloat16 *nextY;
  Fragments<Tile<tokens, N>> rowsOfN;
  Fragments<Tile<tokens, 64>> rowsOf64;
  Pairs<Tile<tokens, 64>> pairs;
  /// Sum of 0 times each output: not 0 where one is not finite.
  float check = 0;
  /// [channel, n] of 16 channels: d of products side by side.
  float state[Kernel::columnTiles][4];
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDTILESTHREAD_H
