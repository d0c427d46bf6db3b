//===- fast/SsdTile.h - One tile of the chunked scan ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The chunked form of the scan (Dao and Gu, "Transformers are SSMs", 2024): for
// a tile of tokens with log decays cum_t counted from its start,
//
//   Y_t = exp(cum_t) S C_t
//         + sum_{s <= t} (C_t . B_s) exp(cum_t - cum_s) delta_s x_s
//
//   S'  = exp(cum_end) S
//         + sum_s exp(cum_end - cum_s) delta_s x_s B_s^T
//
// Only differences that are not positive are exponentiated, so nothing
// overflows. C B^T is shared by the heads of a group. States are kept as
// [n][p], so every product reads its operands as they lie.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_SSDTILE_H
#define CP_KERNELS_CPU_FAST_SSDTILE_H

#include "Scratch.h"
#include "fast/Pack.h"
#include "fast/Product.h"
#include "fast/SsdSteps.h"

namespace cp::kernels::fast {

/// What D holds for one head: element i is data[i * stride]; null: zeros.
template <typename T> struct Skip {
  const T *data;
  int64_t stride;
};

template <typename Isa, typename T> class SsdTile {
public:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using M = VecMath<Isa, Acc>;
  using P = Product<Isa, Acc>;
  using Packer = Pack<Isa, T>;
  using Steps = SsdSteps<Isa, Acc>;
  static_assert(tileTokens % P::columns == 0 && tileTokens % P::rows == 0);

  SsdTile(int64_t p, int64_t n)
      : p(p), n(n), paddedP(roundUp(p, P::columns)),
        paddedN(roundUp(n, V::lanes)) {}

  size_t bytes() const {
    return 2 * carved<Acc>(n * tileTokens) + carved<Acc>(tileTokens * paddedN) +
           carved<Acc>(tileTokens * tileTokens) +
           carved<Acc>(tileTokens * tileTokens) +
           2 * carved<Acc>(tileTokens * paddedP) +
           carved<Acc>(tileTokens * paddedP) + carved<Acc>(paddedP) +
           carved<Acc>(tileTokens) + carved<int64_t>(tileTokens) +
           carved<int64_t>(n > tileTokens ? n : tileTokens);
  }
  void allocate(Carver &carver) {
    bColumns = carver.take<Acc>(n * tileTokens);
    cColumns = carver.take<Acc>(n * tileTokens);
    bRows = carver.take<Acc>(tileTokens * paddedN);
    products = carver.take<Acc>(tileTokens * tileTokens);
    weights = carver.take<Acc>(tileTokens * tileTokens);
    input = carver.take<Acc>(tileTokens * paddedP);
    decayed = carver.take<Acc>(tileTokens * paddedP);
    y = carver.take<Acc>(tileTokens * paddedP);
    skips = carver.take<Acc>(paddedP);
    positions = carver.take<Acc>(tileTokens);
    tokenRows = carver.take<int64_t>(tileTokens);
    int64_t rows = n > tileTokens ? n : tileTokens;
    paddedRows = carver.take<int64_t>(rows);
    for (int64_t i = 0; i < tileTokens; ++i) {
      positions[i] = Acc(i);
      tokenRows[i] = i * tileTokens;
    }
    for (int64_t i = 0; i < rows; ++i)
      paddedRows[i] = i * paddedP;
  }

  /// Elements of one state.
  int64_t stateSize() const { return n * paddedP; }

  /// Takes B and C, each [tokens, n], and forms products[s][t] = B_s . C_t for
  /// s <= t.
  void loadGroup(Matrix<const T> B, Matrix<const T> C, int64_t tokens) {
    count = tokens;
    Packer::rows(B, count, n, paddedN, bRows, paddedN);
    Packer::transposed(B, count, n, tileTokens, bColumns, tileTokens);
    Packer::transposed(C, count, n, tileTokens, cColumns, tileTokens);
    // Shared by all heads: what shorter chains cost is not felt.
    using Dots = Product<Isa, Acc, Acc, 16>;
    typename Dots::Operands op = {bColumns,   tileTokens, cColumns,
                                  tileTokens, products,   tokenRows};
    for (int64_t s = 0; s < count; s += P::rows)
      for (int64_t t = s / P::columns * P::columns; t < count; t += P::columns)
        Dots::tile(op.at(s, t), least(P::rows, count - s), n);
  }

  /// out = Y + D x for x[tokens, p] of one head. Leaves what advance() needs.
  void output(Matrix<const T> x, const Steps &steps, const Acc *state,
              Skip<T> D, Matrix<T> out) {
    for (int64_t i = 0; i < paddedP; ++i)
      skips[i] = D.data && i < p ? Acc(D.data[i * D.stride]) : Acc(0);
    readState(x, steps, state);
    weigh(steps);
    Acc decays[tileTokens];
    steps.decaysFromStart(decays);
    typename P::Operands inside = {weights, tileTokens, input,  paddedP,
                                   y,       paddedRows, decays, 1};
    for (int64_t t = 0; t < count; t += P::rows) {
      int64_t end = least(t + P::rows, count);
      prefetchRows<1>(out, end, least(end + P::rows, count));
      for (int64_t j = 0; j < paddedP; j += P::columns)
        P::tile(inside.at(t, j), end - t, end);
      for (int64_t i = t; i < end; ++i)
        storeRow(i, out);
    }
  }

  /// After output(): brings the state from the tile's start to its end.
  void advance(const Steps &steps, Acc *state) {
    Acc factor = decayOf(Acc(steps.end()));
    typename P::Operands op = {bRows, paddedN,    decayed, paddedP,
                               state, paddedRows, &factor, 0};
    Matrix<const Acc> next = {state + stateSize(), paddedP, 1};
    for (int64_t j = 0; j < paddedP; j += P::columns)
      for (int64_t i = 0; i < n; i += P::rows) {
        // The next head's state, as it mostly is.
        for (int64_t row = i; row < i + P::rows; ++row)
          prefetch<0, 2>(next.data + row * paddedP + j, P::columns);
        P::tile(op.at(i, j), least(P::rows, n - i), count);
      }
  }

  /// Copies a state [p, n] to or from the layout used here.
  template <typename From>
  void loadState(Matrix<const From> from, Acc *state) const {
    Pack<Isa, From>::transposed(from, p, n, paddedP, state, paddedP);
  }
  template <typename To>
  void storeState(const Acc *state, Matrix<To> to) const {
    if (to.columnStride == 1)
      return Pack<Isa, Acc, To>::transposed({state, paddedP, 1}, n, p, n,
                                            to.data, to.rowStride);
    for (int64_t i = 0; i < p; ++i)
      for (int64_t j = 0; j < n; ++j)
        to.data[i * to.rowStride + j * to.columnStride] =
            To(state[j * paddedP + i]);
  }

  static Acc decayOf(Acc logDecay) { return M::exp(V::splat(logDecay))[0]; }

private:
  using Type = typename V::Type;

  /// y = S C. Takes x between the register tiles: its rows lie far apart in
  /// memory, and the products hide how long it takes until they come.
  void readState(Matrix<const T> x, const Steps &steps, const Acc *state) {
    Acc toEnd[tileTokens];
    steps.decaysToEnd(toEnd);
    typename P::Operands op = {cColumns, tileTokens, state,
                               paddedP,  y,          paddedRows};
    int64_t taken = 0;
    int64_t calls = (count + P::rows - 1) / P::rows * (paddedP / P::columns);
    int64_t step = calls ? (count + calls - 1) / calls : count;
    for (int64_t j = 0; j < paddedP; j += P::columns)
      for (int64_t t = 0; t < count; t += P::rows) {
        int64_t end = least(taken + step, count);
        prefetchRows<0>(x, taken, end);
        P::tile(op.at(t, j), least(P::rows, count - t), n);
        for (; taken < end; ++taken)
          takeInput(x, taken, steps, toEnd);
      }
  }

  /// input = x and decayed = exp(cum_end - cum) delta x for one token.
  void takeInput(Matrix<const T> x, int64_t s, const Steps &steps,
                 const Acc *toEnd) {
    Acc factor = toEnd[s] * steps.delta[s];
    for (int64_t j = 0; j < paddedP; j += V::lanes) {
      Type row = Packer::lanesAt(x, s, j, p);
      V::store(input + s * paddedP + j, row);
      V::store(decayed + s * paddedP + j, row * factor);
    }
  }

  /// weights[s][t] = products[s][t] exp(cum_t - cum_s) delta_s, and 0 for t < s
  /// as far as the register tile that holds the diagonal reaches. Above the
  /// blocks on the diagonal the exponential is one of s times one of t, each of
  /// the way to the block's first token.
  void weigh(const Steps &steps) {
    static_assert(weightBlock % V::lanes == 0 && weightBlock % P::rows == 0);
    for (int64_t block = 0; block < count; block += weightBlock) {
      double start = steps.logDecay[block];
      Acc toBlock[tileTokens];
      steps.notAbove0(0, block, start, -1, toBlock);
      for (int64_t s = 0; s < block; s += V::lanes)
        V::store(toBlock + s, M::expNegative(V::load(toBlock + s)) *
                                  V::load(steps.delta + s));
      BlockSums sums;
      steps.split(block, weightBlock, start, sums.high, sums.low);
      int64_t last = least(block + weightBlock, count);
      for (int64_t t = block; t < last; t += V::lanes) {
        Type within = M::expNegative(notAbove0(V::load(sums.high + t - block)));
        for (int64_t s = 0; s < block; ++s)
          storeWeights(s, t, within * toBlock[s]);
        for (int64_t s = block; s < last; ++s)
          storeWeights(s, t, diagonal(steps, sums, block, s, t));
      }
    }
  }
  static constexpr int64_t weightBlock = 16;

  /// Log decays from a block's first token, each the sum of two numbers: within
  /// a block, sums that differ by little may be large.
  struct BlockSums {
    Acc high[weightBlock], low[weightBlock];
  };

  /// Rounding may turn the difference of equal sums around.
  static Type notAbove0(Type value) { return value < Acc(0) ? value : Type{}; }

  Type diagonal(const Steps &steps, const BlockSums &sums, int64_t block,
                int64_t s, int64_t t) const {
    Type high = V::load(sums.high + t - block) - sums.high[s - block];
    Type low = V::load(sums.low + t - block) - sums.low[s - block];
    Type decay = M::expNegative(notAbove0(high + low));
    return V::load(positions + t) >= Acc(s) ? decay * steps.delta[s] : Type{};
  }

  [[gnu::always_inline]] void storeWeights(int64_t s, int64_t t, Type decay) {
    int64_t at = s * tileTokens + t;
    V::store(weights + at, V::load(products + at) * decay);
  }

  void storeRow(int64_t t, Matrix<T> out) {
    T *to = out.data + t * out.rowStride;
    for (int64_t j = 0; j < p; j += V::lanes) {
      Type value = V::load(y + t * paddedP + j) +
                   V::load(skips + j) * V::load(input + t * paddedP + j);
      if (out.columnStride == 1 && j + V::lanes <= p)
        V::store(to + j, value);
      else
        for (int64_t i = 0; i < least(V::lanes, p - j); ++i)
          to[(j + i) * out.columnStride] = T(value[i]);
    }
  }

  template <int Write, int Locality, typename E>
  static void prefetch(E *from, int64_t elements) {
    for (int64_t i = 0; i < elements; i += 64 / int64_t(sizeof(E)))
      __builtin_prefetch(from + i, Write, Locality);
  }
  template <int Write, typename E>
  void prefetchRows(Matrix<E> rows, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end && rows.columnStride == 1; ++i)
      prefetch<Write, 3>(rows.data + i * rows.rowStride, p);
  }

  int64_t p, n, paddedP, paddedN, count = 0;
  Acc *bRows, *bColumns, *cColumns, *weights, *input, *decayed, *products, *y,
      *skips, *positions;
  int64_t *tokenRows, *paddedRows;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_SSDTILE_H
