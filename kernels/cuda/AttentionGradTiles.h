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
// a block has 64 rows, 16 for each warp or two, of queries (q, dout) or of keys
// (k, v) and goes through tiles of 64 of the others:
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

#include "AttentionGradTilesProducts.h"

namespace cp::kernels::cuda {

template <int D, bool OfKeys, bool ByGroup, int Stages>
CP_DEVICE void
AttentionGradTiles<D, OfKeys, ByGroup, Stages>::operator()() const {
  // Blocks of a form that code does not have are not started.
  if constexpr (!ByGroup || codeHasWarpgroups)
    AttentionGradTilesThread<AttentionGradTiles>(*this).run();
  else
    giveUp();
}

/// The next one from `from` on; endOfHeads() where there is none.
template <typename Kernel>
CP_DEVICE auto AttentionGradTilesThread<Kernel>::seek(Other from) const
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

template <typename Kernel>
template <bool AreKeys>
CP_DEVICE void AttentionGradTilesThread<Kernel>::fillSide(
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

template <typename Kernel>
CP_DEVICE void
AttentionGradTilesThread<Kernel>::fillRest(typename Kernel::Queries &to,
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
  } else if (thread() < 2 * keyTile) {
    copyInt(to.last[i], kernel.queries.last + from);
    copy4(&to.inner[i], &kernel.work.innerAt(b(), head, isThere ? row : 0),
          isThere);
  }
}

template <typename Kernel>
CP_DEVICE void
AttentionGradTilesThread<Kernel>::fillRest(typename Kernel::Keys &to, int64_t,
                                           int tile) const {
  if (int i = thread() * 4; i < keyTile)
    copy16(&to.positions[i],
           kernel.keys.positions + int64_t(tile) * keyTile + i, true);
}

template <typename Kernel>
CP_DEVICE void AttentionGradTilesThread<Kernel>::pass(bool isCareful) {
  CP_UNROLL
  for (int j = 0; j < share / 8; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    ofFirst[j][k] = ofSecond[j][k] = 0;
  auto fill = [&](Stage &stage, const Other &other) {
    if (other.head < endOfHeads())
      fillSide<!OfKeys>(stage, other.head, other.tile);
    commitCopies();
  };
  Other other = seek({firstHead(), 0});
  constexpr bool fillsAhead = Kernel::stages == 2;
  fill(memory.others[0], other);
  for (int slot = 0; other.head < endOfHeads(); slot ^= fillsAhead) {
    Stage &stage = memory.others[slot];
    Other next = seek({other.head, other.tile + 1});
    waitCopies<0>();
    if constexpr (isOfWarpgroup)
      publish();
    // The tile is there, and the other stage is nobody's any more.
    barrier();
    if constexpr (fillsAhead)
      fill(memory.others[slot ^ 1], next);
    if (isCareful) {
      clean(stage);
      if constexpr (isOfWarpgroup)
        publish();
      barrier();
      noteSpoilt(stage);
    }
    add(stage, isCareful || !isWhole(other.tile));
    if constexpr (!fillsAhead) {
      barrier();
      fill(stage, next);
    }
    other = next;
  }
  // Without others nobody has waited for the block's own rows.
  waitCopies<0>();
}

/// Zeros for what is not finite of what products are added up of.
template <typename Kernel>
CP_DEVICE void AttentionGradTilesThread<Kernel>::clean(Stage &stage) const {
  int row = thread();
  if (row >= keyTile)
    return;
  bool isSpoilt = cleanRow(stage.first, row);
  if (OfKeys)
    isSpoilt |= cleanRow(stage.second, row);
  sharedStore(&memory.spoilt[row], int(isSpoilt));
}

/// Of a row of the block and one of the others.
template <typename Kernel>
CP_DEVICE bool AttentionGradTilesThread<Kernel>::sees(const Stage &stage,
                                                      int row,
                                                      int column) const {
  int query = OfKeys ? column : row, key = OfKeys ? row : column;
  int position = sharedLoad(&keysOf(stage).positions[key]);
  int first = sharedLoad(&queriesOf(stage).first[query]);
  int last = sharedLoad(&queriesOf(stage).last[query]);
  // Loads behind a condition would be branches, a pair of rows each.
  return int(position >= first) & int(position <= last);
}

template <typename Kernel>
CP_DEVICE void
AttentionGradTilesThread<Kernel>::noteSpoilt(const Stage &stage) {
  CP_NO_UNROLL
  for (int column = 0; column < keyTile; ++column)
    if (sharedLoad(&memory.spoilt[column]))
      for (int j = 0; j < 2; ++j)
        if (sees(stage, rowOf(j), column))
          spoiltRows |= 1u << j;
}

template <typename Kernel>
CP_DEVICE bool AttentionGradTilesThread<Kernel>::isFinite() const {
  float check = 0;
  CP_UNROLL
  for (int j = 0; j < share / 8; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k) {
    check += 0 * ofFirst[j][k];
    if (OfKeys)
      check += 0 * ofSecond[j][k];
  }
  return vote(!(check == 0)) == 0;
}

template <typename Kernel>
CP_DEVICE void AttentionGradTilesThread<Kernel>::store() const {
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
      for (int k = 0; k < share / 8; ++k)
        CP_UNROLL
      for (int i = 0; i < 2; ++i)
        if (int channel = firstOfShare() + k * 8 + r() + i; channel < width)
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

template <typename Kernel>
CP_DEVICE void AttentionGradTilesThread<Kernel>::repair() const {
  // The others are nobody's any more then.
  barrier();
  if (warp() >= Kernel::strips)
    return;
  auto *scratch =
      reinterpret_cast<AttentionGradScratch<float, D> *>(memory.others);
  static_assert(Kernel::strips * sizeof(*scratch) <= sizeof(memory.others));
  uint32_t rows = spoiltRows;
  CP_UNROLL
  for (int mask = 1; mask <= 2; mask *= 2)
    rows |= shuffleXor(rows, mask);
  CP_NO_UNROLL
  for (int row = 0; row < band; ++row) {
    uint32_t ofLane = shuffle(rows, row % 8 * 4);
    int64_t at = int64_t(tile()) * keyTile + strip() * band + row;
    if (ofLane >> (row / 8) & 1 && at < (OfKeys ? args.s : args.l))
      formAlone<OfKeys>(kernel.work, b(), head(), at, scratch[warp()]);
    // What the row had of shared memory is the next one's.
    warpBarrier();
  }
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_ATTENTIONGRADTILES_H
