//===- AttentionGradTiles.h - Its cotangents on matrix units ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dao, "FlashAttention-2" (2023), section 3.1.2, in bf16 with sums in f32 and
// weights and cotangents of products rounded to bf16. One kernel has dq, and
// another dk and dv, so that each is added up in one order. Both are the same:
// a block has 64 rows, 16 for each warp, of queries (q, dout) or of keys (k, v)
// and goes through tiles of 64 of the others:
//
//   products     S = first first'^T,  dP = second second'^T
//   weights      W = exp(scale S - lse),  dS = W (dP - inner)
//   cotangents   scale dS first', and of keys W second' besides
//
// As forward, tiles in which nobody sees anything are left out, and where a sum
// is not finite the block begins again with zeros for what is not finite of the
// others; rows that see such, or are seen by it, are formed by themselves.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_ATTENTIONGRADTILES_H
#define CP_KERNELS_CUDA_ATTENTIONGRADTILES_H

#include "AttentionQueryTiles.h"
#include "Sums.h"
#include "Tile.h"

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

/// Of heads of up to D channels: dk and dv, or dq.
template <int D, bool OfKeys>
struct AttentionGradTiles : AttentionGradTilesCall {
  static constexpr int threads = 128, blocks = 2, warps = threads / warpSize;
  static constexpr int rows = keyTile;

  struct alignas(16) Queries {
    int first[rows], last[rows];
    float lse[rows], inner[rows];
  };
  struct alignas(16) Keys {
    int positions[rows];
  };
  /// Rows of queries (q, dout), or of keys (k, v).
  template <bool AreKeys> struct Side {
    Tile<rows, D> first, second;
    std::conditional_t<AreKeys, Keys, Queries> rest;
  };
  struct Shared {
    Side<OfKeys> own;
    Side<!OfKeys> stages[2];
    /// Rows of the others of which not all is finite.
    int spoilt[rows];
    /// Whether a sum is not finite.
    BlockVote<threads> isWrong;
  };
  static_assert(sizeof(Shared) <= leastSharedMemory, "every card has it");

  CP_DEVICE void operator()() const;
};

/// One thread of a block.
template <int D, bool OfKeys> class AttentionGradTilesThread {
public:
  using Kernel = AttentionGradTiles<D, OfKeys>;
  using Stage = typename Kernel::template Side<!OfKeys>;
  /// Columns of products that a warp keeps at once, and the rows and columns of
  /// a fragment.
  static constexpr int step = 32, band = 16;

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
  using Sums = float[D / 8][4];
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
  CP_DEVICE static int rowOf(int j) { return warp() * band + j * 8 + q(); }

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
  CP_DEVICE void multiplyRows(const Tile<keyTile, D> &own,
                              const Tile<keyTile, D> &other, int from,
                              Products &to) const;
  CP_DEVICE void formPairs(const Stage &stage, int from, bool isMasked,
                           Products &s, Products &d) const;
  CP_DEVICE void noteSpoilt(const Stage &stage);
  CP_DEVICE bool sees(const Stage &stage, int row, int column) const;
  CP_DEVICE void addRows(const Products &factors, const Tile<keyTile, D> &other,
                         int from, Sums &to) const;
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
  Fragments<Tile<keyTile, D>> fragments;
  /// dq or dk over scale; and dv.
  Sums ofFirst, ofSecond;
  /// A bit for each row that has to do with one that is spoilt.
  uint32_t spoiltRows = 0;
};

template <int D, bool OfKeys>
CP_DEVICE void AttentionGradTiles<D, OfKeys>::operator()() const {
  AttentionGradTilesThread<D, OfKeys>(*this).run();
}

/// The next one from `from` on; endOfHeads() where there is none.
template <int D, bool OfKeys>
CP_DEVICE auto AttentionGradTilesThread<D, OfKeys>::seek(Other from) const
    -> Other {
  for (; from.head < endOfHeads(); ++from.head, from.tile = 0)
    for (; from.tile < numOthers(); from.tile += warpSize) {
      int mine = from.tile + lane();
      bool isSeen = mine < numOthers() && isNeeded(mine);
      if (uint32_t votes = vote(isSeen))
        return {from.head, from.tile + firstBit(votes)};
    }
  return from;
}

