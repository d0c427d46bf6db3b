//===- SsdTiles.h - The scan on matrix units --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chunked form of Dao and Gu, "Transformers are SSMs" (2024), section 6, in
// bf16 with sums, states and decays in f32. A block goes through a segment in
// tiles of 64 tokens. Of its heads, which share a group's B and C, each has four
// warps, of which each has 16 channels, whose states stay in its registers:
//
//   weights  W = (C B^T) * decay * delta on and below the diagonal, in bf16,
//            made by all warps and kept in shared memory
//   outputs  y = from_start (C S) + W x + D x
//   update   S = whole S + (to_end x)^T B
//
// In W x a masked weight of 0 meets tokens behind the output's own: where an
// output is not finite, the warp goes through its tile token by token instead, so
// that what is not finite reaches no earlier token. Tiles begin with documents.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDTILES_H
#define CP_KERNELS_CUDA_SSDTILES_H

#include "SsdWork.h"
#include "Tile.h"

namespace cp::kernels::cuda {

/// Of scans with n <= N. `Heads` heads share a block; one with more than 64
/// channels counts as several.
template <int N, int Heads, bool Outputs> struct SsdTiles {
  static constexpr int threads = 128 * Heads, blocks = Heads == 1 ? 2 : 1;
  static constexpr int tokens = 64, width = 64, band = 16;
  /// Products side by side along n, and those that one fragment of b is for.
  static constexpr int columnTiles = N / 8, columnPairs = N / 16;

  /// What SsdSteps gives: delta of each token, and the sum of log2 decays in
  /// front of the tile and up to each token.
  struct Steps {
    float delta[tokens], high[tokens + 1], low[tokens + 1];
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
  };

  SsdWork<BFloat16> work;
  /// How many times 64 channels a head has; blocks that a group's heads take.
  int slices, blocksPerGroup;
  /// Whether tiles can be filled 16 bytes at a time, and y stored in pairs.
  bool fastX, fastB, fastC, fastY;

  CP_DEVICE void operator()() const;
};

/// Rows of a tile, which are one sequence's, or have no tokens.
struct TilePiece {
  int64_t first;
  int count;
  bool starts, hasTokens;
};

/// Where a row of blocks of 16 x 16 on and below the diagonal is, of ten.
CP_DEVICE int rowOfBlock(int i) { return i < 4 ? 3 : i < 7 ? 2 : i < 9 ? 1 : 0; }
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

  CP_DEVICE explicit SsdTilesThread(const Kernel &kernel);
  CP_DEVICE void run();

private:
  /// A head of the block, or 64 channels of it.
  struct Head {
    int head, channel, width;
  };
  CP_DEVICE Head headAt(int i) const;
  CP_DEVICE TilePiece pieceAt(int64_t first) const;
  CP_DEVICE void fill(Stage &stage, const TilePiece &piece) const;
  CP_DEVICE void fillSteps(Stage &stage, const TilePiece &piece) const;
  CP_DEVICE void clearStates();
  CP_DEVICE void loadStates();
  CP_DEVICE void storeStates() const;
  template <typename T>
  CP_DEVICE void storeStates(T *to, int64_t row, int64_t column) const;
  CP_DEVICE void formWeights(const Stage &stage, int count) const;
  CP_DEVICE void formBlock(const Stage &stage, int row, int column) const;
  /// False where an output is not finite.
  CP_DEVICE bool formOutputs(const Stage &stage, const TilePiece &piece) const;
  CP_DEVICE bool storeOutputs(const Stage &stage, const TilePiece &piece,
                              const float (&y)[tokens / band][2][4]) const;
  CP_DEVICE void update(const Stage &stage, int count);
  CP_DEVICE void goTokenByToken(const Stage &stage, const TilePiece &piece);
  CP_DEVICE void clearOutputs(const TilePiece &piece) const;
  CP_DEVICE float skipAt(int channel) const;

