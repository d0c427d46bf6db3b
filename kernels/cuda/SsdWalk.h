//===- SsdWalk.h - The scan of any type, tile by tile -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDWALK_H
#define CP_KERNELS_CUDA_SSDWALK_H

#include "SsdPanels.h"

namespace cp::kernels::cuda {

/// Types and sizes that matrix units are not for, of up to N columns of a
/// state: a block a segment of a head and 64 channels, whose state stays in
/// shared memory from tile to tile. A tile begins with the segment and with
/// each sequence, so that a sequence has the same bits wherever it stands.
/// Either y and the state behind all, from `before`, or what each segment does
/// to a state; see SsdWork.
template <typename T, int N> struct SsdWalk {
  static constexpr int threads = panelThreads, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Rows = Panel<Acc, panelTokens>;
  struct Shared {
    TileSteps<Acc> steps;
    Rows left, right;
    /// [t][s]: what y of token t has of token s's x.
    Acc weights[panelTokens][panelTokens + 1];
    Acc state[panelWidth][N + 1];
    int count;
  };

  SsdWork<T> work;
  int64_t panels;

  CP_DEVICE void operator()() const {
    auto &mine = all();
    int64_t end = least((segment() + 1) * work.segment, work.l);
    loadState();
    Acc decay = 1;
    for (int64_t first = segment() * work.segment; first < end;) {
      barrier();
      if (warp() == 0)
        formSteps(first, end);
      barrier();
      int count = sharedLoad(&mine.count);
      if (work.y.data)
        passOutputs(first);
      decay = joinedDecays(decay, sharedLoad(&mine.steps.decay));
      passState(first);
      first += count;
    }
    // Each thread stores what it has loaded.
    storeState();
    if (work.decays && thread() == 0 && channel() == 0)
      work.decays[(b() * work.segments + segment()) * work.h + head()] = decay;
  }

private:
  CP_DEVICE static Shared &all() { return shared<Shared>(); }
  CP_DEVICE int64_t segment() const { return blockX() / panels; }
  CP_DEVICE int64_t channel() const { return blockX() % panels * panelWidth; }
  CP_DEVICE static int64_t head() { return blockY(); }
  CP_DEVICE static int64_t b() { return blockZ(); }
  CP_DEVICE int64_t group() const { return head() / (work.h / work.g); }

  /// Of the tile that begins there, which ends before the next sequence.
  CP_DEVICE void formSteps(int64_t first, int64_t end) const {
    auto &mine = all();
    int64_t t = first + lane();
    bool isNext = lane() > 0 && t < end && work.places.data &&
                  *at(work.places, b(), t) == 0;
    int count = int(least(end - first, firstBit(vote(isNext))));
    mine.steps.form(work, b(), first, first + count, head());
    if (lane() == 0)
      sharedStore(&mine.count, count);
    if (work.formed.data && channel() == 0 && lane() < count)
      *at(work.formed, b(), t, head()) = sharedLoad(&mine.steps.deltas[lane()]);
  }

  CP_DEVICE void loadState() const {
    int64_t from = stateOffset(work, work.segments, b(), segment(), head());
    for (int i = thread(); i < panelWidth * N; i += threads) {
      int row = i / N, column = i % N;
      bool isThere = work.before && channel() + row < work.p && column < work.n;
      sharedStore(&all().state[row][column],
                  isThere
                      ? work.before[from + (channel() + row) * work.n + column]
                      : Acc(0));
    }
  }

  CP_DEVICE void storeState() const {
    bool isLast = segment() + 1 == work.segments;
    for (int i = thread(); i < panelWidth * N; i += threads) {
      int64_t row = channel() + i / N, column = i % N;
      if (row >= work.p || column >= work.n)
        continue;
      Acc value = sharedLoad(&all().state[i / N][column]);
      if (work.after.data)
        *at(work.after, b(), segment(), head(), row, column) = value;
      if (isLast && work.finalState.data)
        *at(work.finalState, b(), head(), row, column) = narrowed<T>(value);
      if (isLast && work.finalSum.data)
        *at(work.finalSum, b(), head(), row, column) = value;
    }
  }

  CP_DEVICE void bring(Rows &to, const View<const T, 4> &from, int64_t first,
                       int64_t of, int64_t begin, int64_t columns) const {
    bringRows(to, from, b(), first, of, begin, columns,
              sharedLoad(&all().steps.tokens));
  }

  CP_DEVICE void passOutputs(int64_t first) const {
    Acc pairs[4][2] = {}, within[4][4] = {}, before[4][4] = {};
    for (int64_t n0 = 0; n0 < work.n; n0 += panelWidth) {
      bring(all().left, work.C, first, group(), n0, work.n);
      bring(all().right, work.B, first, group(), n0, work.n);
      barrier();
      addProduct(
          pairs, depthOf(work.n, n0),
          [](int row, int k) { return sharedLoad(&all().left.at[row][k]); },
          [](int k, int column) {
            return sharedLoad(&all().right.at[column][k]);
          });
      addProduct(
          before, depthOf(work.n, n0),
          [](int row, int k) { return sharedLoad(&all().left.at[row][k]); },
          [n0](int k, int column) {
            return sharedLoad(&all().state[column][n0 + k]);
          });
      barrier();
    }
    weigh(pairs);
    bring(all().right, work.x, first, head(), channel(), work.p);
    barrier();
    addTokens(
        within, all().steps.reads,
        [](int row, int s) { return sharedLoad(&all().weights[row][s]); },
        [](int s, int column) {
          return sharedLoad(&all().right.at[s][column]);
        });
    storeOutputs(first, within, before);
    barrier();
  }

  CP_DEVICE static void weigh(const Acc (&pairs)[4][2]) {
    auto &mine = all();
    CP_UNROLL
    for (int i = 0; i < 4; ++i)
      CP_UNROLL
    for (int j = 0; j < 2; ++j) {
      int t = productRow(i), s = productColumn(j);
      Acc weight = 0;
      if (mine.steps.isRead(t, s))
        weight = mine.steps.leftAt(t, s) * pairs[i][j] *
                 sharedLoad(&mine.steps.deltas[s]);
      sharedStore(&mine.weights[t][s], weight);
    }
  }

  CP_DEVICE void storeOutputs(int64_t first, const Acc (&within)[4][4],
                              const Acc (&before)[4][4]) const {
    auto &mine = all();
    CP_UNROLL
    for (int i = 0; i < 4; ++i) {
      int row = productRow(i);
      bool isToken = sharedLoad(&mine.steps.tokens) >> row & 1;
      bool isAtFront = sharedLoad(&mine.steps.atFront) >> row & 1;
      Acc fromFront = sharedLoad(&mine.steps.fromFront[row]);
      CP_UNROLL
      for (int j = 0; j < 4; ++j) {
        int column = productColumn(j);
        if (row >= sharedLoad(&mine.count) || channel() + column >= work.p)
          continue;
        Acc y = within[i][j];
        if (isAtFront)
          y += fromFront * before[i][j];
        if (isToken && work.D.data)
          y += Acc(widened(*at(work.D, head(), channel() + column))) *
               sharedLoad(&mine.right.at[row][column]);
        *at(work.y, b(), first + row, head(), channel() + column) =
            narrowed<T>(y);
      }
    }
  }

  CP_DEVICE void passState(int64_t first) const {
    auto &mine = all();
    bringRows(mine.left, work.x, b(), first, head(), channel(), work.p,
              sharedLoad(&mine.steps.atEnd), [&](int row) {
                return sharedLoad(&mine.steps.toEnd[row]) *
                       sharedLoad(&mine.steps.deltas[row]);
              });
    Acc decay = sharedLoad(&mine.steps.decay);
    for (int64_t n0 = 0; n0 < work.n; n0 += panelWidth) {
      bringRows(mine.right, work.B, b(), first, group(), n0, work.n,
                sharedLoad(&mine.steps.atEnd));
      barrier();
      Acc sums[8][4] = {};
      addProduct(
          sums, panelTokens,
          [](int row, int k) { return sharedLoad(&all().left.at[k][row]); },
          [](int k, int column) {
            return sharedLoad(&all().right.at[k][column]);
          });
      CP_UNROLL
      for (int i = 0; i < 8; ++i)
        CP_UNROLL
      for (int j = 0; j < 4; ++j) {
        Acc &place = mine.state[productRow(i)][n0 + productColumn(j)];
        sharedStore(&place, decayedBy(decay, sharedLoad(&place), sums[i][j]));
      }
      barrier();
    }
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDWALK_H
