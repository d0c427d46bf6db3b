//===- AttentionTiles.h - Attention on matrix units -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dao, "FlashAttention-2" (2023), in bf16 with scores and sums in f32 and
// weights rounded to bf16. A block has 128 queries of a head, 32 for each warp
// or 64 for each warpgroup, of wide heads 64, 16 for each warp, and goes
// through tiles of 64 keys: those of which a query may see one, by the least
// and the greatest position of each, so that any order of the sequence, windows
// and documents leave out what nobody sees. A tile that each of a warp's
// queries sees wholly is not masked.
//
// In a product a weight of 0 meets values that are not seen. Where an output is
// not finite, the block goes through its keys again, with zeros for what is not
// finite of the values, and queries that see such a key are attended to key by
// key: so another's output has the same bits as without it.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_ATTENTIONTILES_H
#define CP_KERNELS_CUDA_ATTENTIONTILES_H

#include "AttentionTilesAhead.h"
#include "AttentionTilesProducts.h"

namespace cp::kernels::cuda {

template <int D, bool ByGroups>
CP_DEVICE void AttentionTiles<D, ByGroups>::operator()() const {
  // Blocks of a form that code does not have are not started.
  if constexpr (!ByGroups || codeHasWarpgroups)
    AttentionTilesThread<AttentionTiles>(*this).run();
  else
    giveUp();
}

template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::prepareQueries() {
  // A warp's lanes have the numbers of its queries, once or twice.
  constexpr int ofWarp = height * band;
  int mine = warp() * ofWarp + lane() % ofWarp;
  int64_t row = begin() + mine;
  bool isThere = row < args.l;
  SeenRange seen = isThere ? seenBy(args.mask, args.places, b(), row,
                                    args.mask.causal ? work.queries[row] : 0)
                           : SeenRange();
  if (lane() < ofWarp) {
    sharedStore(&memory.first[mine], seen.first);
    sharedStore(&memory.last[mine], seen.last);
  }
  some = someOfWarp(seen);
  all = allOfWarp(isThere ? seen : SeenRange{0, nowhere});
  if (lane() == 0) {
    sharedStore(&memory.ranges[warp()][0], some.first);
    sharedStore(&memory.ranges[warp()][1], some.last);
  }
  fillTile<Kernel::threads>(
      memory.q, thread(), at(args.q, b(), begin(), head()),
      {int(least(args.l - begin(), Kernel::queries)), int(args.d),
       args.q.strides[1], args.q.strides[3], kernel.fastQ});
  barrier();
  ofBlock = someOfWarps(0, Kernel::warps);
  if constexpr (isOfWarpgroup)
    some = someOfWarps(warp() / 4 * 4, 4);
}

template <typename Kernel>
CP_DEVICE SeenRange AttentionTilesThread<Kernel>::someOfWarps(int first,
                                                              int count) const {
  SeenRange seen;
  CP_UNROLL
  for (int i = 0; i < count; ++i) {
    const int *range = memory.ranges[first + i];
    seen.first = lesser(seen.first, sharedLoad(&range[0]));
    seen.last = greater(seen.last, sharedLoad(&range[1]));
  }
  return seen;
}

/// The next tile from `tile` on that one of the block's queries may see; their
/// number where there is none.
template <typename Kernel>
CP_DEVICE int AttentionTilesThread<Kernel>::seek(int tile) const {
  const int *bounds = kernel.tiles.bounds;
  for (; tile < kernel.tiles.count; tile += warpSize) {
    int mine = tile + lane();
    bool isSeen = mine < kernel.tiles.count &&
                  bounds[2 * mine] <= ofBlock.last &&
                  bounds[2 * mine + 1] >= ofBlock.first;
    if (uint32_t seen = vote(isSeen))
      return tile + firstBit(seen);
  }
  return kernel.tiles.count;
}

/// Nothing, where `tile` is the number behind the last one.
template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::fillKeys(Stage &stage,
                                                      int tile) const {
  if (tile >= kernel.tiles.count)
    return;
  int64_t first = int64_t(tile) * keyTile;
  fillTile<Kernel::threads>(stage.K, thread(), at(args.k, b(), first, group()),
                            {int(least(args.s - first, keyTile)), int(args.d),
                             args.k.strides[1], args.k.strides[3],
                             kernel.fastK});
  if (int i = thread() * 4; i < keyTile)
    copy16(&stage.positions[i], kernel.tiles.positions + first + i, true);
}

template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::fillValues(Stage &stage,
                                                        int tile) const {
  if (tile >= kernel.tiles.count)
    return;
  int64_t first = int64_t(tile) * keyTile;
  fillTile<Kernel::threads>(stage.V, thread(), at(args.v, b(), first, group()),
                            {int(least(args.s - first, keyTile)), int(args.dv),
                             args.v.strides[1], args.v.strides[3],
                             kernel.fastV});
}

template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::fill(Stage &stage,
                                                  int tile) const {
  fillKeys(stage, tile);
  fillValues(stage, tile);
  commitCopies();
}

template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::clearSums() {
  CP_UNROLL
  for (int i = 0; i < height; ++i) {
    CP_UNROLL
    for (int j = 0; j < 2; ++j) {
      top[i][j] = -infinity;
      sum[i][j] = 0;
    }
    CP_UNROLL
    for (int j = 0; j < D / 8; ++j)
      CP_UNROLL
    for (int k = 0; k < 4; ++k)
      out[i][j][k] = 0;
  }
}

template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::pass(bool isCareful) {
  clearSums();
  int tile = seek(0);
  fill(memory.stages[0], tile);
  for (int slot = 0; tile < kernel.tiles.count; slot ^= 1) {
    Stage &stage = memory.stages[slot];
    int next = seek(tile + 1);
    waitCopies<0>();
    if constexpr (isOfWarpgroup)
      publish();
    // The tile is there, and the other stage is nobody's any more.
    barrier();
    fill(memory.stages[slot ^ 1], next);
    if (isCareful) {
      clean(stage);
      if constexpr (isOfWarpgroup)
        publish();
      barrier();
    }
    attend(stage, tile, isCareful);
    tile = next;
  }
  // Without keys nobody has waited for the queries.
  waitCopies<0>();
}

/// Of wide heads there is room for one stage, in which a tile's values come
/// while its keys are multiplied, and the next tile's keys while values are.
template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::passInTurn(bool isCareful) {
  static_assert(step == keyTile, "keys are read in front of values");
  clearSums();
  Stage &stage = memory.stages[0];
  int tile = seek(0);
  fillKeys(stage, tile);
  commitCopies();
  while (tile < kernel.tiles.count) {
    int next = seek(tile + 1);
    waitCopies<0>();
    // The keys are there, and the values before them are nobody's any more.
    barrier();
    fillValues(stage, tile);
    commitCopies();
    if (isCareful) {
      waitCopies<0>();
      barrier();
      clean(stage);
      barrier();
    }
    Sight sight = sightOf(tile);
    Scores s = {};
    if (sight != Sight::None)
      weigh(stage, 0, isCareful || sight == Sight::Part, isCareful, s);
    waitCopies<0>();
    // The values are there, and the keys nobody's.
    barrier();
    fillKeys(stage, next);
    commitCopies();
    if (sight != Sight::None)
      addValues(stage, 0, s);
    tile = next;
  }
  waitCopies<0>();
}

/// Zeros for what is not finite of the values.
template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::clean(Stage &stage) const {
  int key = thread();
  if (key >= keyTile)
    return;
  sharedStore(&memory.spoilt[key], int(cleanRow(stage.V, key)));
}

/// How much of a tile's keys the queries see that are multiplied together.
template <typename Kernel>
CP_DEVICE Sight AttentionTilesThread<Kernel>::sightOf(int tile) const {
  int low = kernel.tiles.bounds[2 * tile];
  int high = kernel.tiles.bounds[2 * tile + 1];
  if (low > some.last || high < some.first)
    return Sight::None;
  return low >= all.first && high <= all.last ? Sight::Whole : Sight::Part;
}

template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::attend(const Stage &stage,
                                                    int tile, bool isCareful) {
  Sight sight = sightOf(tile);
  if (sight == Sight::None)
    return;
  bool isMasked = isCareful || sight == Sight::Part;
  CP_NO_UNROLL
  for (int from = 0; from < keyTile; from += step) {
    Scores s = {};
    weigh(stage, from, isMasked, isCareful, s);
    if constexpr (isOfWarpgroup)
      addValuesAsGroup(stage, s);
    else
      addValues(stage, from, s);
  }
}

/// s becomes weights of `step` keys, and sums are of them too.
template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::weigh(const Stage &stage, int from,
                                                   bool isMasked,
                                                   bool isCareful, Scores &s) {
  formScores(stage, from, s);
  if (isMasked) {
    keepBranch();
    mask(stage, from, isCareful, s);
  }
  float kept[height][2];
  if (formWeights(s, kept))
    scaleSums(kept);
}

template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::mask(const Stage &stage, int from,
                                                  bool isCareful, Scores &s) {
  CP_UNROLL
  for (int i = 0; i < height; ++i)
    CP_UNROLL
  for (int j = 0; j < 2; ++j) {
    int first = sharedLoad(&memory.first[rowOf(i, j)]);
    int last = sharedLoad(&memory.last[rowOf(i, j)]);
    CP_UNROLL
    for (int k = 0; k < step / 4; ++k) {
      int key = from + k / 2 * 8 + r() + k % 2;
      int position = sharedLoad(&stage.positions[key]);
      bool sees = position >= first && position <= last;
      float &score = s[i][k / 2][2 * j + k % 2];
      score = sees ? score : -infinity;
      if (isCareful && sees && sharedLoad(&memory.spoilt[key]))
        spoiltRows |= 1u << (2 * i + j);
    }
  }
}

/// Returns whether one of the warp's rows keeps less than all of its outputs.
template <typename Kernel>
CP_DEVICE bool
AttentionTilesThread<Kernel>::formWeights(Scores &s, float (&kept)[height][2]) {
  bool isHigher = false;
  CP_UNROLL
  for (int i = 0; i < height; ++i)
    CP_UNROLL
  for (int j = 0; j < 2; ++j) {
    float most = top[i][j];
    CP_UNROLL
    for (int k = 0; k < step / 4; ++k) {
      float score = s[i][k / 2][2 * j + k % 2];
      most = score > most ? score : most;
    }
    CP_UNROLL
    for (int mask = 1; mask <= 2; mask *= 2) {
      float other = shuffleXor(most, mask);
      most = other > most ? other : most;
    }
    // Where nothing has been seen every difference would be none.
    float base = most == -infinity ? 0 : most;
    kept[i][j] = exp2Fast(top[i][j] - base);
    isHigher |= most > top[i][j];
    top[i][j] = most;
    float total = 0;
    CP_UNROLL
    for (int k = 0; k < step / 4; ++k) {
      float &score = s[i][k / 2][2 * j + k % 2];
      score = exp2Fast(score - base);
      total += score;
    }
    sum[i][j] = sum[i][j] * kept[i][j] + total;
  }
  return vote(isHigher) != 0;
}

template <typename Kernel>
CP_DEVICE void
AttentionTilesThread<Kernel>::scaleSums(const float (&kept)[height][2]) {
  CP_UNROLL
  for (int i = 0; i < height; ++i)
    CP_UNROLL
  for (int j = 0; j < D / 8; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    out[i][j][k] *= kept[i][k / 2];
}

/// Returns whether all of the warp's outputs are finite.
template <typename Kernel>
CP_DEVICE bool AttentionTilesThread<Kernel>::store() const {
  float check = 0;
  CP_UNROLL
  for (int i = 0; i < height; ++i)
    CP_UNROLL
  for (int j = 0; j < 2; ++j) {
    float total = sum[i][j];
    CP_UNROLL
    for (int mask = 1; mask <= 2; mask *= 2)
      total += shuffleXor(total, mask);
    int64_t row = begin() + rowOf(i, j);
    if (row >= args.l)
      continue;
    float factor = total == 0 ? 0 : 1 / total;
    check += args.sums.data
                 ? storeRow(i, j, factor, at(args.sums, b(), row, head()),
                            args.sums.strides[3])
                 : storeRow(i, j, factor, at(args.o, b(), row, head()),
                            args.o.strides[3]);
    constexpr float ln2 = 0.6931471805599453f;
    if (lane() % 4 == 0)
      *at(args.lse, b(), head(), row) =
          total == 0 ? -infinity : top[i][j] * ln2 + logarithm(total);
  }
  return vote(!(check == 0)) == 0;
}

/// Returns the sum of 0 times each output: not 0 where one is not finite.
template <typename Kernel>
template <typename To>
CP_DEVICE float AttentionTilesThread<Kernel>::storeRow(int i, int j,
                                                       float factor, To *to,
                                                       int64_t step) const {
  float check = 0;
  CP_UNROLL
  for (int k = 0; k < D / 8; ++k) {
    float first = out[i][k][2 * j] * factor;
    float second = out[i][k][2 * j + 1] * factor;
    check += 0 * first;
    check += 0 * second;
    int channel = k * 8 + r();
    if constexpr (sizeof(To) == 2)
      if (kernel.fastO) {
        if (channel < args.dv)
          *reinterpret_cast<uint32_t *>(to + channel) = packed(first, second);
        continue;
      }
    if (channel < args.dv)
      to[channel * step] = narrowed<To>(first);
    if (channel + 1 < args.dv)
      to[(channel + 1) * step] = narrowed<To>(second);
  }
  return check;
}

/// Apart from its callers, whose registers it would take.
template <int Channels>
CP_OUTLINED void
attendAlone(const AttentionWork<BFloat16> &work, int64_t b, int64_t h,
            int64_t row, AttentionRow<BFloat16>::Scratch<Channels> &scratch) {
  AttentionRow<BFloat16>(work, b, h, row, scratch).attend();
}

template <typename Kernel>
CP_DEVICE void AttentionTilesThread<Kernel>::repair() const {
  // Keys are nobody's any more then.
  barrier();
  auto *scratch =
      reinterpret_cast<AttentionRow<BFloat16>::Scratch<D> *>(memory.stages);
  static_assert(Kernel::warps * sizeof(*scratch) <= sizeof(memory.stages));
  uint32_t rows = spoiltRows;
  CP_UNROLL
  for (int mask = 1; mask <= 2; mask *= 2)
    rows |= shuffleXor(rows, mask);
  CP_NO_UNROLL
  for (int row = 0; row < height * band; ++row) {
    uint32_t ofLane = shuffle(rows, row % 8 * 4);
    int64_t at = begin() + warp() * (height * band) + row;
    if (ofLane >> (row / 8) & 1 && at < args.l)
      attendAlone(work, b(), head(), at, scratch[warp()]);
    // What the row had of shared memory is the next one's.
    warpBarrier();
  }
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_ATTENTIONTILES_H
