//===- SsdTiles.h - The scan on matrix units --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chunked form of Dao and Gu, "Transformers are SSMs" (2024), section 6, in
// bf16 with sums, states and decays in f32. A block goes through a segment in
// tiles of 64 tokens. Of its heads, which share a group's B and C, each warp has
// 16 channels, whose states stay in its registers:
//
//   weights  W = (C B^T) * decay * delta below the diagonal, in bf16, made by
//            all warps and kept in shared memory
//   outputs  y = from_start (C S) + W x + D x
//   update   S = whole S + (to_end x)^T B
//
// Log decays are summed in double and kept in two floats: what is exponentiated
// is the difference of two, which a tile with a large step would spoil. In
// W x a masked weight of 0 meets tokens behind the output's own: where an output
// is not finite, the warp goes through its tile token by token instead, so that
// what is not finite reaches no earlier token. Tiles begin with documents.
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
  static constexpr int threads = 128, blocks = 2;
  static constexpr int tokens = 64, width = 64, band = 16;
  /// Products side by side along n, and those that one fragment of b is for.
  static constexpr int columnTiles = N / 8, columnPairs = N / 16;

  /// Of each token of a tile: the sum of log2 decays up to it, in two parts;
  /// delta; what is left at it of the state in front of the tile, and behind the
  /// tile of what it adds.
  struct Steps {
    float high[tokens], low[tokens], delta[tokens];
    float fromStart[tokens], toEnd[tokens];
    float whole;
  };
  struct Stage {
    Tile<tokens, N> B;
    Tile<Outputs ? tokens : 1, Outputs ? N : 64> C;
    Tile<tokens, width> x[Heads];
  };
  struct Shared {
    Stage stages[2];
    Tile<Outputs ? tokens : 1, tokens> weights[Heads];
    Steps steps[2][Heads];
    /// D of each channel; zeros where there is none.
    float skip[Heads][width];
  };

  SsdWork<BFloat16> work;
  /// How many times 64 channels a head has; blocks that a group's heads take.
  int slices, blocksPerGroup;
  /// Whether tiles can be filled 16 bytes at a time.
  bool fastX, fastB, fastC;

  CP_DEVICE void operator()() const;
};

/// Rows of a tile, which are one sequence's, or have no tokens.
struct TilePiece {
  int64_t first;
  int count;
  bool starts, hasTokens;
};

