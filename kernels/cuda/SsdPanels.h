//===- SsdPanels.h - Scans of any type, 32 tokens at a time -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDPANELS_H
#define CP_KERNELS_CUDA_SSDPANELS_H

#include "Launch.h"
#include "SsdWork.h"

namespace cp::kernels::cuda {

/// Tokens of a tile, which fit a word's bits; columns of a panel; threads of a
/// block.
constexpr int panelTokens = 32, panelWidth = 64, panelThreads = 128;

/// The steps of a tile for one head, and what its tokens see of each other.
template <typename Acc> struct TileSteps {
  /// Of the logarithms of decays, each token's own included. In double: a
  /// rounding of an exponent would grow with it.
  double sums[panelTokens];
  Acc deltas[panelTokens];
  /// What is left of a token's input behind the tile, and to it of the state in
  /// front; 0 where another sequence begins between them.
  Acc toEnd[panelTokens], fromFront[panelTokens];
  /// The tokens that a token reads, itself included, and that read it.
  uint32_t reads[panelTokens], readBy[panelTokens];
  /// The rows with tokens, those that the state in front reaches, and those
  /// that reach the end.
  uint32_t tokens, atFront, atEnd;
  /// Of the whole tile.
  Acc decay;

  /// Of rows from `first` on, those from `end` on without tokens; by the lanes
  /// of one warp.
  template <typename T>
  CP_DEVICE void form(const SsdWork<T> &work, int64_t b, int64_t first,
                      int64_t end, int64_t head) {
    int64_t t = first + lane();
    int64_t place = t >= end           ? -1
                    : work.places.data ? *at(work.places, b, t)
                                       : 1;
    double rate = decayRateOf(double(widened(*at(work.aLog, head))));
    Acc delta = 0;
    if (place >= 0)
      delta = work.delta.data
                  ? *at(work.delta, b, t, head)
                  : stepSizeOf(work.step, *at(work.step.dt, b, t, head),
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
    uint32_t front = vote(isAtFront), behind = vote(isAtEnd);
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
    sharedStore(&atEnd, behind);
    sharedStore(&decay,
                starts ? startOfSequence<Acc>() : exponential(Acc(all)));
  }

  /// What is left of token s where token t reads it.
  CP_DEVICE Acc leftAt(int t, int s) const {
    return exponential(Acc(sharedLoad(&sums[t]) - sharedLoad(&sums[s])));
  }
  CP_DEVICE bool isRead(int t, int s) const {
    return sharedLoad(&reads[t]) >> s & 1;
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
template <typename Acc, int Rows> struct Panel {
  Acc at[Rows][panelWidth + 1];
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
                         const uint32_t (&words)[panelTokens], Left left,
                         Right right) {
  uint32_t of[Rows];
  CP_UNROLL
  for (int i = 0; i < Rows; ++i)
    of[i] = sharedLoad(&words[productRow(i)]);
  for (int k = 0; k < panelTokens; ++k) {
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

/// Rows of a tile into a panel, each times a number; zeros for those that are
/// not of `rows`, which are not read, and behind the last column.
template <typename T, typename Acc, typename Factor>
CP_DEVICE void bringRows(Panel<Acc, panelTokens> &to,
                         const View<const T, 4> &from, int64_t b, int64_t first,
                         int64_t head, int64_t begin, int64_t columns,
                         uint32_t rows, Factor factor) {
  for (int i = thread(); i < panelTokens * panelWidth; i += panelThreads) {
    int row = i / panelWidth, column = i % panelWidth;
    Acc value = 0;
    if ((rows >> row & 1) && begin + column < columns)
      value = factor(row) *
              Acc(widened(*at(from, b, first + row, head, begin + column)));
    sharedStore(&to.at[row][column], value);
  }
}
template <typename T, typename Acc>
CP_DEVICE void bringRows(Panel<Acc, panelTokens> &to,
                         const View<const T, 4> &from, int64_t b, int64_t first,
                         int64_t head, int64_t begin, int64_t columns,
                         uint32_t rows) {
  bringRows(to, from, b, first, head, begin, columns, rows,
            [](int) { return Acc(1); });
}

/// A panel of [p, n] numbers without gaps; zeros beyond.
template <typename Acc>
CP_DEVICE void bringState(Panel<Acc, panelWidth> &to, const Acc *from,
                          const SsdSizes &s, int64_t p0, int64_t n0) {
  for (int i = thread(); i < panelWidth * panelWidth; i += panelThreads) {
    int row = i / panelWidth, column = i % panelWidth;
    bool isThere = p0 + row < s.p && n0 + column < s.n;
    sharedStore(&to.at[row][column],
                isThere ? from[(p0 + row) * s.n + n0 + column] : Acc(0));
  }
}
/// How much of a size is in the panel that begins there.
CP_DEVICE int depthOf(int64_t size, int64_t begin) {
  return int(least(size - begin, panelWidth));
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDPANELS_H