template <int D, bool OfKeys>
template <bool AreKeys>
CP_DEVICE void AttentionGradTilesThread<D, OfKeys>::fillSide(
    typename Kernel::template Side<AreKeys> &side, int64_t head,
    int tile) const {
  int64_t begin = int64_t(tile) * keyTile;
  int rows = int(least((AreKeys ? args.s : args.l) - begin, keyTile));
  const View<const BFloat16, 4> &first = AreKeys ? args.k : args.q;
  const View<const BFloat16, 4> &second = AreKeys ? args.v : args.dout;
  fillTile<Kernel::threads>(side.first, thread(), at(first, b(), begin, head),
                            {rows, int(args.d), first.strides[1],
                             first.strides[3],
                             AreKeys ? kernel.isFastK : kernel.isFastQ});
  fillTile<Kernel::threads>(side.second, thread(), at(second, b(), begin, head),
                            {rows, int(args.e), second.strides[1],
                             second.strides[3],
                             AreKeys ? kernel.isFastV : kernel.isFastOut});
  fillRest(side.rest, head, tile);
}

template <int D, bool OfKeys>
CP_DEVICE void
AttentionGradTilesThread<D, OfKeys>::fillRest(typename Kernel::Queries &to,
                                              int64_t head, int tile) const {
  int i = thread() % keyTile;
  int64_t row = int64_t(tile) * keyTile + i;
  bool isThere = row < args.l;
  const int64_t from = (b() * kernel.queries.count + tile) * keyTile + i;
  auto copyInt = [](int &to, const int *from) {
    copy4(reinterpret_cast<float *>(&to), reinterpret_cast<const float *>(from),
          true);
  };
  if (thread() < keyTile) {
    copyInt(to.first[i], kernel.queries.first + from);
    copy4(&to.lse[i], at(args.lse, b(), head, isThere ? row : 0), isThere);
  } else {
    copyInt(to.last[i], kernel.queries.last + from);
    copy4(&to.inner[i], &kernel.work.innerAt(b(), head, isThere ? row : 0),
          isThere);
  }
}

template <int D, bool OfKeys>
CP_DEVICE void
AttentionGradTilesThread<D, OfKeys>::fillRest(typename Kernel::Keys &to,
                                              int64_t, int tile) const {
  if (int i = thread() * 4; i < keyTile)
    copy16(&to.positions[i],
           kernel.keys.positions + int64_t(tile) * keyTile + i, true);
}