/// One thread of a block.
template <int N, int Heads, bool Outputs> class SsdTilesThread {
public:
  using Kernel = SsdTiles<N, Heads, Outputs>;
  using Work = SsdWork<BFloat16>;
  static constexpr int tokens = Kernel::tokens, band = Kernel::band;

  CP_DEVICE explicit SsdTilesThread(const Kernel &kernel);
  CP_DEVICE void run();

private:
  /// A head of the block, or 64 channels of it.
  struct Head {
    int head, channel, width;
    bool isThere;
  };
  CP_DEVICE Head headAt(int i) const;
  CP_DEVICE TilePiece pieceAt(int64_t first) const;
  CP_DEVICE void fill(typename Kernel::Stage &stage,
                      const TilePiece &piece) const;
  CP_DEVICE void loadSteps(const TilePiece &piece);
  CP_DEVICE void formSteps(typename Kernel::Steps &steps,
                           const TilePiece &piece);
  CP_DEVICE void loadStates();
  CP_DEVICE void clearStates();
  CP_DEVICE void storeStates() const;
  CP_DEVICE void formWeights(const typename Kernel::Stage &stage,
                             const typename Kernel::Steps *steps, int count);
  /// False where an output is not finite.
  CP_DEVICE bool formOutputs(const typename Kernel::Stage &stage,
                             const typename Kernel::Steps *steps,
                             const TilePiece &piece);
  CP_DEVICE void update(const typename Kernel::Stage &stage,
                        const typename Kernel::Steps *steps, int count);
  CP_DEVICE void goTokenByToken(const typename Kernel::Stage &stage,
                                const typename Kernel::Steps &steps,
                                const TilePiece &piece, int i);
  CP_DEVICE void clearOutputs(const TilePiece &piece) const;
  CP_DEVICE void storeY(const Head &head, int64_t t, int channel, float low,
                        float high) const;

  const Kernel &kernel;
  const Work &work;
  typename Kernel::Shared &memory;
  int group, b, segment;
  int64_t end;
  /// Where the lane's part of a fragment is; see Tile.h.
  int q, r, channels;
  Head heads[Heads];
  /// [channel, n] of 16 channels: d of products side by side.
  float state[Heads][Kernel::columnTiles][4];
  /// Of the warp that forms a head's steps: what two tokens of the next tile
  /// have, the rate, and the sum over the segment.
  BFloat16 nextDt[2];
  float nextDelta[2], bias;
  double rate, total = 0;
  bool hasStart = false;
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
      q(lane() / 4), r(lane() % 4 * 2), channels(warp() * band) {
  end = least((int64_t(segment) + 1) * work.segment, work.l);
  CP_UNROLL
  for (int i = 0; i < Heads; ++i)
    heads[i] = headAt(i);
  if (warp() < Heads) {
    Head head = headAt(warp());
    rate = decayRateOf(double(widened(*at(work.aLog, head.head))));
    bias = work.delta.data ? 0 : biasOf(work, head.head);
  }
  if constexpr (Outputs)
    for (int i = thread(); i < Heads * Kernel::width; i += Kernel::threads) {
      Head head = headAt(i / Kernel::width);
      int channel = i % Kernel::width;
      bool valid = work.D.data && channel < head.width;
      sharedStore(&memory.skip[0][i],
                  valid ? widened(*at(work.D, head.head, head.channel + channel))
                        : 0.f);
    }
}

template <int N, int Heads, bool Outputs>
CP_DEVICE auto SsdTilesThread<N, Heads, Outputs>::headAt(int i) const -> Head {
  int inGroup = blockX() % kernel.blocksPerGroup * Heads + i;
  int perGroup = int(work.h / work.g);
  bool isThere = inGroup < perGroup * kernel.slices;
  int head = isThere ? inGroup / kernel.slices : 0;
  int channel = isThere ? inGroup % kernel.slices * Kernel::width : 0;
  return {group * perGroup + head, channel,
          isThere ? int(least(Kernel::width, work.p - channel)) : 0, isThere};
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
SsdTilesThread<N, Heads, Outputs>::fill(typename Kernel::Stage &stage,
                                        const TilePiece &piece) const {
  if (piece.count && piece.hasTokens) {
    fillTile<Kernel::threads>(stage.B, at(work.B, b, piece.first, group),
                              work.B.strides[1], work.B.strides[3],
                              piece.count, int(work.n), kernel.fastB);
    if constexpr (Outputs)
      fillTile<Kernel::threads>(stage.C, at(work.C, b, piece.first, group),
                                work.C.strides[1], work.C.strides[3],
                                piece.count, int(work.n), kernel.fastC);
    CP_UNROLL
    for (int i = 0; i < Heads; ++i)
      fillTile<Kernel::threads>(
          stage.x[i],
          at(work.x, b, piece.first, heads[i].head, heads[i].channel),
          work.x.strides[1], work.x.strides[3], piece.count, heads[i].width,
          kernel.fastX);
  }
  commitCopies();
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void
SsdTilesThread<N, Heads, Outputs>::loadSteps(const TilePiece &piece) {
  if (warp() >= Heads)
    return;
  int64_t head = headAt(warp()).head;
  CP_UNROLL
  for (int i = 0; i < 2; ++i) {
    int row = lane() * 2 + i;
    if (row >= piece.count)
      continue;
    if (work.delta.data)
      nextDelta[i] = *at(work.delta, b, piece.first + row, head);
    else
      nextDt[i] = *at(work.step.dt, b, piece.first + row, head);
  }
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void
SsdTilesThread<N, Heads, Outputs>::formSteps(typename Kernel::Steps &steps,
                                             const TilePiece &piece) {
  float delta[2];
  double log[2], sum[2];
  CP_UNROLL
  for (int i = 0; i < 2; ++i) {
    bool valid = lane() * 2 + i < piece.count && piece.hasTokens;
    delta[i] = !valid                ? 0
               : work.delta.data     ? nextDelta[i]
                                     : stepSizeOf(work, nextDt[i], bias);
    // The rate may be the largest number, so that it is not made larger first.
    log[i] = rate * double(delta[i]) * log2e;
    // More leaves nothing either; a sum stays finite, and NaN is NaN.
    log[i] = log[i] < -4096 ? -4096 : log[i];
  }
  double upTo = log[0] + log[1];
  CP_UNROLL
  for (int lanes = 1; lanes < warpSize; lanes *= 2) {
    double left = shuffleUp(upTo, lanes);
    upTo += lane() >= lanes ? left : 0;
  }
  sum[1] = upTo;
  sum[0] = upTo - log[1];
  double all = shuffle(upTo, warpSize - 1);
  CP_UNROLL
  for (int i = 0; i < 2; ++i) {
    int row = lane() * 2 + i;
    float high = float(sum[i]);
    sharedStore(&steps.high[row], high);
    sharedStore(&steps.low[row], float(sum[i] - double(high)));
    sharedStore(&steps.delta[row], delta[i]);
    sharedStore(&steps.fromStart[row], exp2Fast(high));
    sharedStore(&steps.toEnd[row],
                exp2Fast(float(all - sum[i])) * delta[i]);
  }
  if (lane() == 0)
    sharedStore(&steps.whole, exp2Fast(float(all)));
  total += all;
  hasStart |= piece.starts;
  Head head = headAt(warp());
  if (!work.formed.data || !head.isThere || head.channel)
    return;
  CP_UNROLL
  for (int i = 0; i < 2; ++i)
    if (int row = lane() * 2 + i; row < piece.count)
      *at(work.formed, b, piece.first + row, head.head) = delta[i];
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::clearStates() {
  CP_UNROLL
  for (int i = 0; i < Heads; ++i)
    CP_UNROLL
  for (int j = 0; j < Kernel::columnTiles; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    state[i][j][k] = 0;
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::loadStates() {
  clearStates();
  if (!work.before)
    return;
  CP_UNROLL
  for (int i = 0; i < Heads; ++i) {
    const float *from =
        work.before +
        stateOffset(work, work.segments, b, segment, heads[i].head) +
        heads[i].channel * work.n;
    CP_UNROLL
    for (int j = 0; j < Kernel::columnTiles; ++j)
      CP_UNROLL
    for (int k = 0; k < 4; ++k) {
      int channel = channels + q + k / 2 * 8, column = j * 8 + r + k % 2;
      if (channel < heads[i].width && column < work.n)
        state[i][j][k] = from[channel * work.n + column];
    }
  }
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::storeStates() const {
  bool isLast = segment + 1 == work.segments;
  CP_UNROLL
  for (int i = 0; i < Heads; ++i) {
    const Head &head = heads[i];
    CP_UNROLL
    for (int j = 0; j < Kernel::columnTiles; ++j)
      CP_UNROLL
    for (int k = 0; k < 4; ++k) {
      int64_t channel = channels + q + k / 2 * 8, column = j * 8 + r + k % 2;
      if (channel >= head.width || column >= work.n)
        continue;
      channel += head.channel;
      float value = state[i][j][k];
      if (work.after.data)
        *at(work.after, b, segment, head.head, channel, column) = value;
      if (work.finalState.data && isLast)
        *at(work.finalState, b, head.head, channel, column) =
            narrowed<BFloat16>(value);
      if (work.finalSum.data && isLast)
        *at(work.finalSum, b, head.head, channel, column) = value;
    }
  }
  Head head = headAt(warp());
  if (work.decays && warp() < Heads && lane() == 0 && head.isThere &&
      !head.channel)
    work.decays[(b * work.segments + segment) * work.h + head.head] =
        hasStart ? startOfSequence<float>() : float(exp2(total));
}

/// The blocks of 16 x 16 on and below the diagonal, as even as it goes among
/// four warps: at most three each, in one or two rows.
CP_DEVICE int rowOfBlock(int warp, int i) { return warp || !i ? warp : 3; }
CP_DEVICE int columnOfBlock(int warp, int i) {
  return warp == 0 ? 0 : warp == 3 ? i + 1 : i;
}
CP_DEVICE int blocksOf(int warp) { return warp < 2 ? 2 : 3; }

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::formWeights(
    const typename Kernel::Stage &stage, const typename Kernel::Steps *steps,
    int count) {
  float sums[3][2][4] = {};
  CP_NO_UNROLL
  for (int k = 0; k < Kernel::columnPairs; ++k) {
    uint32_t a[4], b[4];
    CP_UNROLL
    for (int i = 0; i < 3; ++i) {
      int row = rowOfBlock(warp(), i) * band;
      if (i >= blocksOf(warp()) || row >= count)
        continue;
      if (i == 0 || warp() == 0)
        loadA(a, stage.C, row, k * band);
      loadBTransposed(b, stage.B, columnOfBlock(warp(), i) * band, k * band);
      multiply(sums[i][0], a, b[0], b[1]);
      multiply(sums[i][1], a, b[2], b[3]);
    }
  }
  CP_UNROLL
  for (int i = 0; i < 3; ++i) {
    int row = rowOfBlock(warp(), i) * band + q;
    int column = columnOfBlock(warp(), i) * band + r;
    if (i >= blocksOf(warp()) || row - q >= count)
      continue;
    CP_UNROLL
    for (int head = 0; head < Heads; ++head) {
      const typename Kernel::Steps &of = steps[head];
      CP_UNROLL
      for (int j = 0; j < 4; ++j) {
        int t = row + j / 2 * 8, s = column + j % 2 * 8;
        float weights[2];
        CP_UNROLL
        for (int k = 0; k < 2; ++k) {
          float decay = exp2Fast(
              (sharedLoad(&of.high[t]) - sharedLoad(&of.high[s + k])) +
              (sharedLoad(&of.low[t]) - sharedLoad(&of.low[s + k])));
          float weight = sums[i][j % 2][j / 2 * 2 + k] * decay *
                         sharedLoad(&of.delta[s + k]);
          weights[k] = s + k <= t ? weight : 0;
        }
        setPair(memory.weights[head], t, s, packed(weights[0], weights[1]));
      }
    }
  }
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::storeY(const Head &head,
                                                         int64_t t, int channel,
                                                         float low,
                                                         float high) const {
  BFloat16 *to = at(work.y, b, t, head.head, head.channel + channel);
  if (channel + 1 < head.width && work.y.strides[3] == 1 &&
      reinterpret_cast<uintptr_t>(to) % 4 == 0) {
    *reinterpret_cast<uint32_t *>(to) = packed(low, high);
    return;
  }
  if (channel < head.width)
    *to = narrowed<BFloat16>(low);
  if (channel + 1 < head.width)
    to[work.y.strides[3]] = narrowed<BFloat16>(high);
}

template <int N, int Heads, bool Outputs>
CP_DEVICE bool SsdTilesThread<N, Heads, Outputs>::formOutputs(
    const typename Kernel::Stage &stage, const typename Kernel::Steps *steps,
    const TilePiece &piece) {
  // So many rows of blocks at a time as registers allow.
  constexpr int height = 2;
  bool isFine = true;
  CP_NO_UNROLL
  for (int top = 0; top < tokens / band; top += height) {
    if (top * band >= piece.count)
      break;
    float y[Heads][height][2][4] = {};
    CP_UNROLL
    for (int k = 0; k < Kernel::columnPairs; ++k) {
      uint32_t states[Heads][4];
      CP_UNROLL
      for (int i = 0; i < Heads; ++i)
        CP_UNROLL
      for (int j = 0; j < 4; ++j) {
        const float *from = state[i][2 * k + j % 2] + j / 2 * 2;
        states[i][j] = packed(from[0], from[1]);
      }
      CP_UNROLL
      for (int row = 0; row < height; ++row) {
        uint32_t c[4];
        loadA(c, stage.C, (top + row) * band, k * band);
        CP_UNROLL
        for (int i = 0; i < Heads; ++i) {
          multiply(y[i][row][0], c, states[i][0], states[i][1]);
          multiply(y[i][row][1], c, states[i][2], states[i][3]);
        }
      }
    }
    CP_UNROLL
    for (int i = 0; i < Heads; ++i) {
      CP_UNROLL
      for (int row = 0; row < height; ++row)
        CP_UNROLL
      for (int j = 0; j < 4; ++j) {
        float scale = sharedLoad(
            &steps[i].fromStart[(top + row) * band + q + j / 2 * 8]);
        y[i][row][0][j] *= scale;
        y[i][row][1][j] *= scale;
      }
      CP_NO_UNROLL
      for (int column = 0; column < top + height; ++column) {
        if (column * band >= piece.count)
          break;
        uint32_t x[4];
        loadB(x, stage.x[i], column * band, channels);
        CP_UNROLL
        for (int row = 0; row < height; ++row) {
          if (top + row < column || (top + row) * band >= piece.count)
            continue;
          uint32_t w[4];
          loadA(w, memory.weights[i], (top + row) * band, column * band);
          multiply(y[i][row][0], w, x[0], x[1]);
          multiply(y[i][row][1], w, x[2], x[3]);
        }
      }
      CP_UNROLL
      for (int row = 0; row < height; ++row)
        CP_UNROLL
      for (int j = 0; j < 4; ++j) {
        int t = (top + row) * band + q + j / 2 * 8;
        int channel = channels + j % 2 * 8 + r;
        if (t >= piece.count)
          continue;
        uint32_t x = pairAt(stage.x[i], t, channel);
        const float *d = &memory.skip[i][channel];
        float low = y[i][row][j % 2][j / 2 * 2] + sharedLoad(d) * lowOf(x);
        float high =
            y[i][row][j % 2][j / 2 * 2 + 1] + sharedLoad(d + 1) * highOf(x);
        isFine &= isFinite(low) && isFinite(high);
        storeY(heads[i], piece.first + t, channel, low, high);
      }
    }
  }
  return !vote(!isFine);
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::goTokenByToken(
    const typename Kernel::Stage &stage, const typename Kernel::Steps &steps,
    const TilePiece &piece, int i) {
  // What was stored comes first.
  warpBarrier();
  CP_NO_UNROLL
  for (int t = 0; t < piece.count; ++t) {
    float log = sharedLoad(&steps.high[t]);
    if (t > 0)
      log = (log - sharedLoad(&steps.high[t - 1])) +
            (sharedLoad(&steps.low[t]) - sharedLoad(&steps.low[t - 1]));
    float decay = exp2Fast(log);
    float x[2], y[2] = {};
    CP_UNROLL
    for (int k = 0; k < 2; ++k)
      x[k] = valueAt(stage.x[i], t, channels + q + k * 8);
    CP_UNROLL
    for (int j = 0; j < Kernel::columnTiles; ++j) {
      uint32_t b2 = pairAt(stage.B, t, j * 8 + r);
      uint32_t c2 = pairAt(stage.C, t, j * 8 + r);
      CP_UNROLL
      for (int k = 0; k < 4; ++k) {
        float in = sharedLoad(&steps.delta[t]) * x[k / 2];
        float &now = state[i][j][k];
        now = decay * now + in * (k % 2 ? highOf(b2) : lowOf(b2));
        y[k / 2] += now * (k % 2 ? highOf(c2) : lowOf(c2));
      }
    }
    CP_UNROLL
    for (int k = 0; k < 2; ++k) {
      y[k] += shuffleXor(y[k], 1);
      y[k] += shuffleXor(y[k], 2);
      int channel = channels + q + k * 8;
      if (r || channel >= heads[i].width)
        continue;
      float d = sharedLoad(&memory.skip[i][channel]);
      *at(work.y, b, piece.first + t, heads[i].head,
          heads[i].channel + channel) =
          narrowed<BFloat16>(work.D.data ? y[k] + d * x[k] : y[k]);
    }
  }
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::update(
    const typename Kernel::Stage &stage, const typename Kernel::Steps *steps,
    int count) {
  CP_UNROLL
  for (int i = 0; i < Heads; ++i) {
    float whole = sharedLoad(&steps[i].whole);
    CP_UNROLL
    for (int j = 0; j < Kernel::columnTiles; ++j)
      CP_UNROLL
    for (int k = 0; k < 4; ++k)
      state[i][j][k] *= whole;
  }
  CP_NO_UNROLL
  for (int row = 0; row < tokens; row += band) {
    if (row >= count)
      break;
    uint32_t x[Heads][4];
    CP_UNROLL
    for (int i = 0; i < Heads; ++i) {
      loadATransposed(x[i], stage.x[i], row, channels);
      CP_UNROLL
      for (int j = 0; j < 4; ++j) {
        const float *scale = &steps[i].toEnd[row + r + j / 2 * 8];
        x[i][j] = packed(lowOf(x[i][j]) * sharedLoad(scale),
                         highOf(x[i][j]) * sharedLoad(scale + 1));
      }
    }
    CP_UNROLL
    for (int column = 0; column < Kernel::columnPairs; ++column) {
      uint32_t b[4];
      loadB(b, stage.B, row, column * band);
      CP_UNROLL
      for (int i = 0; i < Heads; ++i) {
        multiply(state[i][2 * column], x[i], b[0], b[1]);
        multiply(state[i][2 * column + 1], x[i], b[2], b[3]);
      }
    }
  }
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::clearOutputs(
    const TilePiece &piece) const {
  CP_UNROLL
  for (int i = 0; i < Heads; ++i)
    for (int k = thread(); k < piece.count * heads[i].width;
         k += Kernel::threads)
      *at(work.y, b, piece.first + k / heads[i].width, heads[i].head,
          heads[i].channel + k % heads[i].width) = narrowed<BFloat16>(0);
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::run() {
  TilePiece piece = pieceAt(int64_t(segment) * work.segment);
  fill(memory.stages[0], piece);
  loadSteps(piece);
  loadStates();
  for (int slot = 0; piece.count; slot ^= 1) {
    typename Kernel::Stage &stage = memory.stages[slot];
    typename Kernel::Steps *steps = memory.steps[slot];
    TilePiece next = pieceAt(piece.first + piece.count);
    if (warp() < Heads)
      formSteps(steps[warp()], piece);
    waitCopies<0>();
    // Tile and steps are there, and the other stage is nobody's any more.
    barrier();
    fill(memory.stages[slot ^ 1], next);
    loadSteps(next);
    if (piece.starts)
      clearStates();
    bool isFine = true;
    if constexpr (Outputs) {
      if (piece.hasTokens) {
        formWeights(stage, steps, piece.count);
        barrier();
        isFine = formOutputs(stage, steps, piece);
      } else {
        clearOutputs(piece);
      }
    }
    if (!isFine) {
      CP_UNROLL
      for (int i = 0; i < Heads; ++i)
        goTokenByToken(stage, steps[i], piece, i);
    } else if (piece.hasTokens) {
      update(stage, steps, piece.count);
    }
    piece = next;
  }
  storeStates();
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDTILES_H