  const Kernel &kernel;
  const Work &work;
  typename Kernel::Shared &memory;
  int group, b, segment;
  int64_t begin, end;
  /// Which of the block's heads this warp is for, and where its channels and the
  /// lane's part of a fragment are; see Tile.h.
  int own, channels, q, r;
  Head head;
  /// [channel, n] of 16 channels: d of products side by side.
  float state[Kernel::columnTiles][4];
};

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTiles<N, Heads, Outputs>::operator()() const {
  SsdTilesThread<N, Heads, Outputs>(*this).run();
}

template <int N, int Heads, bool Outputs>
CP_DEVICE SsdTilesThread<N, Heads, Outputs>::SsdTilesThread(const Kernel &from)
    : kernel(from), work(from.work),
      memory(shared<typename Kernel::Shared>()),
      group(blockX() / from.blocksPerGroup), b(blockZ()), segment(blockY()),
      begin(int64_t(segment) * work.segment),
      end(least(begin + work.segment, work.l)), own(warp() / 4),
      channels(warp() % 4 * band), q(lane() / 4), r(lane() % 4 * 2),
      head(headAt(own)) {}

/// One that is not there has no channels.
template <int N, int Heads, bool Outputs>
CP_DEVICE auto SsdTilesThread<N, Heads, Outputs>::headAt(int i) const -> Head {
  int inGroup = blockX() % kernel.blocksPerGroup * Heads + i;
  int perGroup = int(work.h / work.g);
  bool isThere = inGroup < perGroup * kernel.slices;
  int at = isThere ? inGroup / kernel.slices : 0;
  int channel = isThere ? inGroup % kernel.slices * Kernel::width : 0;
  return {group * perGroup + at, channel,
          isThere ? int(least(Kernel::width, work.p - channel)) : 0};
}

/// Whether two rows are not of one sequence, the second one behind the first.
CP_DEVICE bool isCut(int64_t first, int64_t place) {
  return place == 0 || (place < 0) != (first < 0);
}

