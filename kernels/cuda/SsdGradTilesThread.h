//===- SsdGradTilesThread.h - A thread of the adjoint of a tile -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDGRADTILESTHREAD_H
#define CP_KERNELS_CUDA_SSDGRADTILESTHREAD_H

#include "SsdGrad.h"
#include "SsdGradStates.h"
#include "Sums.h"
#include "Warpgroup.h"

#include <type_traits>

namespace cp::kernels::cuda {

/// Of a slice of channels and N columns. A block's four warps have 16 rows
/// each, which they multiply one by one, or, `ByGroup`, at once; see
/// Warpgroup.h.
template <int N, bool ByGroup> struct SsdGradTiles {
  static constexpr int threads = 128, blocks = N <= 128 ? 2 : 1;
  static constexpr int tokens = tileTokens, width = 64, states = N;
  static constexpr bool isOfWarpgroup = ByGroup;
  template <int Rows, int Columns>
  using TileOf = std::conditional_t<ByGroup, PanelTile<Rows, Columns>,
                                    Tile<Rows, Columns>>;
  struct Shared {
    SsdGradSteps steps;
    TileOf<tokens, width> x, dy;
    TileOf<tokens, N> B, C;
    /// [p][n]: G, and then S.
    TileOf<width, N> state;
    /// [t][s]: W K, and W P delta.
    Tile<tokens, tokens> weightedK, weightedP;
    /// [t][s]: V, of which V's rows become sums up to s.
    float pairs[tokens][tokens + 1];
    /// As in SsdGradTile.
    float direct[tokens], toEnd[tokens], fromFront[tokens];
    BlockSum<float, threads> sum;
    /// Of two warps, what goes to A_log and dt_bias.
    double totals[2][2];
    /// Whether something is not finite; and the rows of dy, B and C that have
    /// such.
    BlockVote<threads> isSpoilt;
    uint16_t spoilt[3][tokens];
  };
  static_assert(ByGroup    ? fitsSm90<Shared>(blocks)
                : N <= 128 ? sizeof(Shared) <= leastSharedMemory
                           : sizeof(Shared) <= 163 << 10,
                "every card has it, or, of more states, is asked");

  SsdGradWork<BFloat16> work;
  /// [b, tiles, h, p, n]: S in front of each tile, and G behind it, rounded.
  const BFloat16 *before, *behind;
  ChannelSlice slice;
  bool isFastX, isFastDy, isFastB, isFastC, isFastState, isFastDx;

  CP_DEVICE void operator()() const;
};

/// One thread of a block.
template <typename Kernel> class SsdGradTilesThread {
public:
  static constexpr int N = Kernel::states;
  static constexpr bool isOfWarpgroup = Kernel::isOfWarpgroup;
  using TileOfN = typename Kernel::template TileOf<Kernel::tokens, N>;
  using TileOf64 =
      typename Kernel::template TileOf<Kernel::tokens, Kernel::width>;
  using StateTile = typename Kernel::template TileOf<Kernel::width, N>;
  using Weights = Tile<Kernel::tokens, Kernel::tokens>;
  static constexpr int tokens = Kernel::tokens, width = Kernel::width;
  static constexpr int band = 16;
  /// Of what one thread adds up in order, so many are loaded together: shared
  /// memory answers each after some thirty cycles.
  static constexpr int atOnce = 8;

  CP_DEVICE explicit SsdGradTilesThread(const Kernel &kernel)
      : kernel(kernel), work(kernel.work),
        mine(shared<typename Kernel::Shared>()) {}

  CP_DEVICE void run() {
    bring();
    isCareful = findSpoilt();
    if constexpr (isOfWarpgroup)
      formPairsAsGroup();
    else
      formPairs();
    barrier();
    addUpPairs();
    passInputs();
    passB();
    barrier();
    bringState(kernel.before);
    waitCopies<0>();
    if constexpr (isOfWarpgroup)
      publish();
    barrier();
    float through = throughState();
    passC();
    barrier();
    passSteps(double(through));
    passD();
    barrier();
    if (thread() == 0)
      storeTotals();
  }

private:
  enum Spoilt { OfDy, OfB, OfC };
  template <int Columns> using Sums = float[Columns / 8][4];
  /// Of so many columns of its rows a warp has sums at once: as many as
  /// registers allow.
  static constexpr int mostColumns = N < 128 ? N : 128;
  using SumsOfN = Sums<mostColumns>;

  CP_DEVICE static int64_t b() { return blockZ(); }
  CP_DEVICE static int64_t head() { return blockY(); }
  CP_DEVICE int64_t group() const { return head() / (work.h / work.g); }
  CP_DEVICE static int64_t first() { return int64_t(blockX()) * tokens; }
  CP_DEVICE int64_t tile() const { return work.tileOf(b(), blockX(), head()); }
  /// Where what all tiles have of states begins for this one.
  CP_DEVICE int64_t stateAt() const {
    return (tile() * work.p + kernel.slice.first) * work.n;
  }
  /// The warp's first row, and the lane's part of a fragment; see Tile.h.
  CP_DEVICE static int top() { return warp() * band; }
  CP_DEVICE static int rowOf(int j) { return top() + j * 8 + lane() / 4; }
  CP_DEVICE static int columnOf(int j) { return j * 8 + lane() % 4 * 2; }
  CP_DEVICE static float rowSum(float value) {
    value += shuffleXor(value, 1);
    return value + shuffleXor(value, 2);
  }

  CP_DEVICE void bring();
  template <typename Tile>
  CP_DEVICE void bringRows(Tile &to, const View<const BFloat16, 4> &from,
                           int64_t of, int64_t column, int64_t columns,
                           bool isFast) const;
  CP_DEVICE void bringState(const BFloat16 *states) const;
  CP_DEVICE bool findSpoilt() const;
  template <typename Tile> CP_DEVICE static bool hasSpoilt(const Tile &tile);
  template <typename Tile>
  CP_DEVICE static uint16_t isSpoiltRow(const Tile &tile, int row);
  CP_DEVICE void formPairs() const;
  CP_DEVICE void formBlock(int column) const;
  CP_DEVICE void addUpPairs() const;
  CP_DEVICE void storePairs(int column, const float (&products)[2][4],
                            const float (&others)[2][4]) const;
  template <bool Transposed, typename Rows, int Columns>
  CP_DEVICE void addTokens(const Weights &weights, const Rows &rows,
                           Spoilt spoilt, int from,
                           float (&sums)[Columns][4]) const;
  template <bool Transposed, typename Rows, int Columns>
  CP_DEVICE void addTokensOneByOne(const Weights &weights, const Rows &rows,
                                   int from, float (&sums)[Columns][4]) const;
  template <bool Transposed, typename Rows, int Columns>
  CP_DEVICE void addSpoilt(const Weights &weights, const Rows &rows,
                           Spoilt spoilt, int from,
                           float (&sums)[Columns][4]) const;
  CP_DEVICE void addStates(const TileOf64 &rows, int from, SumsOfN &sums) const;
  CP_DEVICE void formLater(Sums<width> &later) const;
  // The same by a warpgroup.
  CP_DEVICE void formPairsAsGroup() const;
  template <bool Transposed, typename Rows>
  CP_DEVICE void addTokensAsGroup(const Weights &weights, const Rows &rows,
                                  Sums<Rows::columns> &sums) const;
  CP_DEVICE void addStatesAsGroup(const TileOf64 &rows, SumsOfN &sums) const;
  CP_DEVICE void formLaterAsGroup(Sums<width> &later) const;
  CP_DEVICE void passInputs() const;
  CP_DEVICE void storeInputs(const Sums<width> &within,
                             const Sums<width> &later) const;
  CP_DEVICE void storeInput(int row, int column, const float (&dx)[2]) const;
  CP_DEVICE void passB() const;
  CP_DEVICE void passC() const;
  CP_DEVICE void store(float *to, int from, const SumsOfN &sums) const;
  CP_DEVICE float throughState() const;
  CP_DEVICE float withState(const BFloat16 *behind) const;
  CP_DEVICE float withStateByOnes(const BFloat16 *behind) const;
  CP_DEVICE double ofDecayAt(int t, int row) const;
  CP_DEVICE void passSteps(double through) const;
  CP_DEVICE void passD() const;
  CP_DEVICE void storeTotals() const;

  const Kernel &kernel;
  const SsdGradWork<BFloat16> &work;
  typename Kernel::Shared &mine;
  bool isCareful = false;
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDGRADTILESTHREAD_H
