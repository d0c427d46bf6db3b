//===- SsdGrad.h - The adjoint of the scan, tile by tile --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDGRAD_H
#define CP_KERNELS_CUDA_SSDGRAD_H

#include "SsdWork.h"
#include "Sums.h"

namespace cp::kernels::cuda {

/// Tokens of a tile, which fit a word's bits, and columns of a panel.
constexpr int gradTokens = 32, gradPanel = 64;

/// What the kernels of a call share. States are [b, tiles, h, p, n] without
/// gaps.
template <typename T> struct SsdGradWork {
  using Acc = AccumulatorOf<T>;
  SsdSizes sizes;
  StepArgs<T> step;
  PlacesView places;
  View<const T, 4> x, B, C, dy;
  View<const T, 2> D;
  int64_t tiles;
  /// The state in front of each tile; its cotangent behind each, and before
  /// these are folded what each tile's own tokens pass to its front.
  Acc *before, *behind;
  /// [b, tiles, h]: what a tile leaves of the state in front of it.
  Acc *decays;
  View<T, 4> dx;
  View<T, 3> ddt;
  /// [b, l, h, n]: what each head gives the matrices of its group.
  Acc *dB, *dC;
  /// [b, tiles, h] and [b, tiles, h, p].
  double *dALog, *dBias;
  Acc *dD;

  CP_DEVICE int64_t tileOf(int64_t b, int64_t tile, int64_t head) const {
    return (b * tiles + tile) * sizes.h + head;
  }
  CP_DEVICE int64_t groupOf(int64_t head) const {
    return head / (sizes.h / sizes.g);
  }
};

/// The steps of a tile for one head, and what its tokens see of each other.
template <typename Acc> struct GradSteps {
  /// Of the logarithms of decays, each token's own included. In double: a
  /// rounding of an exponent would grow with it.
  double sums[gradTokens];
  Acc deltas[gradTokens];
  /// What is left of a token's input behind the tile, and to it of the state in
  /// front; 0 where another sequence begins between them.
  Acc toEnd[gradTokens], fromFront[gradTokens];
  /// The tokens that a token reads, itself included, and that read it.
  uint32_t reads[gradTokens], readBy[gradTokens];
  /// The rows with tokens, those that the state in front reaches, and those
  /// that reach the end.
  uint32_t tokens, atFront, atEnd;
  /// Of the whole tile.
  Acc decay;

  /// By the lanes of one warp.
  template <typename T>
  CP_DEVICE void form(const SsdGradWork<T> &work, int64_t b, int64_t tile,
                      int64_t head) {
    int64_t t = tile * gradTokens + lane();
    int64_t place = t >= work.sizes.l  ? -1
                    : work.places.data ? *at(work.places, b, t)
                                       : 1;
    double rate = decayRateOf(double(widened(*at(work.step.aLog, head))));
    Acc delta = 0;
    if (place >= 0)
      delta = stepSizeOf(work.step, *at(work.step.dt, b, t, head),
                         biasOf(work.step, head));
    double sum = place >= 0 ? logOf(rate * double(delta)) : 0;
    for (int lanes = 1; lanes < warpSize; lanes *= 2) {
      double below = shuffleUp(sum, lanes);
      sum += lane() >= lanes ? below : 0;
    }
    double all = shuffle(sum, warpSize - 1);
    uint32_t starts = vote(place == 0), rows = vote(place >= 0);
    uint32_t upToHere = 0xffffffffu >> (31 - lane());
    int begin = lastBit(starts & upToHere), last = lastBit(starts);
    bool isAtFront = begin < 0 && place >= 0;
    bool isAtEnd = lane() >= last && place >= 0;
    uint32_t seen =
        place < 0 ? 0
                  : upToHere & rows & (0xffffffffu << (begin < 0 ? 0 : begin));
    uint32_t seenBy = 0;
    for (int i = 0; i < warpSize; ++i)
      seenBy |= (shuffle(seen, i) >> lane() & 1) << i;
    uint32_t front = vote(isAtFront), end = vote(isAtEnd);
    sharedStore(&sums[lane()], sum);
    sharedStore(&deltas[lane()], delta);
    sharedStore(&toEnd[lane()], isAtEnd ? exponential(Acc(all - sum)) : Acc(0));
    sharedStore(&fromFront[lane()], isAtFront ? exponential(Acc(sum)) : Acc(0));
    sharedStore(&reads[lane()], seen);
    sharedStore(&readBy[lane()], seenBy);
    if (lane())
      return;
    sharedStore(&tokens, rows);
    sharedStore(&atFront, front);
    sharedStore(&atEnd, end);
    sharedStore(&decay,
                starts ? startOfSequence<Acc>() : exponential(Acc(all)));
  }

private:
  /// Of a decay; no less than where its exponential is 0 in any type, so that
  /// differences of sums stay exact.
  CP_DEVICE static double logOf(double exponent) {
    return exponent < -800 ? -800 : exponent;
  }
};

/// 32 rows or 64 of as many columns, with a gap so that a column lies in
/// different banks.
template <typename Acc, int Rows> struct GradPanel {
  Acc at[Rows][gradPanel + 1];
};

/// A thread's place in a product whose rows 8 groups of 16 threads share.
CP_DEVICE int productRow(int i) { return thread() / 16 + 8 * i; }
CP_DEVICE int productColumn(int j) { return thread() % 16 + 16 * j; }

/// sums += left(row, k) right(k, column) for a thread's rows and columns.
template <typename Acc, int Rows, int Columns, typename Left, typename Right>
CP_DEVICE void addProduct(Acc (&sums)[Rows][Columns], int depth, Left left,
                          Right right) {
  for (int k = 0; k < depth; ++k) {
    Acc a[Rows], b[Columns];
    CP_UNROLL
    for (int i = 0; i < Rows; ++i)
      a[i] = left(productRow(i), k);
    CP_UNROLL
    for (int j = 0; j < Columns; ++j)
      b[j] = right(k, productColumn(j));
    CP_UNROLL
    for (int i = 0; i < Rows; ++i)
      CP_UNROLL
    for (int j = 0; j < Columns; ++j)
      sums[i][j] += a[i] * b[j];
  }
}
/// The same over the tokens of a tile, of which each row takes those of its
/// word: of another sequence not even 0 times a NaN is added.
template <typename Acc, int Rows, int Columns, typename Left, typename Right>
CP_DEVICE void addTokens(Acc (&sums)[Rows][Columns],
                         const uint32_t (&words)[gradTokens], Left left,
                         Right right) {
  uint32_t of[Rows];
  CP_UNROLL
  for (int i = 0; i < Rows; ++i)
    of[i] = sharedLoad(&words[productRow(i)]);
  for (int k = 0; k < gradTokens; ++k) {
    Acc b[Columns];
    CP_UNROLL
    for (int j = 0; j < Columns; ++j)
      b[j] = right(k, productColumn(j));
    CP_UNROLL
    for (int i = 0; i < Rows; ++i) {
      if (!(of[i] >> k & 1))
        continue;
      Acc a = left(productRow(i), k);
      CP_UNROLL
      for (int j = 0; j < Columns; ++j)
        sums[i][j] += a * b[j];
    }
  }
}

constexpr int gradThreads = 128;

/// Rows of a tile into a panel, each times a number; zeros for those that are
/// not of `rows`, which are not read, and behind the last column.
template <typename T, typename Acc, typename Factor>
CP_DEVICE void bringRows(GradPanel<Acc, gradTokens> &to,
                         const View<const T, 4> &from, int64_t b, int64_t tile,
                         int64_t head, int64_t begin, int64_t columns,
                         uint32_t rows, Factor factor) {
  for (int i = thread(); i < gradTokens * gradPanel; i += gradThreads) {
    int row = i / gradPanel, column = i % gradPanel;
    Acc value = 0;
    if ((rows >> row & 1) && begin + column < columns)
      value = factor(row) * Acc(widened(*at(from, b, tile * gradTokens + row,
                                            head, begin + column)));
    sharedStore(&to.at[row][column], value);
  }
}
template <typename T, typename Acc>
CP_DEVICE void bringRows(GradPanel<Acc, gradTokens> &to,
                         const View<const T, 4> &from, int64_t b, int64_t tile,
                         int64_t head, int64_t begin, int64_t columns,
                         uint32_t rows) {
  bringRows(to, from, b, tile, head, begin, columns, rows,
            [](int) { return Acc(1); });
}

/// What a tile's own tokens add to the state behind it, or, where `Back`, to
/// the cotangent of the state in front of it; and its decay. A block a tile of
/// a head and a panel of both dimensions.
template <typename T, bool Back> struct SsdGradStates {
  static constexpr int threads = gradThreads, blocks = 1;
  using Acc = AccumulatorOf<T>;
  struct Shared {
    GradSteps<Acc> steps;
    GradPanel<Acc, gradTokens> left, right;
  };

  SsdGradWork<T> work;
  int64_t panelsP, panelsN;
  Acc *states;

  CP_DEVICE void operator()() const {
    const SsdSizes &s = work.sizes;
    int64_t index = blockX(), head = blockY(), b = blockZ();
    int64_t tile = index / (panelsP * panelsN);
    int64_t p0 = index / panelsN % panelsP * gradPanel;
    int64_t n0 = index % panelsN * gradPanel;
    auto &mine = shared<Shared>();
    if (warp() == 0)
      mine.steps.form(work, b, tile, head);
    barrier();
    uint32_t rows = sharedLoad(Back ? &mine.steps.atFront : &mine.steps.atEnd);
    bringRows(mine.left, Back ? work.dy : work.x, b, tile, head, p0, s.p, rows,
              [&](int row) {
                return Back ? sharedLoad(&mine.steps.fromFront[row])
                            : sharedLoad(&mine.steps.toEnd[row]) *
                                  sharedLoad(&mine.steps.deltas[row]);
              });
    bringRows(mine.right, Back ? work.C : work.B, b, tile, work.groupOf(head),
              n0, s.n, rows);
    barrier();
    Acc sums[8][4] = {};
    addProduct(
        sums, gradTokens,
        [&](int row, int k) { return sharedLoad(&mine.left.at[k][row]); },
        [&](int k, int column) {
          return sharedLoad(&mine.right.at[k][column]);
        });
    Acc *to = states + work.tileOf(b, tile, head) * s.p * s.n;
    CP_UNROLL
    for (int i = 0; i < 8; ++i)
      CP_UNROLL
    for (int j = 0; j < 4; ++j) {
      int64_t channel = p0 + productRow(i), column = n0 + productColumn(j);
      if (channel < s.p && column < s.n)
        to[channel * s.n + column] = sums[i][j];
    }
    if (thread() == 0 && p0 == 0 && n0 == 0)
      work.decays[work.tileOf(b, tile, head)] = sharedLoad(&mine.steps.decay);
  }
};

/// From what each tile passes to its front the cotangent of the state behind
/// each, in place, from the last to the first.
template <typename T> struct SsdFoldBack {
  static constexpr int threads = 128, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  SsdGradWork<T> work;
  /// Behind the last, which may be absent, and in front of the first.
  View<const Acc, 4> last;
  View<Acc, 4> first;

  CP_DEVICE void operator()() const {
    const SsdSizes &s = work.sizes;
    int64_t element = int64_t(blockX()) * threads + thread();
    int64_t head = blockY(), b = blockZ();
    if (element >= s.p * s.n)
      return;
    int64_t channel = element / s.n, column = element % s.n;
    Acc cotangent = last.data ? *at(last, b, head, channel, column) : Acc(0);
    for (int64_t tile = work.tiles - 1; tile >= 0; --tile) {
      int64_t of = work.tileOf(b, tile, head);
      Acc &place = work.behind[of * s.p * s.n + element], own = place;
      place = cotangent;
      cotangent = decayedBy(work.decays[of], cotangent, own);
    }
    *at(first, b, head, channel, column) = cotangent;
  }
};

/// The sum over the heads of each group.
template <typename T> struct SumHeads {
  static constexpr int threads = 128, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  SsdSizes sizes;
  const Acc *parts;
  View<T, 4> to;

  CP_DEVICE void operator()() const {
    int64_t element = int64_t(blockX()) * threads + thread();
    int64_t n = element % sizes.n, t = element / sizes.n;
    int64_t g = blockY(), b = blockZ(), each = sizes.h / sizes.g;
    if (t >= sizes.l)
      return;
    Acc sum = 0;
    for (int64_t h = g * each; h < (g + 1) * each; ++h)
      sum += parts[((b * sizes.l + t) * sizes.h + h) * sizes.n + n];
    *at(to, b, t, g, n) = narrowed<T>(sum);
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDGRAD_H
