//===- SsdGradTile.h - The adjoint within a tile of tokens ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDGRADTILE_H
#define CP_KERNELS_CUDA_SSDGRADTILE_H

#include "SsdGrad.h"
#include "Sums.h"

namespace cp::kernels::cuda {

/// A block a tile of a head, of which the state in front and the cotangent of
/// that behind are known. With W[t, s] what is left of token s at token t,
/// G and S the cotangent behind and the state in front, per head
///
///   K = C B^T, P = dy x^T, V[t, s] = W K P delta_s
///   dx = delta ((W K)^T dy + toEnd B G^T) + D dy
///   dB = delta ((W P)^T C + toEnd x G)
///   dC = (W P) (delta B) + fromFront dy S
///
/// and the logarithm of token i's decay gets what goes by it: V of t >= i > s,
/// of the state in front what t >= i read, of the inputs s < i what reaches the
/// end, and what of the state in front does (the sums of Dao and Gu,
/// "Transformers are SSMs", 2024, section 6, without their differences, which
/// cancel where decays are strong).
template <typename T> struct SsdGradTile {
  static constexpr int threads = panelThreads, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Rows = Panel<Acc, panelTokens>;
  struct Shared {
    TileSteps<Acc> steps;
    Rows left, right;
    Panel<Acc, panelWidth> square;
    /// [t][s], and V of which V's columns become sums.
    Acc weightedK[panelTokens][panelTokens + 1];
    Acc weightedP[panelTokens][panelTokens + 1];
    Acc pairs[panelTokens][panelTokens + 1];
    /// Of each token: delta's cotangent but for the decay's, what of its input
    /// goes by the end, and what it reads of the state in front.
    Acc direct[panelTokens], toEnd[panelTokens], fromFront[panelTokens];
    BlockSum<Acc, threads> sum;
  };

  SsdGradWork<T> work;

  CP_DEVICE void operator()() const {
    auto &mine = shared<Shared>();
    if (warp() == 0)
      mine.steps.form(work, blockZ(), token(0), work.l, head());
    if (thread() < panelTokens) {
      sharedStore(&mine.direct[thread()], Acc(0));
      sharedStore(&mine.toEnd[thread()], Acc(0));
      sharedStore(&mine.fromFront[thread()], Acc(0));
    }
    barrier();
    weighPairs();
    for (int64_t p0 = 0; p0 < work.p; p0 += panelWidth)
      passInputs(p0);
    for (int64_t n0 = 0; n0 < work.n; n0 += panelWidth) {
      passB(n0);
      passC(n0);
    }
    Acc through = throughState();
    barrier();
    if (warp() == 0)
      passSteps(double(through));
  }

private:
  CP_DEVICE static Shared &all() { return shared<Shared>(); }
  CP_DEVICE static int64_t head() { return blockY(); }
  CP_DEVICE int64_t group() const { return head() / (work.h / work.g); }
  CP_DEVICE static int64_t token(int row) {
    return int64_t(blockX()) * panelTokens + row;
  }
  CP_DEVICE int64_t tile() const {
    return work.tileOf(blockZ(), blockX(), head());
  }
  /// Rows of a tensor whose heads are the scan's, or its groups.
  CP_DEVICE void bring(Rows &to, const View<const T, 4> &from, int64_t of,
                       int64_t begin, int64_t columns) const {
    bringRows(to, from, blockZ(), token(0), of, begin, columns,
              sharedLoad(&all().steps.tokens));
  }
  /// A panel of [p, n] numbers of this tile.
  CP_DEVICE void bringTile(const Acc *states, int64_t p0, int64_t n0) const {
    bringState(all().square, states + tile() * work.p * work.n, work, p0, n0);
  }

  /// sums += left right^T over all columns of two tensors.
  CP_DEVICE void addPairs(const View<const T, 4> &left,
                          const View<const T, 4> &right, int64_t of,
                          int64_t columns, Acc (&sums)[4][2]) const {
    for (int64_t begin = 0; begin < columns; begin += panelWidth) {
      bring(all().left, left, of, begin, columns);
      bring(all().right, right, of, begin, columns);
      barrier();
      addProduct(
          sums, depthOf(columns, begin),
          [](int row, int k) { return sharedLoad(&all().left.at[row][k]); },
          [](int k, int column) {
            return sharedLoad(&all().right.at[column][k]);
          });
      barrier();
    }
  }

  CP_DEVICE void weighPairs() const {
    auto &mine = all();
    Acc k[4][2] = {}, p[4][2] = {};
    addPairs(work.C, work.B, group(), work.n, k);
    addPairs(work.dy, work.x, head(), work.p, p);
    CP_UNROLL
    for (int i = 0; i < 4; ++i)
      CP_UNROLL
    for (int j = 0; j < 2; ++j) {
      int t = productRow(i), s = productColumn(j);
      Acc weight = 0, ofK = 0, ofP = 0, both = 0;
      if (mine.steps.isRead(t, s)) {
        weight = mine.steps.leftAt(t, s);
        ofK = weight * k[i][j];
        ofP = weight * p[i][j];
        both = ofK * p[i][j] * sharedLoad(&mine.steps.deltas[s]);
      }
      sharedStore(&mine.weightedK[t][s], ofK);
      sharedStore(&mine.weightedP[t][s], ofP);
      sharedStore(&mine.pairs[t][s], both);
    }
    barrier();
    if (thread() < panelTokens) {
      Acc before = 0;
      for (int s = 0; s < panelTokens; ++s) {
        Acc here = sharedLoad(&mine.pairs[thread()][s]);
        sharedStore(&mine.pairs[thread()][s], before);
        before += here;
      }
    }
    barrier();
  }

  /// The sum over the 16 threads that share a row.
  CP_DEVICE static Acc rowSum(Acc value) {
    CP_UNROLL
    for (int mask = 8; mask; mask /= 2)
      value += shuffleXor(value, mask);
    return value;
  }
  /// Adds to a number of a row, which the first of these threads alone does.
  CP_DEVICE static void addToRow(Acc *numbers, int row, Acc value) {
    value = rowSum(value);
    if (thread() % 16 == 0)
      sharedStore(&numbers[row], sharedLoad(&numbers[row]) + value);
  }

  CP_DEVICE void passInputs(int64_t p0) const {
    auto &mine = all();
    const SsdSizes &s = work;
    bring(mine.left, work.dy, head(), p0, s.p);
    barrier();
    Acc within[4][4] = {}, beyond[4][4] = {};
    addTokens(
        within, mine.steps.readBy,
        [](int row, int t) { return sharedLoad(&all().weightedK[t][row]); },
        [](int t, int column) {
          return sharedLoad(&all().left.at[t][column]);
        });
    for (int64_t n0 = 0; n0 < s.n; n0 += panelWidth) {
      bring(mine.right, work.B, group(), n0, s.n);
      bringTile(work.behind, p0, n0);
      barrier();
      addProduct(
          beyond, depthOf(s.n, n0),
          [](int row, int k) { return sharedLoad(&all().right.at[row][k]); },
          [](int k, int column) {
            return sharedLoad(&all().square.at[column][k]);
          });
      barrier();
    }
    bring(mine.right, work.x, head(), p0, s.p);
    barrier();
    storeInputs(p0, within, beyond);
    for (int column = thread(); column < depthOf(s.p, p0); column += threads) {
      Acc sum = 0;
      for (int row = 0; row < panelTokens; ++row)
        sum += sharedLoad(&mine.left.at[row][column]) *
               sharedLoad(&mine.right.at[row][column]);
      work.dD[tile() * s.p + p0 + column] = sum;
    }
    barrier();
  }

  CP_DEVICE void storeInputs(int64_t p0, const Acc (&within)[4][4],
                             const Acc (&beyond)[4][4]) const {
    auto &mine = all();
    CP_UNROLL
    for (int i = 0; i < 4; ++i) {
      int row = productRow(i);
      bool isAtEnd = sharedLoad(&mine.steps.atEnd) >> row & 1;
      Acc toEnd = sharedLoad(&mine.steps.toEnd[row]);
      Acc delta = sharedLoad(&mine.steps.deltas[row]);
      Acc direct = 0, ofEnd = 0;
      CP_UNROLL
      for (int j = 0; j < 4; ++j) {
        int column = productColumn(j);
        Acc later = isAtEnd ? toEnd * beyond[i][j] : Acc(0);
        Acc x = sharedLoad(&mine.right.at[row][column]);
        direct += x * (within[i][j] + later);
        ofEnd += delta * x * later;
        if (token(row) >= work.l || p0 + column >= work.p)
          continue;
        Acc dx = delta * (within[i][j] + later);
        if (work.D.data)
          dx += Acc(widened(*at(work.D, head(), p0 + column))) *
                sharedLoad(&mine.left.at[row][column]);
        *at(work.dx, blockZ(), token(row), head(), p0 + column) =
            narrowed<T>(dx);
      }
      addToRow(mine.direct, row, direct);
      addToRow(mine.toEnd, row, ofEnd);
    }
  }

  /// sums += rows of a tensor of heads times [p, n] numbers.
  CP_DEVICE void addStates(const View<const T, 4> &rows, const Acc *states,
                           int64_t n0, Acc (&sums)[4][4]) const {
    const SsdSizes &s = work;
    for (int64_t p0 = 0; p0 < s.p; p0 += panelWidth) {
      bring(all().right, rows, head(), p0, s.p);
      bringTile(states, p0, n0);
      barrier();
      addProduct(
          sums, depthOf(s.p, p0),
          [](int row, int k) { return sharedLoad(&all().right.at[row][k]); },
          [](int k, int column) {
            return sharedLoad(&all().square.at[k][column]);
          });
      barrier();
    }
  }
  CP_DEVICE void store(Acc *to, int row, int64_t column, Acc value) const {
    const SsdSizes &s = work;
    if (token(row) < s.l && column < s.n)
      to[((blockZ() * s.l + token(row)) * s.h + head()) * s.n + column] = value;
  }

  CP_DEVICE void passB(int64_t n0) const {
    auto &mine = all();
    bring(mine.left, work.C, group(), n0, work.n);
    barrier();
    Acc within[4][4] = {}, beyond[4][4] = {};
    addTokens(
        within, mine.steps.readBy,
        [](int row, int t) { return sharedLoad(&all().weightedP[t][row]); },
        [](int t, int column) {
          return sharedLoad(&all().left.at[t][column]);
        });
    addStates(work.x, work.behind, n0, beyond);
    CP_UNROLL
    for (int i = 0; i < 4; ++i) {
      int row = productRow(i);
      bool isAtEnd = sharedLoad(&mine.steps.atEnd) >> row & 1;
      Acc toEnd = sharedLoad(&mine.steps.toEnd[row]);
      Acc delta = sharedLoad(&mine.steps.deltas[row]);
      CP_UNROLL
      for (int j = 0; j < 4; ++j)
        store(work.dB, row, n0 + productColumn(j),
              delta *
                  (within[i][j] + (isAtEnd ? toEnd * beyond[i][j] : Acc(0))));
    }
    barrier();
  }

  CP_DEVICE void passC(int64_t n0) const {
    auto &mine = all();
    bring(mine.left, work.B, group(), n0, work.n);
    barrier();
    Acc within[4][4] = {}, before[4][4] = {};
    addTokens(
        within, mine.steps.reads,
        [](int row, int s) {
          return sharedLoad(&all().weightedP[row][s]) *
                 sharedLoad(&all().steps.deltas[s]);
        },
        [](int s, int column) {
          return sharedLoad(&all().left.at[s][column]);
        });
    addStates(work.dy, work.before, n0, before);
    barrier();
    bring(mine.left, work.C, group(), n0, work.n);
    barrier();
    CP_UNROLL
    for (int i = 0; i < 4; ++i) {
      int row = productRow(i);
      bool isAtFront = sharedLoad(&mine.steps.atFront) >> row & 1;
      Acc fromFront = sharedLoad(&mine.steps.fromFront[row]), read = 0;
      CP_UNROLL
      for (int j = 0; j < 4; ++j) {
        int column = productColumn(j);
        Acc earlier = isAtFront ? fromFront * before[i][j] : Acc(0);
        read += sharedLoad(&mine.left.at[row][column]) * earlier;
        store(work.dC, row, n0 + column, within[i][j] + earlier);
      }
      addToRow(mine.fromFront, row, read);
    }
    barrier();
  }

  /// What of the state in front is left behind the tile, times its cotangent.
  CP_DEVICE Acc throughState() const {
    Acc decay = sharedLoad(&all().steps.decay), sum = 0;
    if (isStartDecay(decay))
      return 0;
    int64_t count = work.p * work.n, from = tile() * count;
    for (int64_t i = thread(); i < count; i += threads)
      sum += work.behind[from + i] * work.before[from + i];
    return decay * all().sum.of(sum);
  }

  /// A lane a token.
  CP_DEVICE void passSteps(double through) const {
    auto &mine = all();
    int row = lane();
    bool isToken = sharedLoad(&mine.steps.tokens) >> row & 1;
    // Of another sequence not even what is not a number is added.
    uint32_t reads = sharedLoad(&mine.steps.reads[row]);
    uint32_t readBy = sharedLoad(&mine.steps.readBy[row]);
    double ofDecay = through;
    for (int t = 0; t < panelTokens; ++t) {
      if (readBy >> t & 1)
        ofDecay += double(sharedLoad(&mine.pairs[t][row])) +
                   double(sharedLoad(&mine.fromFront[t]));
      else if (reads >> t & 1)
        ofDecay += double(sharedLoad(&mine.toEnd[t]));
    }
    double rate = decayRateOf(double(widened(*at(work.aLog, head()))));
    double delta = double(sharedLoad(&mine.steps.deltas[row])), dDt = 0;
    ofDecay *= rate;
    if (isToken)
      dDt = (ofDecay + double(sharedLoad(&mine.direct[row]))) *
            stepSlopeOf(work.step,
                        *at(work.step.dt, blockZ(), token(row), head()),
                        biasOf(work.step, head()));
    if (token(row) < work.l)
      *at(work.ddt, blockZ(), token(row), head()) = narrowed<T>(Acc(dDt));
    double dALog = warpSum(isToken ? ofDecay * delta : 0.0);
    double dBias = warpSum(dDt);
    if (lane())
      return;
    work.dALog[tile()] = dALog;
    work.dBias[tile()] = dBias;
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDGRADTILE_H