template <int N, int Heads, bool Outputs>
CP_DEVICE TilePiece
SsdTilesThread<N, Heads, Outputs>::pieceAt(int64_t first) const {
  int most = int(least(tokens, end > first ? end - first : 0));
  if (!work.places.data || !most)
    return {first, most, false, true};
  int64_t place = *at(work.places, b, first);
  int count = most;
  for (int part = 1; part >= 0; --part) {
    int row = part * warpSize + lane();
    bool cut = row > 0 && row < most &&
               isCut(place, *at(work.places, b, first + row));
    int found = firstBit(vote(cut));
    if (found < warpSize)
      count = part * warpSize + found;
  }
  return {first, count, place == 0, place >= 0};
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void
SsdTilesThread<N, Heads, Outputs>::fill(Stage &stage,
                                        const TilePiece &piece) const {
  if (piece.count && piece.hasTokens) {
    fillSteps(stage, piece);
    fillTile<Kernel::threads>(stage.B, at(work.B, b, piece.first, group),
                              work.B.strides[1], work.B.strides[3],
                              piece.count, int(work.n), kernel.fastB);
    if constexpr (Outputs)
      fillTile<Kernel::threads>(stage.C, at(work.C, b, piece.first, group),
                                work.C.strides[1], work.C.strides[3],
                                piece.count, int(work.n), kernel.fastC);
    CP_UNROLL
    for (int i = 0; i < Heads; ++i) {
      Head of = headAt(i);
      fillTile<Kernel::threads>(
          stage.x[i], at(work.x, b, piece.first, of.head, of.channel),
          work.x.strides[1], work.x.strides[3], piece.count, of.width,
          kernel.fastX);
    }
  }
  commitCopies();
}

/// Zeros behind the last token, and in front of a segment or a sequence.
template <int N, int Heads, bool Outputs>
CP_DEVICE void
SsdTilesThread<N, Heads, Outputs>::fillSteps(Stage &stage,
                                             const TilePiece &piece) const {
  int i = thread() % 128;
  Steps &steps = stage.steps[own];
  int64_t from = (b * work.h + head.head) * work.l + piece.first;
  if (i < tokens)
    copy4(&steps.delta[i], work.deltas + from + (i < piece.count ? i : 0),
          i < piece.count);
  if (i <= tokens) {
    bool valid = i <= piece.count &&
                 (i > 0 || (piece.first > begin && !piece.starts));
    int64_t at = valid ? from + i - 1 : from;
    copy4(&steps.high[i], work.highs + at, valid);
    copy4(&steps.low[i], work.lows + at, valid);
  }
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::clearStates() {
  CP_UNROLL
  for (int j = 0; j < Kernel::columnTiles; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    state[j][k] = 0;
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::loadStates() {
  clearStates();
  if (!work.before)
    return;
  const float *from =
      work.before + stateOffset(work, work.segments, b, segment, head.head) +
      (head.channel + channels + q) * work.n + r;
  CP_UNROLL
  for (int j = 0; j < Kernel::columnTiles; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    if (channels + q + k / 2 * 8 < head.width && j * 8 + r + k % 2 < work.n)
      state[j][k] = from[k / 2 * 8 * work.n + j * 8 + k % 2];
}

template <int N, int Heads, bool Outputs>
template <typename T>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::storeStates(
    T *to, int64_t row, int64_t column) const {
  to += (channels + q) * row + r * column;
  CP_UNROLL
  for (int j = 0; j < Kernel::columnTiles; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    if (channels + q + k / 2 * 8 < head.width && j * 8 + r + k % 2 < work.n)
      to[k / 2 * 8 * row + (j * 8 + k % 2) * column] = narrowed<T>(state[j][k]);
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::storeStates() const {
  if (work.after.data)
    storeStates(at(work.after, b, segment, head.head, head.channel),
                work.after.strides[3], work.after.strides[4]);
  if (segment + 1 != work.segments)
    return;
  if (work.finalState.data)
    storeStates(at(work.finalState, b, head.head, head.channel),
                work.finalState.strides[2], work.finalState.strides[3]);
  if (work.finalSum.data)
    storeStates(at(work.finalSum, b, head.head, head.channel),
                work.finalSum.strides[2], work.finalSum.strides[3]);
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void
SsdTilesThread<N, Heads, Outputs>::formWeights(const Stage &stage,
                                               int count) const {
  CP_NO_UNROLL
  for (int i = warp(); i < 10; i += 4 * Heads)
    if (int row = rowOfBlock(i) * band; row < count)
      formBlock(stage, row, columnOfBlock(i) * band);
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::formBlock(const Stage &stage,
                                                            int row,
                                                            int column) const {
  float sums[2][4] = {};
  CP_UNROLL
  for (int k = 0; k < Kernel::columnPairs; ++k) {
    uint32_t a[4], b[4];
    loadA(a, stage.C, row, k * band);
    loadBTransposed(b, stage.B, column, k * band);
    multiply(sums[0], a, b[0], b[1]);
    multiply(sums[1], a, b[2], b[3]);
  }
  CP_UNROLL
  for (int i = 0; i < Heads; ++i) {
    const Steps &steps = stage.steps[i];
    CP_UNROLL
    for (int j = 0; j < 4; ++j) {
      int t = row + q + j / 2 * 8, s = column + r + j % 2 * 8;
      float weights[2];
      CP_UNROLL
      for (int k = 0; k < 2; ++k) {
        float decay = exp2Fast((sharedLoad(&steps.high[t + 1]) -
                                sharedLoad(&steps.high[s + k + 1])) +
                               (sharedLoad(&steps.low[t + 1]) -
                                sharedLoad(&steps.low[s + k + 1])));
        float weight = sums[j % 2][j / 2 * 2 + k] * decay *
                       sharedLoad(&steps.delta[s + k]);
        weights[k] = s + k <= t ? weight : 0;
      }
      setPair(memory.weights[i], t, s, packed(weights[0], weights[1]));
    }
  }
}

template <int N, int Heads, bool Outputs>
CP_DEVICE bool SsdTilesThread<N, Heads, Outputs>::formOutputs(
    const Stage &stage, const TilePiece &piece) const {
  constexpr int rows = tokens / band;
  float y[rows][2][4] = {};
  CP_UNROLL
  for (int k = 0; k < Kernel::columnPairs; ++k) {
    uint32_t states[4];
    CP_UNROLL
    for (int j = 0; j < 4; ++j) {
      const float *from = state[2 * k + j % 2] + j / 2 * 2;
      states[j] = packed(from[0], from[1]);
    }
    CP_UNROLL
    for (int row = 0; row < rows; ++row) {
      uint32_t c[4];
      loadA(c, stage.C, row * band, k * band);
      multiply(y[row][0], c, states[0], states[1]);
      multiply(y[row][1], c, states[2], states[3]);
    }
  }
  const Steps &steps = stage.steps[own];
  float high = sharedLoad(&steps.high[0]), low = sharedLoad(&steps.low[0]);
  CP_UNROLL
  for (int row = 0; row < rows; ++row)
    CP_UNROLL
  for (int j = 0; j < 2; ++j) {
    int t = row * band + q + j * 8;
    float fromStart = exp2Fast((sharedLoad(&steps.high[t + 1]) - high) +
                               (sharedLoad(&steps.low[t + 1]) - low));
    CP_UNROLL
    for (int k = 0; k < 4; ++k)
      y[row][k / 2][2 * j + k % 2] *= fromStart;
  }
  CP_UNROLL
  for (int column = 0; column < rows; ++column) {
    if (column * band >= piece.count)
      break;
    uint32_t x[4];
    loadB(x, stage.x[own], column * band, channels);
    CP_UNROLL
    for (int row = column; row < rows; ++row) {
      if (row * band >= piece.count)
        break;
      uint32_t w[4];
      loadA(w, memory.weights[own], row * band, column * band);
      multiply(y[row][0], w, x[0], x[1]);
      multiply(y[row][1], w, x[2], x[3]);
    }
  }
  return storeOutputs(stage, piece, y);
}

template <int N, int Heads, bool Outputs>
CP_DEVICE float SsdTilesThread<N, Heads, Outputs>::skipAt(int channel) const {
  return work.D.data && channel < head.width
             ? widened(*at(work.D, head.head, head.channel + channel))
             : 0;
}

template <int N, int Heads, bool Outputs>
CP_DEVICE bool SsdTilesThread<N, Heads, Outputs>::storeOutputs(
    const Stage &stage, const TilePiece &piece,
    const float (&y)[tokens / band][2][4]) const {
  bool isFine = true;
  CP_UNROLL
  for (int k = 0; k < 2; ++k) {
    int channel = channels + k * 8 + r;
    float skips[2] = {skipAt(channel), skipAt(channel + 1)};
    BFloat16 *to =
        at(work.y, b, piece.first + q, head.head, head.channel + channel);
    CP_UNROLL
    for (int row = 0; row < tokens / band; ++row)
      CP_UNROLL
    for (int j = 0; j < 2; ++j) {
      int t = row * band + q + j * 8;
      if (t >= piece.count)
        continue;
      uint32_t x = pairAt(stage.x[own], t, channel);
      float first = y[row][k][2 * j] + skips[0] * lowOf(x);
      float second = y[row][k][2 * j + 1] + skips[1] * highOf(x);
      isFine &= isFinite(first) && isFinite(second);
      BFloat16 *there = to + (row * band + j * 8) * work.y.strides[1];
      if (kernel.fastY) {
        if (channel < head.width)
          *reinterpret_cast<uint32_t *>(there) = packed(first, second);
        continue;
      }
      if (channel < head.width)
        *there = narrowed<BFloat16>(first);
      if (channel + 1 < head.width)
        there[work.y.strides[3]] = narrowed<BFloat16>(second);
    }
  }
  return !vote(!isFine);
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::goTokenByToken(
    const Stage &stage, const TilePiece &piece) {
  // What was stored comes first.
  warpBarrier();
  const Steps &steps = stage.steps[own];
  CP_NO_UNROLL
  for (int t = 0; t < piece.count; ++t) {
    float decay = exp2Fast(
        (sharedLoad(&steps.high[t + 1]) - sharedLoad(&steps.high[t])) +
        (sharedLoad(&steps.low[t + 1]) - sharedLoad(&steps.low[t])));
    float delta = sharedLoad(&steps.delta[t]);
    float x[2], y[2] = {};
    CP_UNROLL
    for (int k = 0; k < 2; ++k)
      x[k] = valueAt(stage.x[own], t, channels + q + k * 8);
    CP_UNROLL
    for (int j = 0; j < Kernel::columnTiles; ++j) {
      uint32_t b2 = pairAt(stage.B, t, j * 8 + r);
      uint32_t c2 = pairAt(stage.C, t, j * 8 + r);
      CP_UNROLL
      for (int k = 0; k < 4; ++k) {
        float &now = state[j][k];
        now = decay * now +
              delta * x[k / 2] * (k % 2 ? highOf(b2) : lowOf(b2));
        y[k / 2] += now * (k % 2 ? highOf(c2) : lowOf(c2));
      }
    }
    CP_UNROLL
    for (int k = 0; k < 2; ++k) {
      y[k] += shuffleXor(y[k], 1);
      y[k] += shuffleXor(y[k], 2);
      int channel = channels + q + k * 8;
      if (r == 0 && channel < head.width)
        *at(work.y, b, piece.first + t, head.head, head.channel + channel) =
            narrowed<BFloat16>(work.D.data ? y[k] + skipAt(channel) * x[k]
                                           : y[k]);
    }
  }
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::update(const Stage &stage,
                                                         int count) {
  const Steps &steps = stage.steps[own];
  float high = sharedLoad(&steps.high[count]);
  float low = sharedLoad(&steps.low[count]);
  float whole = exp2Fast((high - sharedLoad(&steps.high[0])) +
                         (low - sharedLoad(&steps.low[0])));
  CP_UNROLL
  for (int j = 0; j < Kernel::columnTiles; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    state[j][k] *= whole;
  CP_UNROLL
  for (int row = 0; row < tokens; row += band) {
    if (row >= count)
      break;
    uint32_t x[4];
    loadATransposed(x, stage.x[own], row, channels);
    CP_UNROLL
    for (int j = 0; j < 2; ++j) {
      float toEnd[2];
      CP_UNROLL
      for (int k = 0; k < 2; ++k) {
        int t = row + r + j * 8 + k;
        toEnd[k] = exp2Fast((high - sharedLoad(&steps.high[t + 1])) +
                            (low - sharedLoad(&steps.low[t + 1]))) *
                   sharedLoad(&steps.delta[t]);
      }
      CP_UNROLL
      for (int k = 2 * j; k < 2 * j + 2; ++k)
        x[k] = packed(lowOf(x[k]) * toEnd[0], highOf(x[k]) * toEnd[1]);
    }
    CP_UNROLL
    for (int column = 0; column < Kernel::columnPairs; ++column) {
      uint32_t b[4];
      loadB(b, stage.B, row, column * band);
      multiply(state[2 * column], x, b[0], b[1]);
      multiply(state[2 * column + 1], x, b[2], b[3]);
    }
  }
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::clearOutputs(
    const TilePiece &piece) const {
  for (int k = thread() % 128; k < piece.count * head.width; k += 128)
    *at(work.y, b, piece.first + k / head.width, head.head,
        head.channel + k % head.width) = narrowed<BFloat16>(0);
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::run() {
  TilePiece piece = pieceAt(begin);
  fill(memory.stages[0], piece);
  loadStates();
  for (int slot = 0; piece.count; slot ^= 1) {
    Stage &stage = memory.stages[slot];
    TilePiece next = pieceAt(piece.first + piece.count);
    waitCopies<0>();
    // The tile is there, and the other stage is nobody's any more.
    barrier();
    fill(memory.stages[slot ^ 1], next);
    if (piece.starts)
      clearStates();
    bool isFine = true;
    if constexpr (Outputs) {
      if (piece.hasTokens) {
        formWeights(stage, piece.count);
        barrier();
        isFine = formOutputs(stage, piece);
      } else {
        clearOutputs(piece);
      }
      if (!isFine)
        goTokenByToken(stage, piece);
    }
    if (piece.hasTokens && isFine)
      update(stage, piece.count);
    piece = next;
  }
  storeStates();
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDTILES_H
