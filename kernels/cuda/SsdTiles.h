//===- SsdTiles.h - The scan on matrix units --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chunked form of Dao and Gu, "Transformers are SSMs" (2024), section 6, in
// bf16 with sums, states and decays in f32. A block goes through a segment in
// tiles of 64 tokens. Of its heads, which share a group's B and C, each has
// four warps, of which each has 16 channels, whose states stay in its
// registers:
//
//   weights  W = (C B^T) * decay * delta on and below the diagonal, in bf16,
//            made by all warps and kept in shared memory
//   outputs  y = from_start (C S) + W x + D x
//   update   S = whole S + (to_end x)^T B
//
// In W x a masked weight of 0 meets tokens behind the output's own: where an
// output is not finite, its segment is marked, and SsdRepair goes through it
// token by token, so that what is not finite reaches no earlier token. Tiles
// begin with documents.
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
  static constexpr int tokens = tileTokens, width = 64, band = 16;
  /// Products side by side along n, and those that one fragment of b is for.
  static constexpr int columnTiles = N / 8, columnPairs = N / 16;

  /// What SsdSteps gives of each token.
  struct Steps {
    float sums[tokens], inputs[tokens];
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
    /// D of each channel; zeros where there is none.
    float skips[Heads][width];
  };

  SsdWork<BFloat16> work;
  /// How many times 64 channels a head has; blocks that a group's heads take.
  int slices, blocksPerGroup;
  /// Whether tiles can be filled 16 bytes at a time, and y stored in pairs.
  bool fastX, fastB, fastC, fastY;
  /// [b, segments, h]: where an output is not finite.
  bool *spoiled;

  /// How many of its blocks a multiprocessor takes.
  static int residents(int heads) { return heads == 1 ? 2 : 1; }
  CP_DEVICE void operator()() const;
};

/// Rows of a tile, which are one sequence's, or have no tokens.
struct TilePiece {
  /// In its segment.
  int first;
  int count;
  bool starts, hasTokens;
};

constexpr float infinity = __builtin_inff();

/// Where a row of blocks of 16 x 16 on and below the diagonal is, of ten.
CP_DEVICE int rowOfBlock(int i) {
  return i < 4 ? 3 : i < 7 ? 2 : i < 9 ? 1 : 0;
}
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
  CP_DEVICE void fill(Stage &stage, const TilePiece &piece);
  CP_DEVICE void fillSteps(Stage &stage, const TilePiece &piece) const;
  CP_DEVICE void prepareMemory() const;
  CP_DEVICE void clearStates();
  CP_DEVICE void loadStates();
  CP_DEVICE void storeStates() const;
  template <typename T>
  CP_DEVICE void storeStates(T *to, int64_t row, int64_t column) const;
  CP_DEVICE void formWeights(const Stage &stage, int count) const;
  CP_DEVICE void formBlock(const Stage &stage, int row, int column) const;
  CP_DEVICE void formOutputs(const Stage &stage, const TilePiece &piece);
  CP_DEVICE void formRows(const Stage &stage, int top, int count,
                          float (&y)[height][2][4]) const;
  template <bool Whole>
  CP_DEVICE float storeRows(const Stage &stage, int count, int top,
                            const float (&y)[height][2][4]) const;
  CP_DEVICE void update(const Stage &stage, int count);
  CP_DEVICE void clearOutputs(const TilePiece &piece) const;

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

  const Kernel &kernel;
  const Work &work;
  typename Kernel::Shared &memory;
  /// Of the head's channels there are here.
  int width;
  /// What the thread copies next of B, C, x and the steps, and where in y its
  /// part of d goes next.
  const BFloat16 *nextB, *nextC, *nextX;
  const float *nextSteps;
  BFloat16 *nextY;
  Fragments<Tile<tokens, N>> rowsOfN;
  Fragments<Tile<tokens, 64>> rowsOf64;
  Pairs<Tile<tokens, 64>> pairs;
  /// Sum of 0 times each output: not 0 where one is not finite.
  float check = 0;
  /// [channel, n] of 16 channels: d of products side by side.
  float state[Kernel::columnTiles][4];
};

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTiles<N, Heads, Outputs>::operator()() const {
  SsdTilesThread<N, Heads, Outputs>(*this).run();
}

