//===- fast/SsdTile.h - One tile of the chunked scan ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The chunked form of the scan (Dao and Gu, "Transformers are SSMs", 2024): for
// a tile of tokens with log decays cum_t counted from its start,
//
//   Y_t = exp(cum_t) S C_t + sum_{s <= t} (C_t . B_s) exp(cum_t - cum_s)
//   delta_s x_s S'  = exp(cum_end) S + sum_s exp(cum_end - cum_s) delta_s x_s
//   B_s^T
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

template <typename Isa, typename T> class SsdTile {
public:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using P = Product<Isa, Acc>;
  using Steps = SsdSteps<Isa, Acc>;
  static_assert(tileTokens % P::columns == 0 && tileTokens % P::rows == 0);

  SsdTile(int64_t p, int64_t n) : p(p), n(n), paddedP(roundUp(p, P::columns)) {}

  size_t bytes() const {
    return 3 * carved<Acc>(n * tileTokens) +
           2 * carved<Acc>(tileTokens * tileTokens) +
           3 * carved<Acc>(tileTokens * paddedP) + carved<Acc>(paddedP) +
           carved<int64_t>(tileTokens) +
           carved<int64_t>(n > tileTokens ? n : tileTokens);
  }
  void allocate(Carver &carver) {
    bRows = carver.take<Acc>(n * tileTokens);
    bColumns = carver.take<Acc>(n * tileTokens);
    cColumns = carver.take<Acc>(n * tileTokens);
    products = carver.take<Acc>(tileTokens * tileTokens);
    weights = carver.take<Acc>(tileTokens * tileTokens);
    stepped = carver.take<Acc>(tileTokens * paddedP);
    decayed = carver.take<Acc>(tileTokens * paddedP);
    y = carver.take<Acc>(tileTokens * paddedP);
    skip = carver.take<Acc>(paddedP);
    tokenRows = carver.take<int64_t>(tileTokens);
    int64_t rows = n > tileTokens ? n : tileTokens;
    paddedRows = carver.take<int64_t>(rows);
    for (int64_t i = 0; i < tileTokens; ++i)
      tokenRows[i] = i * tileTokens;
    for (int64_t i = 0; i < rows; ++i)
      paddedRows[i] = i * paddedP;
  }

  /// Elements of one state.
  int64_t stateSize() const { return n * paddedP; }

  /// Takes B and C, each [tokens, n], and forms products[s][t] = B_s . C_t for
  /// s <= t.
  void loadGroup(Matrix<const T> B, Matrix<const T> C, int64_t tokens) {
    count = tokens;
    Pack<Isa, T>::rows(B, count, n, n, bRows, n);
    Pack<Isa, T>::transposed(B, count, n, tileTokens, bColumns, tileTokens);
    Pack<Isa, T>::transposed(C, count, n, tileTokens, cColumns, tileTokens);
    typename P::Operands op = {bColumns,   tileTokens, cColumns,
                               tileTokens, products,   tokenRows};
    for (int64_t s = 0; s < count; s += P::rows)
      for (int64_t t = s / P::columns * P::columns; t < count; t += P::columns)
        P::tile(op.at(s, t), least(P::rows, count - s), n);
  }

  /// Takes x[tokens, p] of one head and leaves Y in scratch.
  void output(Matrix<const T> x, const Steps &steps, const Acc *state) {
    loadInput(x, steps);
    weigh(steps);
    Acc decays[tileTokens];
    steps.decaysFromStart(decays);
    typename P::Operands before = {cColumns, tileTokens, state,
                                   paddedP,  y,          paddedRows};
    typename P::Operands inside = {weights, tileTokens, stepped, paddedP,
                                   y,       paddedRows, decays,  1};
    for (int64_t j = 0; j < paddedP; j += P::columns) {
      for (int64_t t = 0; t < count; t += P::rows) {
        int64_t rows = least(P::rows, count - t);
        P::tile(before.at(t, j), rows, n);
        P::tile(inside.at(t, j), rows, t + rows);
      }
    }
  }

  /// After output(): brings the state from the tile's start to its end.
  void advance(const Steps &steps, Acc *state) {
    Acc end = steps.logDecay[tileTokens - 1];
    Acc factor = decayOf(end);
    P::matrix({bRows, n, decayed, paddedP, state, paddedRows, &factor, 0}, n,
              paddedP, count);
  }

  /// After output(): out[tokens, p] = Y + D x; D may be null.
  void store(Matrix<const T> x, const T *D, int64_t dStride, Matrix<T> out) {
    for (int64_t i = 0; i < p; ++i)
      skip[i] = D ? Acc(D[i * dStride]) : Acc(0);
    for (int64_t t = 0; t < count; ++t) {
      const T *xRow = x.data + t * x.rowStride;
      const Acc *yRow = y + t * paddedP;
      T *to = out.data + t * out.rowStride;
      if (x.columnStride == 1 && out.columnStride == 1)
        for (int64_t i = 0; i < p; ++i)
          to[i] = T(yRow[i] + skip[i] * Acc(xRow[i]));
      else
        for (int64_t i = 0; i < p; ++i)
          to[i * out.columnStride] =
              T(yRow[i] + skip[i] * Acc(xRow[i * x.columnStride]));
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

  static Acc decayOf(Acc logDecay) {
    return VecMath<Isa, Acc>::exp(V::splat(logDecay))[0];
  }

private:
  /// stepped = delta x and decayed = exp(cum_end - cum) delta x.
  void loadInput(Matrix<const T> x, const Steps &steps) {
    Acc toEnd[tileTokens];
    steps.decaysTo(steps.logDecay[tileTokens - 1], toEnd);
    Pack<Isa, T>::rows(x, count, p, paddedP, stepped, paddedP);
    for (int64_t s = 0; s < count; ++s) {
      Acc delta = steps.delta[s];
      for (int64_t i = s * paddedP; i < (s + 1) * paddedP; i += V::lanes) {
        typename V::Type value = V::load(stepped + i) * delta;
        V::store(stepped + i, value);
        V::store(decayed + i, value * toEnd[s]);
      }
    }
  }

  /// weights[s][t] = products[s][t] exp(cum_t - cum_s), and 0 for t < s as far
  /// as the register tile that holds the diagonal reaches.
  void weigh(const Steps &steps) {
    constexpr int64_t block = V::lanes > P::rows ? V::lanes : P::rows;
    for (int64_t s = 0; s < count; ++s) {
      Acc *row = weights + s * tileTokens;
      const Acc *product = products + s * tileTokens;
      for (int64_t t = s / block * block; t < count; t += V::lanes) {
        typename V::Type difference =
            V::load(steps.logDecay + t) - steps.logDecay[s];
        difference = difference < Acc(0) ? difference : typename V::Type{};
        V::store(row + t,
                 V::load(product + t) * VecMath<Isa, Acc>::exp(difference));
      }
      for (int64_t t = s / block * block; t < s; ++t)
        row[t] = 0;
    }
  }

  int64_t p, n, paddedP, count = 0;
  Acc *bRows, *bColumns, *cColumns, *products, *weights, *stepped, *decayed, *y,
      *skip;
  int64_t *tokenRows, *paddedRows;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_SSDTILE_H
