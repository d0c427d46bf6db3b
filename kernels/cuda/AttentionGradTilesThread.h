//===- AttentionGradTilesThread.h - A thread of the adjoint -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_ATTENTIONGRADTILESTHREAD_H
#define CP_KERNELS_CUDA_ATTENTIONGRADTILESTHREAD_H

#include "AttentionQueryTiles.h"
#include "Sums.h"
#include "Warpgroup.h"

#include <type_traits>

namespace cp::kernels::cuda {

/// What both kernels are given.
struct AttentionGradTilesCall {
  AttentionGradWork<BFloat16> work;
  KeyTiles keys;
  QueryTiles queries;
  /// Whether tiles can be filled 16 bytes at a time.
  bool isFastQ, isFastK, isFastV, isFastOut;
};

/// Of heads of up to D channels: dk and dv, or dq. A block's four warps have 16
/// rows each, which they multiply one by one, or, `ByGroup`, at once; see
/// Warpgroup.h. Where heads are wide two warps share the rows: both form all
/// products of them, and each the sums of half the channels. There a block has
/// `Stages` tiles of the others, as its card has room.
template <int D, bool OfKeys, bool ByGroup, int Stages = 2>
struct AttentionGradTiles : AttentionGradTilesCall {
  static constexpr bool isWide = D > 128;
  static constexpr int threads = isWide ? 256 : 128, blocks = isWide ? 1 : 2;
  static constexpr int rows = keyTile, channels = D, stages = Stages;
  static constexpr int strips = rows / 16, warpsOfStrip = isWide ? 2 : 1;
  static constexpr bool isOfKeys = OfKeys, isOfWarpgroup = ByGroup;
  using TileOf = std::conditional_t<ByGroup, PanelTile<rows, D>, Tile<rows, D>>;

  struct alignas(16) Queries {
    int first[rows], last[rows];
    float lse[rows], inner[rows];
  };
  struct alignas(16) Keys {
    int positions[rows];
  };
  /// Rows of queries (q, dout), or of keys (k, v).
  template <bool AreKeys> struct Side {
    TileOf first, second;
    std::conditional_t<AreKeys, Keys, Queries> rest;
  };
  struct Shared {
    Side<OfKeys> own;
    Side<!OfKeys> others[Stages];
    /// Rows of the others of which not all is finite.
    int spoilt[rows];
    /// Whether a sum is not finite.
    BlockVote<threads> isWrong;
  };
  static_assert(ByGroup  ? fitsSm90<Shared>(blocks)
                : isWide ? sizeof(Shared) <= 227 << 10
                         : sizeof(Shared) <= leastSharedMemory,
                "every card has it, or, of wide heads, is asked");

