//===- SsdTilesThread.h - A thread of the scan on matrix units --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDTILESTHREAD_H
#define CP_KERNELS_CUDA_SSDTILESTHREAD_H

#include "Cluster.h"
#include "SsdWork.h"
#include "Warpgroup.h"

#include <type_traits>

namespace cp::kernels::cuda {

/// How a block multiplies, and who loads what a group's heads share.
enum class SsdForm {
  /// Each warp its part, of what its block has loaded.
  Alone,
  /// The same, of B and C that the blocks of a cluster, which are of one group,
  /// copy to each other.
  Shared,
  /// Four warps at once, of B and C that come in boxes; see Warpgroup.h.
  Warpgroup
};

/// The most heads of a block: registers have their states.
template <int N> constexpr int mostHeads = N <= 128 ? 3 : 2;

/// Of scans with n <= N; but for `Alone`, n = N. `Heads` heads share a block;
/// one with more than 64 channels counts as several.
template <int N, int Heads, bool Outputs, SsdForm Form> struct SsdTiles {
  static constexpr int threads = 128 * Heads;
  static constexpr int blocks = Heads == 1 && N <= 128 ? 2 : 1;
  static constexpr int states = N, heads = Heads;
  static constexpr bool hasOutputs = Outputs;
  static constexpr SsdForm form = Form;
  static constexpr bool isOfWarpgroup = Form == SsdForm::Warpgroup;
  static constexpr int tokens = tileTokens, width = 64, band = 16;
  /// Products side by side along n, and those that one fragment of b is for.
  static constexpr int columnTiles = N / 8, columnPairs = N / 16;

  /// What SsdSteps gives of each token.
  struct Steps {
    float sums[tokens], inputs[tokens];
  };
  template <int Rows, int Columns>
  using SharedTile = std::conditional_t<
      Form == SsdForm::Alone, Tile<Rows, Columns>,
      std::conditional_t<Form == SsdForm::Shared, StraightTile<Rows, Columns>,
                         PanelTile<Rows, Columns>>>;
  using TileOfN = SharedTile<tokens, N>;
  using TileOf64 = std::conditional_t<isOfWarpgroup, PanelTile<tokens, width>,
                                      Tile<tokens, width>>;
  struct Stage {
    TileOfN B;
    SharedTile<Outputs ? tokens : 8, Outputs ? N : 64> C;
    TileOf64 x[Heads];
    Steps steps[Heads];
  };
  /// What a block's products read that it has made: weights of tokens, or, of
  /// warpgroups, whose weights stay in registers, the state in front of a tile.
  using Made =
      std::conditional_t<isOfWarpgroup,
                         PanelTile<Outputs ? width : 8, Outputs ? N : 64>,
                         Tile<Outputs ? tokens : 1, tokens>>;
  struct Shared {
    Stage stages[2];
    Made made[Heads];
    /// D of each channel; zeros where there is none.
    float skips[Heads][width];
    /// Of each warp, its lanes with outputs that are not finite.
    uint32_t spoiled[4 * Heads];
    /// Of each stage; but for `Alone`.
    Arrivals arrivals[2];
  };
  static_assert(Form == SsdForm::Alone || fitsSm90<Shared>(blocks),
                "cards with clusters have it");

  SsdWork<BFloat16> work;
  /// How many times 64 channels a head has; blocks that a group's heads take.
  int slices, blocksPerGroup;
  /// Blocks of a cluster, a divisor of `tokens`, and how many of a tile's rows
  /// each copies to all; 1 where they do not share.
  int cluster, rowsOfBlock;
  /// Whether tiles can be filled 16 bytes at a time, and y stored in pairs.
  bool fastX, fastB, fastC, fastY;
  /// Of warpgroups: boxes of B and C, each block's part of a panel of a tile.
  std::conditional_t<isOfWarpgroup, TensorMap, Nothing> mapOfB, mapOfC;

  /// How many of its blocks a multiprocessor takes.
  static int residents(int heads) { return heads == 1 && N <= 128 ? 2 : 1; }
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

/// One thread of a block of one of SsdTiles.
template <typename Kernel> class SsdTilesThread {
public:
  using Work = SsdWork<BFloat16>;
  using Stage = typename Kernel::Stage;
  using Steps = typename Kernel::Steps;
  using TileOfN = typename Kernel::TileOfN;
  using TileOf64 = typename Kernel::TileOf64;
  static constexpr int N = Kernel::states, Heads = Kernel::heads;
  static constexpr bool Outputs = Kernel::hasOutputs;
  static constexpr bool isOfWarpgroup = Kernel::isOfWarpgroup;
  static constexpr bool Shares = Kernel::form != SsdForm::Alone;
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
  CP_DEVICE void fill(int slot, const TilePiece &piece);
  CP_DEVICE void shareTile(int slot, const TilePiece &piece) const;
  CP_DEVICE void fillRows(int slot, int first) const;
  CP_DEVICE void fillBoxes(int slot, int first) const;
  CP_DEVICE void awaitTile(int slot, const TilePiece &piece);
  /// Whether the cluster copies it to all of its blocks; the others each block
  /// fills for itself.
  CP_DEVICE static bool isShared(const TilePiece &piece) {
    return Shares && piece.count == tokens && piece.hasTokens;
  }
  CP_DEVICE void fillSteps(Stage &stage, const TilePiece &piece) const;
  CP_DEVICE void prepareMemory() const;
  CP_DEVICE void clearStates();
  CP_DEVICE void loadStates();
  CP_DEVICE void storeStates() const;
  template <typename T>
  CP_DEVICE void storeStates(T *to, int64_t row, int64_t column) const;
  CP_DEVICE void passTile(int slot, const TilePiece &piece,
                          const TilePiece &next);
  CP_DEVICE void skipTile(int slot, const TilePiece &piece,
                          const TilePiece &next);
  CP_DEVICE void formWeights(const Stage &stage, int count) const;
  CP_DEVICE void formBlock(const Stage &stage, int row, int column) const;
  CP_DEVICE void formOutputs(const Stage &stage, const TilePiece &piece);
  CP_DEVICE void formRows(const Stage &stage, int top, int count,
                          float (&y)[height][2][4]) const;
  template <bool Whole>
  CP_DEVICE float storeRows(const Stage &stage, int count, int top,
                            const float (&y)[height][2][4]) const;
  template <bool Whole>
  CP_DEVICE float storePair(BFloat16 *to, float first, float second,
                            int channel, bool isToken) const;
  CP_DEVICE void update(const Stage &stage, int count);
  CP_DEVICE float fadeState(const Steps &steps, int count);
  CP_DEVICE void weighInputs(const Steps &steps, float last, int row,
                             uint32_t (&x)[4]) const;
  // The same by a warpgroup.
  CP_DEVICE void passTileAsGroup(int slot, const TilePiece &piece,
                                 const TilePiece &next);
  CP_DEVICE void formOutputsAsGroup(int slot, const TilePiece &piece,
                                    const TilePiece &next);
  CP_DEVICE static void scaleFromStart(const Steps &steps, float (&y)[8][4]);
  CP_DEVICE void copyState() const;
  CP_DEVICE void weigh(const Steps &steps, const float (&products)[8][4],
                       uint32_t (&weights)[4][4]) const;
  template <int Groups>
  CP_DEVICE void startUpdate(const Stage &stage, int count);
  template <bool Whole>
  CP_DEVICE float storeRows(const Stage &stage, int count,
                            const float (&y)[8][4]) const;

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
  /// Where in a tile's y the lane's part of d starts: of warps that have rows
  /// of tokens, or channels.
  CP_DEVICE static int firstToken() {
    return (isOfWarpgroup ? channels() : 0) + q();
  }
  CP_DEVICE static int firstChannel() {
    return (isOfWarpgroup ? 0 : channels()) + r();
  }

  const Kernel &kernel;
  const Work &work;
  typename Kernel::Shared &memory;
  /// Of the head's channels there are here.
  int width;
  /// Kept, since to divide takes long where others wait.
  int ownGroup;
  /// What the thread copies next of B, C, x and the steps, and where in y its
  /// part of d goes next.
  const BFloat16 *nextB, *nextC, *nextX;
  const float *nextSteps;
  BFloat16 *nextY;
  Fragments<TileOfN> rowsOfN;
  Fragments<TileOf64> rowsOf64;
  Pairs<TileOf64> pairs;
  /// Sum of 0 times each output: not 0 where one is not finite.
  float check = 0;
  /// Of each stage a bit: the parity of the phase that comes next.
  uint32_t parities = 0;
  /// [channel, n] of 16 channels: d of products side by side.
  float state[Kernel::columnTiles][4];
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDTILESTHREAD_H
