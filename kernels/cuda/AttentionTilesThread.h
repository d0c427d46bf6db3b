//===- AttentionTilesThread.h - A thread of attention -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_ATTENTIONTILESTHREAD_H
#define CP_KERNELS_CUDA_ATTENTIONTILESTHREAD_H

#include "Attention.h"
#include "AttentionPositions.h"
#include "Sums.h"
#include "Warpgroup.h"

#include <type_traits>

namespace cp::kernels::cuda {

/// Of heads of up to D channels. A block's four warps have 32 queries each, 16
/// where heads are wide, or, `ByGroups`, its two warpgroups 64; see
/// Warpgroup.h.
template <int D, bool ByGroups> struct AttentionTiles {
  static constexpr int threads = ByGroups ? 256 : 128;
  static constexpr int blocks = ByGroups && D == 128 ? 1 : 2;
  static constexpr int warps = threads / warpSize;
  static constexpr bool isOfWarpgroup = ByGroups, isWide = D > 128;
  static constexpr int queries = isWide ? 64 : 128, channels = D;

  template <int Rows>
  using TileOf =
      std::conditional_t<ByGroups, PanelTile<Rows, D>, Tile<Rows, D>>;
  struct Stage {
    TileOf<keyTile> K, V;
    alignas(16) int positions[keyTile];
  };
  struct Shared {
    TileOf<queries> q;
    Stage stages[isWide ? 1 : 2];
    /// The positions that each query sees.
    int first[queries], last[queries];
    /// Of each warp's queries together.
    int ranges[warps][2];
    /// Keys whose values are not all finite.
    int spoilt[keyTile];
    /// Whether an output is not finite.
    BlockVote<threads> isWrong;
  };
  static_assert(ByGroups ? fitsSm90<Shared>(blocks)
                         : sizeof(Shared) <= leastSharedMemory,
                "every card has it");

  AttentionWork<BFloat16> work;
  KeyTiles tiles;
  int queryTiles;
  /// Whether tiles can be filled 16 bytes at a time, and o stored in pairs.
  bool fastQ, fastK, fastV, fastO;

  CP_DEVICE void operator()() const;
};

enum class Sight { None, Part, Whole };

/// One thread of a block.
template <typename Kernel> class AttentionTilesThread {
public:
  using Stage = typename Kernel::Stage;
  static constexpr int D = Kernel::channels;
  static constexpr bool isOfWarpgroup = Kernel::isOfWarpgroup;
  static constexpr bool isWide = Kernel::isWide;
  /// Rows of 16 queries that a warp has, keys whose scores it keeps at once,
  /// and the rows and columns of a fragment.
  static constexpr int height = isOfWarpgroup || isWide ? 1 : 2;
  static constexpr int step = D == 128 && !isOfWarpgroup ? 32 : 64, band = 16;

  CP_DEVICE explicit AttentionTilesThread(const Kernel &kernel)
      : kernel(kernel), work(kernel.work), args(kernel.work.args),
        memory(shared<typename Kernel::Shared>()) {}

  CP_DEVICE void run() {
    prepareQueries();
    if constexpr (isOfWarpgroup)
      passAhead();
    else
      passOfWarps(false);
    if (!memory.isWrong.of(!store()))
      return;
    noteRepair();
    passOfWarps(true);
    store();
    repair();
  }

private:
  using Scores = float[height][step / 8][4];
  /// Of a warpgroup's tile, as products read them.
  using Weights = uint32_t[step / band][4];

  // Few of what follows is kept, since registers are.

  CP_DEVICE static int64_t b() { return blockZ(); }
  CP_DEVICE static int64_t head() { return blockY(); }
  CP_DEVICE int64_t group() const { return head() / (args.hq / args.hkv); }
  /// The last queries, which see most, come first.
  CP_DEVICE int64_t begin() const {
    return int64_t(kernel.queryTiles - 1 - blockX()) * Kernel::queries;
  }
  /// The lane's part of a fragment; see Tile.h.
  CP_DEVICE static int q() { return lane() / 4; }
  CP_DEVICE static int r() { return lane() % 4 * 2; }
  /// Of the block's queries one that the lane has sums of.
  CP_DEVICE static int rowOf(int i, int j) {
    return warp() * (height * band) + i * band + j * 8 + q();
  }

  CP_DEVICE void prepareQueries();
  CP_DEVICE SeenRange someOfWarps(int first, int count) const;
  CP_DEVICE int seek(int tile) const;
  CP_DEVICE void fillKeys(Stage &stage, int tile) const;
  CP_DEVICE void fillValues(Stage &stage, int tile) const;
  CP_DEVICE void fill(Stage &stage, int tile) const;
  CP_DEVICE void clearSums();
  CP_DEVICE void pass(bool isCareful);
  CP_DEVICE void passInTurn(bool isCareful);
  CP_DEVICE void passOfWarps(bool isCareful) {
    if constexpr (isWide)
      passInTurn(isCareful);
    else
      pass(isCareful);
  }
  CP_DEVICE void passAhead();
  CP_DEVICE bool attendAhead(const Stage &stage, const Stage &before, int tile,
                             bool isPending, Weights &weights);
  template <bool Waits>
  CP_DEVICE void makeWeights(const Stage &stage, Sight sight, Scores &s,
                             Weights &weights);
  CP_DEVICE void addPending(const Stage &stage, Weights &weights);
  CP_DEVICE void clean(Stage &stage) const;
  CP_DEVICE Sight sightOf(int tile) const;
  CP_DEVICE void attend(const Stage &stage, int tile, bool isCareful);
  CP_DEVICE void weigh(const Stage &stage, int from, bool isMasked,
                       bool isCareful, Scores &s);
  CP_DEVICE void formScores(const Stage &stage, int from, Scores &s) const;
  CP_DEVICE void scaleScores(Scores &s) const;
  CP_DEVICE void multiplyKeys(const Stage &stage, int from, Scores &s) const;
  CP_DEVICE void mask(const Stage &stage, int from, bool isCareful, Scores &s);
  CP_DEVICE bool formWeights(Scores &s, float (&kept)[height][2]);
  CP_DEVICE void scaleSums(const float (&kept)[height][2]);
  CP_DEVICE void addValues(const Stage &stage, int from, const Scores &s);
  CP_DEVICE void startScores(const Stage &stage, Scores &s) const;
  CP_DEVICE void multiplyKeysAsGroup(const Stage &stage, Scores &s) const;
  CP_DEVICE void packWeights(const Scores &s, Weights &weights) const;
  CP_DEVICE void startValues(const Stage &stage, Weights &weights);
  CP_DEVICE void addValuesAsGroup(const Stage &stage, const Scores &s);
  CP_DEVICE bool store() const;
  template <typename To>
  CP_DEVICE float storeRow(int i, int j, float factor, To *to,
                           int64_t step) const;
  CP_DEVICE void repair() const;

  const Kernel &kernel;
  const AttentionWork<BFloat16> &work;
  const AttentionArgs<BFloat16> &args;
  typename Kernel::Shared &memory;
  Fragments<typename Kernel::template TileOf<Kernel::queries>> rowsOfQ;
  Fragments<typename Kernel::template TileOf<keyTile>> rowsOfKeys;
  /// The positions that one of the block's, and one of the queries sees that
  /// are multiplied with this warp's, and those that all of the warp's see.
  SeenRange ofBlock, some, all;
  /// Of each row: the greatest score, times log2 e; the sum of weights in this
  /// lane's columns.
  float top[height][2], sum[height][2];
  float out[height][D / 8][4];
  /// A bit for each row that sees a key which is spoilt.
  uint32_t spoiltRows = 0;
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_ATTENTIONTILESTHREAD_H