  CP_DEVICE void operator()() const;
};

/// One thread of a block.
template <typename Kernel> class AttentionGradTilesThread {
public:
  static constexpr int D = Kernel::channels;
  static constexpr bool OfKeys = Kernel::isOfKeys;
  static constexpr bool isOfWarpgroup = Kernel::isOfWarpgroup;
  static constexpr bool isWide = Kernel::isWide;
  /// The channels that a warp has sums of.
  static constexpr int share = D / Kernel::warpsOfStrip;
  using TileOf = typename Kernel::TileOf;
  using Stage = typename Kernel::template Side<!OfKeys>;
  /// Columns of products that a warp keeps at once, and the rows and columns of
  /// a fragment.
  static constexpr int step = isOfWarpgroup ? 64 : 32, band = 16;

  CP_DEVICE explicit AttentionGradTilesThread(const Kernel &kernel)
      : kernel(kernel), args(kernel.work.args),
        memory(shared<typename Kernel::Shared>()) {}

  CP_DEVICE void run() {
    fillSide<OfKeys>(memory.own, head(), tile());
    pass(false);
    bool isWrong = memory.isWrong.of(!isFinite());
    if (isWrong) {
      noteRepair();
      pass(true);
    }
    // Sums may be added to in place, so they are stored once.
    store();
    if (isWrong)
      repair();
  }

private:
  using Sums = float[share / 8][4];
  using Products = float[step / 8][4];
  /// A tile of the others: a head's.
  struct Other {
    int64_t head;
    int tile;
  };

  // Few of what follows is kept, since registers are.

  CP_DEVICE static int64_t b() { return blockZ(); }
  CP_DEVICE static int64_t head() { return blockY(); }
  /// The last queries, which see most, and the first keys come first.
  CP_DEVICE int tile() const {
    return OfKeys ? blockX() : kernel.queries.count - 1 - blockX();
  }
  /// The lane's part of a fragment; see Tile.h.
  CP_DEVICE static int q() { return lane() / 4; }
  CP_DEVICE static int r() { return lane() % 4 * 2; }
  /// The warp's 16 rows of the block's, and the first channel of its sums.
  CP_DEVICE static int strip() { return warp() % Kernel::strips; }
  CP_DEVICE static int firstOfShare() {
    return isWide ? warp() / Kernel::strips * share : 0;
  }
  CP_DEVICE static int rowOf(int j) { return strip() * band + j * 8 + q(); }

  CP_DEVICE int64_t firstHead() const {
    int64_t each = kernel.work.headsPerGroup();
    return OfKeys ? head() * each : head() / each;
  }
  CP_DEVICE int64_t endOfHeads() const {
    return firstHead() + (OfKeys ? kernel.work.headsPerGroup() : 1);
  }
  CP_DEVICE int numOthers() const {
    return OfKeys ? kernel.queries.count : kernel.keys.count;
  }
  /// Of the block's tile and one of the others'.
  CP_DEVICE const SeenRange *seen(int other) const {
    return kernel.queries.bounds +
           2 * (b() * kernel.queries.count + (OfKeys ? other : tile()));
  }
  CP_DEVICE const int *positions(int other) const {
    return kernel.keys.bounds + 2 * (OfKeys ? tile() : other);
  }

  CP_DEVICE bool isNeeded(int other) const {
    SeenRange some = seen(other)[0];
    const int *range = positions(other);
    return range[0] <= some.last && range[1] >= some.first;
  }
  CP_DEVICE bool isWhole(int other) const {
    SeenRange all = seen(other)[1];
    const int *range = positions(other);
    return range[0] >= all.first && range[1] <= all.last;
  }

  CP_DEVICE Other seek(Other from) const;
  template <bool AreKeys>
  CP_DEVICE void fillSide(typename Kernel::template Side<AreKeys> &side,
                          int64_t head, int tile) const;
  CP_DEVICE void fillRest(typename Kernel::Queries &to, int64_t head,
                          int tile) const;
  CP_DEVICE void fillRest(typename Kernel::Keys &to, int64_t head,
                          int tile) const;
  CP_DEVICE void pass(bool isCareful);
  CP_DEVICE void clean(Stage &stage) const;
  CP_DEVICE void add(const Stage &stage, bool isMasked);
  CP_DEVICE void formProducts(const TileOf &own, const TileOf &other, int from,
                              int64_t width, Products &to) const;
  CP_DEVICE void formPairs(const Stage &stage, int from, bool isMasked,
                           Products &s, Products &d) const;
  CP_DEVICE void noteSpoilt(const Stage &stage);
  CP_DEVICE bool sees(const Stage &stage, int row, int column) const;
  CP_DEVICE void addRows(const Products &factors, const TileOf &other, int from,
                         int64_t width, Sums &to) const;
  // The same by a warpgroup, of all of a tile's rows.
  CP_DEVICE void addAsGroup(const Stage &stage, bool isMasked);
  CP_DEVICE static void startProducts(const TileOf &own, const TileOf &other,
                                      Products &to);
  CP_DEVICE static void startSums(const uint32_t (&factors)[4][4],
                                  const TileOf &other, Sums &to);
  CP_DEVICE bool isFinite() const;
  CP_DEVICE void store() const;
  CP_DEVICE void repair() const;

  CP_DEVICE const typename Kernel::Queries &
  queriesOf(const Stage &stage) const {
    if constexpr (OfKeys)
      return stage.rest;
    else
      return memory.own.rest;
  }
  CP_DEVICE const typename Kernel::Keys &keysOf(const Stage &stage) const {
    if constexpr (OfKeys)
      return memory.own.rest;
    else
      return stage.rest;
  }

  const Kernel &kernel;
  const AttentionGradArgs<BFloat16> &args;
  typename Kernel::Shared &memory;
  Fragments<TileOf> fragments;
  /// dq or dk over scale; and dv.
  Sums ofFirst, ofSecond;
  /// A bit for each row that has to do with one that is spoilt.
  uint32_t spoiltRows = 0;
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_ATTENTIONGRADTILESTHREAD_H