template <int N, int Heads, bool Outputs>
CP_DEVICE SsdTilesThread<N, Heads, Outputs>::SsdTilesThread(const Kernel &from)
    : kernel(from), work(from.work), memory(shared<typename Kernel::Shared>()) {
  Head head = ownHead();
  width = head.width;
  nextB = at(work.B, b(), begin(), group());
  nextX = at(work.x, b(), begin(), head.head, head.channel);
  nextSteps = (thread() % 128 < tokens ? work.sums : work.inputs) +
              (b() * work.h + head.head) * work.l + begin() + thread() % tokens;
  if constexpr (Outputs) {
    nextC = at(work.C, b(), begin(), group());
    nextY = at(work.y, b(), begin() + q(), head.head,
               head.channel + channels() + r());
  }
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::prepareMemory() const {
  if constexpr (Outputs) {
    Head head = ownHead();
    for (int i = thread() % 128; i < Kernel::width; i += 128)
      sharedStore(&memory.skips[own()][i],
                  work.D.data && i < width
                      ? widened(*at(work.D, head.head, head.channel + i))
                      : 0.f);
    // Blocks above the diagonal that formRows reads and nobody writes.
    if (int half = warp() % 4 * 32; half < tokens)
      for (int i = 0; i < 4; ++i)
        pairs.store(memory.weights[own()], half + i / 2 * 8,
                    half + band + i % 2 * 8, 0);
  }
}

/// One that is not there has no channels.
template <int N, int Heads, bool Outputs>
CP_DEVICE auto SsdTilesThread<N, Heads, Outputs>::ownHead() const -> Head {
  int inGroup = blockX() % kernel.blocksPerGroup * Heads + own();
  int perGroup = int(work.h / work.g);
  bool isThere = inGroup < perGroup * kernel.slices;
  int at = isThere ? inGroup / kernel.slices : 0;
  int channel = isThere ? inGroup % kernel.slices * Kernel::width : 0;
  return {group() * perGroup + at, channel,
          isThere ? int(least(Kernel::width, work.p - channel)) : 0};
}

/// Whether two rows are not of one sequence, the second one behind the first.
CP_DEVICE bool isCut(int64_t first, int64_t place) {
  return place == 0 || (place < 0) != (first < 0);
}

template <int N, int Heads, bool Outputs>
CP_DEVICE TilePiece
SsdTilesThread<N, Heads, Outputs>::pieceAt(int first) const {
  int64_t length = least(work.segment, work.l - begin());
  int most = int(least(tokens, length - first));
  if (!work.places.data || most <= 0)
    return {first, most > 0 ? most : 0, false, true};
  int64_t place = *at(work.places, b(), begin() + first);
  int count = most;
  for (int part = 1; part >= 0; --part) {
    int row = part * warpSize + lane();
    bool cut = row > 0 && row < most &&
               isCut(place, *at(work.places, b(), begin() + first + row));
    int found = firstBit(vote(cut));
    if (found < warpSize)
      count = part * warpSize + found;
  }
  return {first, count, place == 0, place >= 0};
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::fill(Stage &stage,
                                                       const TilePiece &piece) {
  if (piece.count && piece.hasTokens) {
    fillSteps(stage, piece);
    // B by the first threads, C by the last ones.
    constexpr int some = Heads == 1 ? 128 : 256;
    if (int index = thread(); index < some)
      fillTile<some>(stage.B, index, nextB,
                     {piece.count, int(work.n), work.B.strides[1],
                      work.B.strides[3], kernel.fastB});
    if constexpr (Outputs)
      if (int index = Kernel::threads - 1 - thread(); index < some)
        fillTile<some>(stage.C, index, nextC,
                       {piece.count, int(work.n), work.C.strides[1],
                        work.C.strides[3], kernel.fastC});
    fillTile<128>(stage.x[own()], thread() % 128, nextX,
                  {piece.count, width, work.x.strides[1], work.x.strides[3],
                   kernel.fastX});
  }
  nextB += piece.count * work.B.strides[1];
  nextX += piece.count * work.x.strides[1];
  nextSteps += piece.count;
  if constexpr (Outputs)
    nextC += piece.count * work.C.strides[1];
  commitCopies();
}

/// A token that is not there adds nothing.
template <int N, int Heads, bool Outputs>
CP_DEVICE void
SsdTilesThread<N, Heads, Outputs>::fillSteps(Stage &stage,
                                             const TilePiece &piece) const {
  int i = thread() % tokens;
  bool valid = i < piece.count, isSum = thread() % 128 < tokens;
  Steps &steps = stage.steps[own()];
  float *to = isSum ? &steps.sums[i] : &steps.inputs[i];
  if (valid || isSum)
    copy4(to, valid ? nextSteps : nextSteps - i, valid);
  else
    sharedStore(to, -infinity);
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
  Head head = ownHead();
  const float *from =
      work.before +
      stateOffset(work, work.segments, b(), segment(), head.head) +
      (head.channel + channels() + q()) * work.n + r();
  CP_UNROLL
  for (int j = 0; j < Kernel::columnTiles; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    if (channels() + q() + k / 2 * 8 < width && j * 8 + r() + k % 2 < work.n)
      state[j][k] = from[k / 2 * 8 * work.n + j * 8 + k % 2];
}

template <int N, int Heads, bool Outputs>
template <typename T>
CP_DEVICE void
SsdTilesThread<N, Heads, Outputs>::storeStates(T *to, int64_t row,
                                               int64_t column) const {
  to += (channels() + q()) * row + r() * column;
  CP_UNROLL
  for (int j = 0; j < Kernel::columnTiles; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    if (channels() + q() + k / 2 * 8 < width && j * 8 + r() + k % 2 < work.n)
      to[k / 2 * 8 * row + (j * 8 + k % 2) * column] = narrowed<T>(state[j][k]);
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::storeStates() const {
  Head head = ownHead();
  if (work.after.data)
    storeStates(at(work.after, b(), segment(), head.head, head.channel),
                work.after.strides[3], work.after.strides[4]);
  if (segment() + 1 != work.segments)
    return;
  if (work.finalState.data)
    storeStates(at(work.finalState, b(), head.head, head.channel),
                work.finalState.strides[2], work.finalState.strides[3]);
  if (work.finalSum.data)
    storeStates(at(work.finalSum, b(), head.head, head.channel),
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
  // In two sums each, which do not wait for each other.
  float products[2][4] = {}, others[2][4] = {};
  uint32_t a[2][4], b[2][4];
  auto load = [&](int k) {
    rowsOfN.loadA(a[k % 2], stage.C, row, k * band);
    rowsOfN.loadBTransposed(b[k % 2], stage.B, column, k * band);
  };
  load(0);
  CP_UNROLL
  for (int k = 0; k < Kernel::columnPairs; ++k) {
    if (k + 1 < Kernel::columnPairs)
      load(k + 1);
    auto &sums = k % 2 ? others : products;
    multiply(sums[0], a[k % 2], b[k % 2][0], b[k % 2][1]);
    multiply(sums[1], a[k % 2], b[k % 2][2], b[k % 2][3]);
  }
  CP_UNROLL
  for (int i = 0; i < 8; ++i)
    products[i / 4][i % 4] += others[i / 4][i % 4];
  CP_UNROLL
  for (int i = 0; i < Heads; ++i) {
    const Steps &steps = stage.steps[i];
    // Read before anything is stored, so that each is read once.
    float sums[2], inputs[4];
    CP_UNROLL
    for (int j = 0; j < 2; ++j)
      sums[j] = sharedLoad(&steps.sums[row + q() + j * 8]);
    CP_UNROLL
    for (int j = 0; j < 4; ++j)
      inputs[j] = sharedLoad(&steps.inputs[column + r() + j / 2 * 8 + j % 2]);
    CP_UNROLL
    for (int j = 0; j < 4; ++j) {
      int t = row + q() + j / 2 * 8, s = column + r() + j % 2 * 8;
      float weights[2];
      CP_UNROLL
      for (int k = 0; k < 2; ++k) {
        weights[k] = products[j % 2][j / 2 * 2 + k] *
                     exp2Fast(sums[j / 2] + inputs[j % 2 * 2 + k]);
        if (row == column)
          weights[k] = s + k <= t ? weights[k] : 0;
      }
      pairs.store(memory.weights[i], row + j / 2 * 8, column + j % 2 * 8,
                  packed(weights[0], weights[1]));
    }
  }
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::formRows(
    const Stage &stage, int top, int count, float (&y)[height][2][4]) const {
  // Fragments are loaded one step ahead of their use.
  uint32_t c[2][height][4];
  auto load = [&](int k) {
    CP_UNROLL
    for (int row = 0; row < height; ++row)
      rowsOfN.loadA(c[k % 2][row], stage.C, (top + row) * band, k * band);
  };
  load(0);
  CP_UNROLL
  for (int k = 0; k < Kernel::columnPairs; ++k) {
    if (k + 1 < Kernel::columnPairs)
      load(k + 1);
    uint32_t states[4];
    CP_UNROLL
    for (int j = 0; j < 4; ++j) {
      const float *from = state[2 * k + j % 2] + j / 2 * 2;
      states[j] = packed(from[0], from[1]);
    }
    CP_UNROLL
    for (int row = 0; row < height; ++row) {
      multiply(y[row][0], c[k % 2][row], states[0], states[1]);
      multiply(y[row][1], c[k % 2][row], states[2], states[3]);
    }
  }
  CP_UNROLL
  for (int row = 0; row < height; ++row)
    CP_UNROLL
  for (int j = 0; j < 2; ++j) {
    float fromStart = exp2Fast(
        sharedLoad(&stage.steps[own()].sums[(top + row) * band + q() + j * 8]));
    CP_UNROLL
    for (int k = 0; k < 4; ++k)
      y[row][k / 2][2 * j + k % 2] *= fromStart;
  }
  // Behind the last token there is nothing; of a block above the diagonal the
  // weights are zeros.
  int last = top + height < (count + band - 1) / band
                 ? top + height
                 : (count + band - 1) / band;
  CP_NO_UNROLL
  for (int column = 0; column < last; ++column) {
    uint32_t x[4], w[height][4];
    rowsOf64.loadB(x, stage.x[own()], column * band, channels());
    CP_UNROLL
    for (int row = 0; row < height; ++row)
      rowsOf64.loadA(w[row], memory.weights[own()], (top + row) * band,
                     column * band);
    CP_UNROLL
    for (int row = 0; row < height; ++row) {
      multiply(y[row][0], w[row], x[0], x[1]);
      multiply(y[row][1], w[row], x[2], x[3]);
    }
  }
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void
SsdTilesThread<N, Heads, Outputs>::formOutputs(const Stage &stage,
                                               const TilePiece &piece) {
  bool isWhole =
      kernel.fastY && piece.count == tokens && width == Kernel::width;
  CP_NO_UNROLL
  for (int top = 0; top < tokens / band; top += height) {
    if (top * band >= piece.count)
      break;
    float y[height][2][4] = {};
    formRows(stage, top, piece.count, y);
    check += isWhole ? storeRows<true>(stage, piece.count, top, y)
                     : storeRows<false>(stage, piece.count, top, y);
  }
}

/// Of whole tiles no row or channel is missing, and y is stored in pairs.
template <int N, int Heads, bool Outputs>
template <bool Whole>
CP_DEVICE float SsdTilesThread<N, Heads, Outputs>::storeRows(
    const Stage &stage, int count, int top,
    const float (&y)[height][2][4]) const {
  float check = 0;
  CP_UNROLL
  for (int k = 0; k < 2; ++k) {
    int channel = channels() + k * 8 + r();
    const float *skip = &memory.skips[own()][channel];
    float skips[2] = {sharedLoad(skip), sharedLoad(skip + 1)};
    BFloat16 *to =
        nextY + top * band * work.y.strides[1] + k * 8 * work.y.strides[3];
    uint32_t x[2 * height];
    CP_UNROLL
    for (int row = 0; row < 2 * height; ++row)
      x[row] =
          pairs.load(stage.x[own()], top * band + row * 8, channels() + k * 8);
    CP_UNROLL
    for (int row = 0; row < 2 * height; ++row) {
      const float *of = &y[row / 2][k][row % 2 * 2];
      float first = of[0] + skips[0] * lowOf(x[row]);
      float second = of[1] + skips[1] * highOf(x[row]);
      if (Whole) {
        check += 0 * first;
        check += 0 * second;
        *reinterpret_cast<uint32_t *>(to) = packed(first, second);
      } else if (top * band + q() + row * 8 < count) {
        for (int i = 0; i < 2; ++i)
          if (channel + i < width) {
            check += 0 * (i ? second : first);
            to[i * work.y.strides[3]] = narrowed<BFloat16>(i ? second : first);
          }
      }
      to += 8 * work.y.strides[1];
    }
  }
  return check;
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::update(const Stage &stage,
                                                         int count) {
  const Steps &steps = stage.steps[own()];
  float last = sharedLoad(&steps.sums[count - 1]);
  float whole = exp2Fast(last);
  CP_UNROLL
  for (int j = 0; j < Kernel::columnTiles; ++j)
    CP_UNROLL
  for (int k = 0; k < 4; ++k)
    state[j][k] *= whole;
  CP_NO_UNROLL
  for (int row = 0; row < count; row += band) {
    uint32_t x[4], b[2][4];
    rowsOf64.loadATransposed(x, stage.x[own()], row, channels());
    rowsOfN.loadB(b[0], stage.B, row, 0);
    CP_UNROLL
    for (int j = 0; j < 2; ++j) {
      const float *inputs = &steps.inputs[row + r() + j * 8];
      float first = exp2Fast(last + sharedLoad(inputs));
      float second = exp2Fast(last + sharedLoad(inputs + 1));
      CP_UNROLL
      for (int k = 2 * j; k < 2 * j + 2; ++k)
        x[k] = packed(lowOf(x[k]) * first, highOf(x[k]) * second);
    }
    CP_UNROLL
    for (int column = 0; column < Kernel::columnPairs; ++column) {
      if (column + 1 < Kernel::columnPairs)
        rowsOfN.loadB(b[(column + 1) % 2], stage.B, row, (column + 1) * band);
      multiply(state[2 * column], x, b[column % 2][0], b[column % 2][1]);
      multiply(state[2 * column + 1], x, b[column % 2][2], b[column % 2][3]);
    }
  }
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void
SsdTilesThread<N, Heads, Outputs>::clearOutputs(const TilePiece &piece) const {
  Head head = ownHead();
  for (int k = thread() % 128; k < piece.count * width; k += 128)
    *at(work.y, b(), begin() + piece.first + k / width, head.head,
        head.channel + k % width) = narrowed<BFloat16>(0);
}

template <int N, int Heads, bool Outputs>
CP_DEVICE void SsdTilesThread<N, Heads, Outputs>::run() {
  TilePiece piece = pieceAt(0);
  prepareMemory();
  fill(memory.stages[0], piece);
  loadStates();
  for (int slot = 0; piece.count; slot ^= 1) {
    Stage &stage = memory.stages[slot];
    TilePiece next = pieceAt(piece.first + piece.count);
    waitCopies<0>();
    // The tile is there, and the other stage is nobody's any more.
    barrier();
    fill(memory.stages[slot ^ 1], next);
    if (piece.starts) {
      // Else every tile selects among 0 and the state.
      keepBranch();
      clearStates();
    }
    if constexpr (Outputs) {
      if (piece.hasTokens) {
        formWeights(stage, piece.count);
        barrier();
        formOutputs(stage, piece);
      } else {
        clearOutputs(piece);
      }
    }
    if (piece.hasTokens)
      update(stage, piece.count);
    if constexpr (Outputs)
      nextY += piece.count * work.y.strides[1];
    piece = next;
  }
  if constexpr (Outputs)
    if (!(check == 0))
      kernel.spoiled[(b() * work.segments + segment()) * work.h +
                     ownHead().head] = true;
  storeStates();
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDTILES_H