template <int D, bool OfKeys>
CP_DEVICE void AttentionGradTilesThread<D, OfKeys>::pass(bool isCareful) {
  CP_UNROLL
  for (int j = 0; j < D / 8; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    ofFirst[j][k] = ofSecond[j][k] = 0;
  auto fill = [&](Stage &stage, const Other &other) {
    if (other.head < endOfHeads())
      fillSide<!OfKeys>(stage, other.head, other.tile);
    commitCopies();
  };
  Other other = seek({firstHead(), 0});
  fill(memory.stages[0], other);
  for (int slot = 0; other.head < endOfHeads(); slot ^= 1) {
    Stage &stage = memory.stages[slot];
    Other next = seek({other.head, other.tile + 1});
    waitCopies<0>();
    // The tile is there, and the other stage is nobody's any more.
    barrier();
    fill(memory.stages[slot ^ 1], next);
    if (isCareful) {
      clean(stage);
      barrier();
      noteSpoilt(stage);
    }
    add(stage, isCareful || !isWhole(other.tile));
    other = next;
  }
  // Without others nobody has waited for the block's own rows.
  waitCopies<0>();
}

/// Zeros for what is not finite of what products are added up of.
template <int D, bool OfKeys>
CP_DEVICE void AttentionGradTilesThread<D, OfKeys>::clean(Stage &stage) const {
  int row = thread();
  if (row >= keyTile)
    return;
  bool isSpoilt = cleanRow(stage.first, row);
  if (OfKeys)
    isSpoilt |= cleanRow(stage.second, row);
  sharedStore(&memory.spoilt[row], int(isSpoilt));
}

/// Of a row of the block and one of the others.
template <int D, bool OfKeys>
CP_DEVICE bool AttentionGradTilesThread<D, OfKeys>::sees(const Stage &stage,
                                                         int row,
                                                         int column) const {
  int query = OfKeys ? column : row, key = OfKeys ? row : column;
  int position = sharedLoad(&keysOf(stage).positions[key]);
  return position >= sharedLoad(&queriesOf(stage).first[query]) &&
         position <= sharedLoad(&queriesOf(stage).last[query]);
}

template <int D, bool OfKeys>
CP_DEVICE void
AttentionGradTilesThread<D, OfKeys>::noteSpoilt(const Stage &stage) {
  CP_NO_UNROLL
  for (int column = 0; column < keyTile; ++column)
    if (sharedLoad(&memory.spoilt[column]))
      for (int j = 0; j < 2; ++j)
        if (sees(stage, rowOf(j), column))
          spoiltRows |= 1u << j;
}

template <int D, bool OfKeys>
CP_DEVICE void AttentionGradTilesThread<D, OfKeys>::add(const Stage &stage,
                                                        bool isMasked) {
  CP_NO_UNROLL
  for (int from = 0; from < keyTile; from += step) {
    Products s = {}, d = {};
    multiplyRows(memory.own.first, stage.first, from, s);
    multiplyRows(memory.own.second, stage.second, from, d);
    formPairs(stage, from, isMasked, s, d);
    if constexpr (OfKeys)
      addRows(s, stage.second, from, ofSecond);
    addRows(d, stage.first, from, ofFirst);
  }
}

template <int D, bool OfKeys>
CP_DEVICE void AttentionGradTilesThread<D, OfKeys>::multiplyRows(
    const Tile<keyTile, D> &own, const Tile<keyTile, D> &other, int from,
    Products &to) const {
  // More would keep more of where fragments lie in registers.
  CP_UNROLL_TWICE
  for (int k = 0; k < D; k += band) {
    uint32_t a[4];
    fragments.loadA(a, own, warp() * band, k);
    CP_UNROLL
    for (int j = 0; j < step / band; ++j) {
      uint32_t b[4];
      fragments.loadBTransposed(b, other, from + j * band, k);
      multiply(to[2 * j], a, b[0], b[1]);
      multiply(to[2 * j + 1], a, b[2], b[3]);
    }
  }
}

/// s becomes weights, and d the cotangents of products.
template <int D, bool OfKeys>
CP_DEVICE void
AttentionGradTilesThread<D, OfKeys>::formPairs(const Stage &stage, int from,
                                               bool isMasked, Products &s,
                                               Products &d) const {
  auto factor = float(args.scale * log2e);
  CP_UNROLL
  for (int k = 0; k < step / 4; ++k)
    CP_UNROLL
  for (int j = 0; j < 2; ++j) {
    int row = rowOf(j), column = from + k / 2 * 8 + r() + k % 2;
    int query = OfKeys ? column : row;
    float lse = sharedLoad(&queriesOf(stage).lse[query]);
    float inner = sharedLoad(&queriesOf(stage).inner[query]);
    float &weight = s[k / 2][2 * j + k % 2], &dWeight = d[k / 2][2 * j + k % 2];
    weight = exp2Fast(weight * factor - lse * float(log2e));
    dWeight = weight * (dWeight - inner);
    if (isMasked && !sees(stage, row, column))
      weight = dWeight = 0;
  }
}

template <int D, bool OfKeys>
CP_DEVICE void
AttentionGradTilesThread<D, OfKeys>::addRows(const Products &factors,
                                             const Tile<keyTile, D> &other,
                                             int from, Sums &to) const {
  CP_UNROLL
  for (int k = 0; k < step / band; ++k) {
    uint32_t a[4];
    CP_UNROLL
    for (int j = 0; j < 4; ++j) {
      const float *pair = factors[2 * k + j / 2] + j % 2 * 2;
      a[j] = packed(pair[0], pair[1]);
    }
    CP_UNROLL
    for (int j = 0; j < D / band; ++j) {
      uint32_t b[4];
      fragments.loadB(b, other, from + k * band, j * band);
      multiply(to[2 * j], a, b[0], b[1]);
      multiply(to[2 * j + 1], a, b[2], b[3]);
    }
  }
}

template <int D, bool OfKeys>
CP_DEVICE bool AttentionGradTilesThread<D, OfKeys>::isFinite() const {
  float check = 0;
  CP_UNROLL
  for (int j = 0; j < D / 8; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k) {
    check += 0 * ofFirst[j][k];
    if (OfKeys)
      check += 0 * ofSecond[j][k];
  }
  return vote(!(check == 0)) == 0;
}

template <int D, bool OfKeys>
CP_DEVICE void AttentionGradTilesThread<D, OfKeys>::store() const {
  uint32_t left = spoiltRows;
  CP_UNROLL
  for (int mask = 1; mask <= 2; mask *= 2)
    left |= shuffleXor(left, mask);
  CP_UNROLL
  for (int j = 0; j < 2; ++j) {
    int64_t row = int64_t(tile()) * keyTile + rowOf(j);
    if (row >= (OfKeys ? args.s : args.l) || left >> j & 1)
      continue;
    auto storeRow = [&](const Sums &sums, float factor, int64_t width,
                        const View<const float, 4> &added, auto &to) {
      const float *first = added.data ? at(added, b(), row, head()) : nullptr;
      auto *out = at(to, b(), row, head());
      CP_UNROLL
      for (int k = 0; k < D / 8; ++k)
        CP_UNROLL
      for (int i = 0; i < 2; ++i)
        if (int channel = k * 8 + r() + i; channel < width)
          out[channel * to.strides[3]] =
              narrowed<std::remove_reference_t<decltype(*out)>>(
                  (first ? first[channel * added.strides[3]] : 0) +
                  factor * sums[k][2 * j + i]);
    };
    auto scale = float(args.scale);
    if constexpr (OfKeys) {
      storeRow(ofFirst, scale, args.d, args.dkBefore, args.dk);
      storeRow(ofSecond, 1, args.e, args.dvBefore, args.dv);
    } else if (args.dqSum.data) {
      storeRow(ofFirst, scale, args.d, args.dqBefore, args.dqSum);
    } else {
      storeRow(ofFirst, scale, args.d, args.dqBefore, args.dq);
    }
  }
}

/// Apart from its callers, whose registers it would take.
template <bool OfKeys, int Channels>
CP_OUTLINED void formAlone(const AttentionGradWork<BFloat16> &work, int64_t b,
                           int64_t head, int64_t row,
                           AttentionGradScratch<float, Channels> &scratch) {
  using Row =
      std::conditional_t<OfKeys, KeyGradRow<BFloat16>, QueryGradRow<BFloat16>>;
  Row(work, b, head, row, scratch).form();
}

template <int D, bool OfKeys>
CP_DEVICE void AttentionGradTilesThread<D, OfKeys>::repair() const {
  // The others are nobody's any more then.
  barrier();
  auto *scratch =
      reinterpret_cast<AttentionGradScratch<float, D> *>(memory.stages);
  static_assert(Kernel::warps * sizeof(*scratch) <= sizeof(memory.stages));
  uint32_t rows = spoiltRows;
  CP_UNROLL
  for (int mask = 1; mask <= 2; mask *= 2)
    rows |= shuffleXor(rows, mask);
  CP_NO_UNROLL
  for (int row = 0; row < band; ++row) {
    uint32_t ofLane = shuffle(rows, row % 8 * 4);
    int64_t at = int64_t(tile()) * keyTile + warp() * band + row;
    if (ofLane >> (row / 8) & 1 && at < (OfKeys ? args.s : args.l))
      formAlone<OfKeys>(kernel.work, b(), head(), at, scratch[warp()]);
    // What the row had of shared memory is the next one's.
    warpBarrier();
  }
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_ATTENTIONGRADTILES_H
