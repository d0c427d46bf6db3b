//===- AttentionTiles.h - Attention on matrix units -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dao, "FlashAttention-2" (2023), in bf16 with scores and sums in f32 and
// weights rounded to bf16. A block has 128 queries of a head, 32 for each warp,
// and goes through tiles of 64 keys: those of which a query may see one, by the
// least and the greatest position of each, so that any order of the sequence,
// windows and documents leave out what nobody sees. A tile that each of a
// warp's queries sees wholly is not masked.
//
// In a product a weight of 0 meets values that are not seen. Where an output is
// not finite, the block goes through its keys again, with zeros for what is not
// finite of the values, and queries that see such a key are attended to key by
// key: so another's output has the same bits as without it.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_ATTENTIONTILES_H
#define CP_KERNELS_CUDA_ATTENTIONTILES_H

#include "Attention.h"
#include "AttentionPositions.h"
#include "Sums.h"
#include "Tile.h"

namespace cp::kernels::cuda {

/// Of heads of up to D channels.
template <int D> struct AttentionTiles {
  static constexpr int threads = 128, blocks = 2, warps = threads / warpSize;
  static constexpr int queries = 128;

  struct Stage {
    Tile<keyTile, D> K, V;
    alignas(16) int positions[keyTile];
  };
  struct Shared {
    Tile<queries, D> q;
    Stage stages[2];
    /// The positions that each query sees.
    int first[queries], last[queries];
    /// Of each warp's queries together.
    int ranges[warps][2];
    /// Keys whose values are not all finite.
    int spoilt[keyTile];
    /// Whether an output is not finite.
    BlockVote<threads> isWrong;
  };
  static_assert(sizeof(Shared) <= leastSharedMemory, "every card has it");

  AttentionWork<BFloat16> work;
  KeyTiles tiles;
  int queryTiles;
  /// Whether tiles can be filled 16 bytes at a time, and o stored in pairs.
  bool fastQ, fastK, fastV, fastO;

  CP_DEVICE void operator()() const;
};

/// One thread of a block.
template <int D> class AttentionTilesThread {
public:
  using Kernel = AttentionTiles<D>;
  using Stage = typename Kernel::Stage;
  /// Rows of 16 queries that a warp has, keys whose scores it keeps at once,
  /// and the rows and columns of a fragment.
  static constexpr int height = 2, step = D == 64 ? 64 : 32, band = 16;

  CP_DEVICE explicit AttentionTilesThread(const Kernel &kernel)
      : kernel(kernel), work(kernel.work), args(kernel.work.args),
        memory(shared<typename Kernel::Shared>()) {}

  CP_DEVICE void run() {
    prepareQueries();
    pass(false);
    if (!memory.isWrong.of(!store()))
      return;
    noteRepair();
    pass(true);
    store();
    repair();
  }

private:
  using Scores = float[height][step / 8][4];

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
  CP_DEVICE int seek(int tile) const;
  CP_DEVICE void fill(Stage &stage, int tile) const;
  CP_DEVICE void pass(bool isCareful);
  CP_DEVICE void clean(Stage &stage) const;
  CP_DEVICE void attend(const Stage &stage, int tile, bool isCareful);
  CP_DEVICE void formScores(const Stage &stage, int from, Scores &s) const;
  CP_DEVICE void mask(const Stage &stage, int from, bool isCareful, Scores &s);
  CP_DEVICE void formWeights(Scores &s);
  CP_DEVICE void addValues(const Stage &stage, int from, const Scores &s);
  CP_DEVICE bool store() const;
  template <typename To>
  CP_DEVICE float storeRow(int i, int j, float factor, To *to,
                           int64_t step) const;
  CP_DEVICE void repair() const;

  const Kernel &kernel;
  const AttentionWork<BFloat16> &work;
  const AttentionArgs<BFloat16> &args;
  typename Kernel::Shared &memory;
  Fragments<Tile<Kernel::queries, D>> rowsOfQ;
  Fragments<Tile<keyTile, D>> rowsOfKeys;
  /// The positions that one of the block's, and one of the warp's queries sees,
  /// and those that all of the warp's see.
  SeenRange ofBlock, some, all;
  /// Of each row: the greatest score, times log2 e; the sum of weights in this
  /// lane's columns.
  float top[height][2], sum[height][2];
  float out[height][D / 8][4];
  /// A bit for each row that sees a key which is spoilt.
  uint32_t spoiltRows = 0;
};

template <int D> CP_DEVICE void AttentionTiles<D>::operator()() const {
  AttentionTilesThread<D>(*this).run();
}

template <int D> CP_DEVICE void AttentionTilesThread<D>::prepareQueries() {
  int64_t row = begin() + thread();
  bool isThere = row < args.l;
  SeenRange seen = isThere ? seenBy(args.mask, args.places, b(), row,
                                    args.mask.causal ? work.queries[row] : 0)
                           : SeenRange();
  sharedStore(&memory.first[thread()], seen.first);
  sharedStore(&memory.last[thread()], seen.last);
  // A warp's threads have the numbers of its queries.
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
  ofBlock = SeenRange();
  CP_UNROLL
  for (int i = 0; i < Kernel::warps; ++i) {
    ofBlock.first = lesser(ofBlock.first, sharedLoad(&memory.ranges[i][0]));
    ofBlock.last = greater(ofBlock.last, sharedLoad(&memory.ranges[i][1]));
  }
}

/// The next tile from `tile` on that one of the block's queries may see; their
/// number where there is none.
template <int D> CP_DEVICE int AttentionTilesThread<D>::seek(int tile) const {
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

template <int D>
CP_DEVICE void AttentionTilesThread<D>::fill(Stage &stage, int tile) const {
  if (tile < kernel.tiles.count) {
    int64_t first = int64_t(tile) * keyTile;
    int rows = int(least(args.s - first, keyTile));
    fillTile<Kernel::threads>(stage.K, thread(),
                              at(args.k, b(), first, group()),
                              {rows, int(args.d), args.k.strides[1],
                               args.k.strides[3], kernel.fastK});
    fillTile<Kernel::threads>(stage.V, thread(),
                              at(args.v, b(), first, group()),
                              {rows, int(args.dv), args.v.strides[1],
                               args.v.strides[3], kernel.fastV});
    if (int i = thread() * 4; i < keyTile)
      copy16(&stage.positions[i], kernel.tiles.positions + first + i, true);
  }
  commitCopies();
}

template <int D> CP_DEVICE void AttentionTilesThread<D>::pass(bool isCareful) {
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
  int tile = seek(0);
  fill(memory.stages[0], tile);
  for (int slot = 0; tile < kernel.tiles.count; slot ^= 1) {
    Stage &stage = memory.stages[slot];
    int next = seek(tile + 1);
    waitCopies<0>();
    // The tile is there, and the other stage is nobody's any more.
    barrier();
    fill(memory.stages[slot ^ 1], next);
    if (isCareful) {
      clean(stage);
      barrier();
    }
    attend(stage, tile, isCareful);
    tile = next;
  }
  // Without keys nobody has waited for the queries.
  waitCopies<0>();
}

/// Zeros for what is not finite of the values.
template <int D>
CP_DEVICE void AttentionTilesThread<D>::clean(Stage &stage) const {
  int key = thread();
  if (key >= keyTile)
    return;
  sharedStore(&memory.spoilt[key], int(cleanRow(stage.V, key)));
}

template <int D>
CP_DEVICE void AttentionTilesThread<D>::attend(const Stage &stage, int tile,
                                               bool isCareful) {
  int low = kernel.tiles.bounds[2 * tile];
  int high = kernel.tiles.bounds[2 * tile + 1];
  if (low > some.last || high < some.first)
    return;
  bool isWhole = !isCareful && low >= all.first && high <= all.last;
  CP_NO_UNROLL
  for (int from = 0; from < keyTile; from += step) {
    Scores s = {};
    formScores(stage, from, s);
    if (!isWhole) {
      keepBranch();
      mask(stage, from, isCareful, s);
    }
    formWeights(s);
    addValues(stage, from, s);
  }
}

/// Times log2 e.
template <int D>
CP_DEVICE void AttentionTilesThread<D>::formScores(const Stage &stage, int from,
                                                   Scores &s) const {
  // More would keep more of where fragments lie in registers.
  CP_UNROLL_TWICE
  for (int k = 0; k < D; k += band) {
    uint32_t a[height][4];
    CP_UNROLL
    for (int i = 0; i < height; ++i)
      rowsOfQ.loadA(a[i], memory.q, (warp() * height + i) * band, k);
    CP_UNROLL
    for (int j = 0; j < step / band; ++j) {
      uint32_t b[4];
      rowsOfKeys.loadBTransposed(b, stage.K, from + j * band, k);
      CP_UNROLL
      for (int i = 0; i < height; ++i) {
        multiply(s[i][2 * j], a[i], b[0], b[1]);
        multiply(s[i][2 * j + 1], a[i], b[2], b[3]);
      }
    }
  }
  auto factor = float(args.scale * log2e);
  CP_UNROLL
  for (int i = 0; i < height; ++i)
    CP_UNROLL
  for (int j = 0; j < step / 8; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    s[i][j][k] *= factor;
}

template <int D>
CP_DEVICE void AttentionTilesThread<D>::mask(const Stage &stage, int from,
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

template <int D>
CP_DEVICE void AttentionTilesThread<D>::formWeights(Scores &s) {
  bool isHigher = false;
  float kept[height][2];
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
  if (vote(isHigher) == 0)
    return;
  CP_UNROLL
  for (int i = 0; i < height; ++i)
    CP_UNROLL
  for (int j = 0; j < D / 8; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    out[i][j][k] *= kept[i][k / 2];
}

template <int D>
CP_DEVICE void AttentionTilesThread<D>::addValues(const Stage &stage, int from,
                                                  const Scores &s) {
  CP_UNROLL
  for (int k = 0; k < step / band; ++k) {
    uint32_t weights[height][4];
    CP_UNROLL
    for (int i = 0; i < height; ++i)
      CP_UNROLL
    for (int j = 0; j < 4; ++j) {
      const float *pair = s[i][2 * k + j / 2] + j % 2 * 2;
      weights[i][j] = packed(pair[0], pair[1]);
    }
    CP_UNROLL
    for (int j = 0; j < D / band; ++j) {
      uint32_t values[4];
      rowsOfKeys.loadB(values, stage.V, from + k * band, j * band);
      CP_UNROLL
      for (int i = 0; i < height; ++i) {
        multiply(out[i][2 * j], weights[i], values[0], values[1]);
        multiply(out[i][2 * j + 1], weights[i], values[2], values[3]);
      }
    }
  }
}

/// Returns whether all of the warp's outputs are finite.
template <int D> CP_DEVICE bool AttentionTilesThread<D>::store() const {
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
template <int D>
template <typename To>
CP_DEVICE float AttentionTilesThread<D>::storeRow(int i, int j, float factor,
                                                  To *to, int64_t step) const {
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

template <int D> CP_DEVICE void AttentionTilesThread<D>::repair() const {
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
