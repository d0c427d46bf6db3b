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
#include "fast/Product.h"
#include "fast/SsdPack.h"
#include "fast/SsdSteps.h"

namespace cp::kernels::fast {

/// What D holds for one head: element i is data[i * stride]; null: zeros.
template <typename T> struct Skip {
  const T *data;
  int64_t stride;
};

/// `Factor` is what products are formed of: Acc, or Pair on processors that
/// multiply bf16 (Isa::dot). Then x, B and C enter as they are; weights,
/// decayed inputs and the state that C reads are rounded to bf16, each once and
/// only as factors. Sums, and the state that is carried on, keep all bits.
template <typename Isa, typename T, typename Factor = AccumulatorOf<T>>
class SsdTile {
public:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using M = VecMath<Isa, Acc>;
  using Packer = SsdPack<Isa, T, Factor>;
  /// Beside the rounding of bf16 factors, that of a long chain is nothing.
  static constexpr int64_t chain = Packer::isPaired ? 1 << 20 : 64;
  using P = Product<Isa, Acc, Factor, chain>;
  using Steps = SsdSteps<Isa, Acc>;
  static_assert(tileTokens % P::columns == 0 && tileTokens % P::rows == 0);
  static_assert(P::rows % Packer::perWord == 0);

  /// `outputs`: the elements of all of Y. They go past the caches where they
  /// are too many to be found there again.
  SsdTile(int64_t p, int64_t n, int64_t outputs)
      : isLarge(outputs * int64_t(sizeof(T)) >= leastStreamed), p(p), n(n),
        paddedP(roundUp(p, P::columns)), paddedN(roundUp(n, V::lanes)),
        depth(Packer::words(n)) {}

  size_t bytes() const {
    return 2 * carved<Factor>(depth * tileTokens) +
           carved<Factor>(tokenWords * paddedN) +
           carved<Acc>(tileTokens * tileTokens) +
           carved<Factor>(tokenWords * tileTokens) +
           2 * carved<Factor>(tokenWords * paddedP) + carved<Acc>(paddedP) +
           carved<Factor>(factorsOfState()) + carved<Acc>(tileTokens) +
           carved<Acc>(P::rows * P::columns) + carved<int64_t>(tileTokens) +
           carved<int64_t>(n);
  }
  void allocate(Carver &carver) {
    bColumns = carver.take<Factor>(depth * tileTokens);
    cColumns = carver.take<Factor>(depth * tileTokens);
    bRows = carver.take<Factor>(tokenWords * paddedN);
    products = carver.take<Acc>(tileTokens * tileTokens);
    weights = carver.take<Factor>(tokenWords * tileTokens);
    input = carver.take<Factor>(tokenWords * paddedP);
    decayed = carver.take<Factor>(tokenWords * paddedP);
    skips = carver.take<Acc>(paddedP);
    narrowState = carver.take<Factor>(factorsOfState());
    positions = carver.take<Acc>(tileTokens);
    edge = carver.take<Acc>(P::rows * P::columns);
    tokenRows = carver.take<int64_t>(tileTokens);
    stateRows = carver.take<int64_t>(n);
    for (int64_t i = 0; i < tileTokens; ++i) {
      positions[i] = Acc(i);
      tokenRows[i] = i * tileTokens;
    }
    for (int64_t i = 0; i < n; ++i)
      stateRows[i] = i * paddedP;
  }

  /// Elements of one state.
  int64_t stateSize() const { return n * paddedP; }

  /// Takes B and C, each [tokens, n], and forms products[s][t] = B_s . C_t for
  /// s <= t.
  void loadGroup(Matrix<const T> B, Matrix<const T> C, int64_t tokens) {
    count = tokens;
    Packer::alongRows(B, count, n, paddedN, bRows, paddedN);
    Packer::alongColumns(B, count, n, bColumns);
    Packer::alongColumns(C, count, n, cColumns);
    // Shared by all heads: what shorter chains cost is not felt.
    using Dots = Product<Isa, Acc, Factor, 16>;
    typename Dots::Operands op = {bColumns,   tileTokens, cColumns,
                                  tileTokens, products,   tokenRows};
    for (int64_t s = 0; s < count; s += P::rows)
      for (int64_t t = s / P::columns * P::columns; t < count; t += P::columns)
        Dots::tile(op.at(s, t), least(P::rows, count - s), depth);
  }

  /// out = Y + D x for x[tokens, p] of one head. Leaves what advance() needs.
  /// Takes x between the register tiles: its rows lie far apart in memory, and
  /// the products hide how long it takes until they come.
  void output(Matrix<const T> x, const Steps &steps, const Acc *state,
              Skip<T> D, Matrix<T> out) {
    prefetchRows<0>(x, 0, least(P::rows, count));
    for (int64_t i = 0; i < paddedP; ++i)
      skips[i] = D.data && i < p ? Acc(D.data[i * D.stride]) : Acc(0);
    typename P::Factors past = {cColumns, tileTokens, asFactors(state),
                                paddedP};
    typename P::Factors inside = {weights, tileTokens, input, paddedP};
    weigh(steps);
    Acc fromStart[tileTokens], toEnd[tileTokens];
    steps.decaysFromStart(fromStart);
    steps.decaysToEnd(toEnd);
    for (int64_t s = 0; s < tileTokens; ++s)
      toEnd[s] *= steps.delta[s];
    Way way = wayOf(out);
    Type check = {};
    int64_t rowsAhead = paddedP ? P::rows * P::columns / paddedP : 0;
    for (int64_t t = 0; t < count; t += P::rows) {
      int64_t end = least(t + P::rows, count);
      if (way == Way::Cached)
        prefetchRows<1>(out, t, end);
      for (int64_t w = t / Packer::perWord; w < Packer::words(end); ++w)
        Packer::scaledRows(x, w, count, p, paddedP, toEnd, input + w * paddedP,
                           decayed + w * paddedP);
      for (int64_t j = 0, next = end; j < paddedP; j += P::columns) {
        // A few at a time: memory answers only so many at once.
        int64_t last = least(next + rowsAhead, count);
        prefetchRows<0>(x, next, last);
        next = last;
        check += outputTile(past.at(t, j), fromStart + t, inside.at(t, j),
                            {t, end, j}, way, out);
      }
    }
    if (V::sum(check) != Acc(0))
      outputApart(past, fromStart, inside, out);
  }

  /// After output(): brings the state from the tile's start to its end.
  void advance(const Steps &steps, Acc *state) {
    Acc factor = decayOf(Acc(steps.end()));
    typename P::Operands op = {bRows, paddedN,   decayed, paddedP,
                               state, stateRows, &factor, 0};
    P::matrix(op, n, paddedP, Packer::words(count));
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

  /// Other threads see what output() wrote.
  static void finish() { V::finishStreams(); }

  static Acc decayOf(Acc logDecay) { return M::exp(V::splat(logDecay))[0]; }

private:
  using Type = typename V::Type;

  static constexpr int64_t tokenWords = Packer::words(tileTokens);
  int64_t factorsOfState() const {
    return Packer::isPaired ? depth * paddedP : 0;
  }

  /// The state as products read it.
  const Factor *asFactors(const Acc *state) {
    if constexpr (!Packer::isPaired) {
      return state;
    } else {
      SsdPack<Isa, Acc, Factor>::alongRows({state, paddedP, 1}, n, paddedP,
                                           paddedP, narrowState, paddedP);
      return narrowState;
    }
  }

  /// How results reach memory: by element, by vector, or by vector past the
  /// caches.
  enum class Way { Scattered, Cached, Streamed };
  Way wayOf(Matrix<T> out) const {
    if (out.columnStride != 1)
      return Way::Scattered;
    uintptr_t bits = reinterpret_cast<uintptr_t>(out.data) |
                     uintptr_t(out.rowStride) * sizeof(T);
    return Isa::streams && isLarge && bits % Isa::bytes == 0 ? Way::Streamed
                                                             : Way::Cached;
  }

  /// Tokens [t, end), columns from j.
  struct Corner {
    int64_t t, end, j;
  };

  /// What the state gives, decayed from the tile's start, what the tile's own
  /// tokens give, and D x. Later tokens have weight 0, which hides them unless
  /// they are infinite or NaN: then the first row is. Returns 0 times that row.
  [[gnu::noinline]] Type outputTile(const typename P::Factors &past,
                                    const Acc *decays,
                                    const typename P::Factors &inside,
                                    Corner at, Way way, Matrix<T> out) {
    typename P::Sums sums = {};
    addPast(past, decays, sums);
    P::add(inside, Packer::words(at.end), sums);
    addSkips(at, sums);
    Type check = sums[0][0] * Acc(0) + sums[0][1] * Acc(0);
    T *to = out.data + at.t * out.rowStride + at.j;
    bool isWhole = at.end - at.t == P::rows && at.j + P::columns <= p;
    if (isWhole && way == Way::Streamed)
      eachRow([&](int row) {
        Packer::template put<true>(to + row * out.rowStride, sums[row]);
      });
    else if (isWhole && way == Way::Cached)
      eachRow([&](int row) {
        Packer::template put<false>(to + row * out.rowStride, sums[row]);
      });
    else
      storeEdge(at, sums, out);
    return check;
  }

  [[gnu::always_inline]] void addPast(const typename P::Factors &past,
                                      const Acc *decays,
                                      typename P::Sums &sums) const {
    P::add(past, depth, sums);
    eachOf([&](int row, int i) { sums[row][i] *= decays[row]; });
  }
  [[gnu::always_inline]] void addSkips(Corner at,
                                       typename P::Sums &sums) const {
    eachOf([&](int row, int i) {
      int64_t j = at.j + i * V::lanes;
      sums[row][i] +=
          V::load(skips + j) * Packer::load(input + j, at.t + row, paddedP);
    });
  }

  /// The tile's outputs again, each from no later token than its own: for
  /// tokens that are infinite or NaN, times which 0 is not 0.
  [[gnu::noinline]] void outputApart(const typename P::Factors &past,
                                     const Acc *decays,
                                     const typename P::Factors &inside,
                                     Matrix<T> out) {
    for (int64_t t = 0; t < count; t += P::rows)
      for (int64_t j = 0; j < paddedP; j += P::columns) {
        typename P::Sums before = {}, sums;
        addPast(past.at(t, j), decays + t, before);
        eachRow([&](int row) {
          typename P::Sums until;
          __builtin_memcpy(&until, &before, sizeof until);
          addUntil(inside.at(t, j), t + row + 1, until);
          sums[row][0] = until[row][0];
          sums[row][1] = until[row][1];
        });
        Corner at = {t, least(t + P::rows, count), j};
        addSkips(at, sums);
        storeEdge(at, sums, out);
      }
  }

  /// sums += weights times inputs of the tokens [0, end).
  static void addUntil(const typename P::Factors &inside, int64_t end,
                       typename P::Sums &sums) {
    int64_t whole = end / Packer::perWord;
    P::add(inside, whole, sums);
    if (end % Packer::perWord == 0)
      return;
    typename P::Factors last = inside.from(whole);
    Factor a[P::rows], b[P::columns];
    for (int64_t i = 0; i < P::rows; ++i)
      a[i] = Packer::firstOf(last.a[i]);
    for (int64_t i = 0; i < P::columns; ++i)
      b[i] = Packer::firstOf(last.b[i]);
    P::add({a, P::rows, b, P::columns}, 1, sums);
  }

  template <typename Fn> [[gnu::always_inline]] static void eachRow(Fn fn) {
#pragma GCC unroll 16
    for (int row = 0; row < P::rows; ++row)
      fn(row);
  }
  template <typename Fn> [[gnu::always_inline]] static void eachOf(Fn fn) {
    eachRow([&](int row) {
      fn(row, 0);
      fn(row, 1);
    });
  }

  [[gnu::noinline]] void storeEdge(Corner at, const typename P::Sums &sums,
                                   Matrix<T> out) const {
    eachOf([&](int row, int i) {
      V::store(edge + row * P::columns + i * V::lanes, sums[row][i]);
    });
    for (int64_t t = at.t; t < at.end; ++t)
      for (int64_t i = 0; i < least(P::columns, p - at.j); ++i)
        out.data[t * out.rowStride + (at.j + i) * out.columnStride] =
            T(edge[(t - at.t) * P::columns + i]);
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
      for (int64_t t = block; t < block + weightBlock; t += V::lanes) {
        Type within =
            M::expNegative(notAbove0(V::load(sums.high + (t - block))));
        for (int64_t s = 0; s < block; s += Packer::perWord)
          storeWeights(s, t, within * toBlock[s],
                       within * toBlock[s + Packer::perWord - 1]);
        for (int64_t s = block; s < last; s += Packer::perWord)
          storeWeights(
              s, t, diagonal(steps, sums, block, s, t),
              diagonal(steps, sums, block, s + Packer::perWord - 1, t));
      }
    }
  }
  static constexpr int64_t weightBlock = 16;

  /// Log decays from a block's first token, each the sum of two numbers: within
  /// a block, sums that differ by little may be large.
  struct BlockSums {
    Acc high[weightBlock], low[weightBlock];
  };

  /// Rounding may turn the difference of equal sums around. NaN stays.
  static Type notAbove0(Type value) { return value > Acc(0) ? Type{} : value; }

  Type diagonal(const Steps &steps, const BlockSums &sums, int64_t block,
                int64_t s, int64_t t) const {
    Type high = V::load(sums.high + (t - block)) - sums.high[s - block];
    Type low = V::load(sums.low + (t - block)) - sums.low[s - block];
    Type decay = M::expNegative(notAbove0(high + low));
    return V::load(positions + t) >= positions[s] ? decay * steps.delta[s]
                                                  : Type{};
  }

  [[gnu::always_inline]] void storeWeights(int64_t s, int64_t t, Type first,
                                           Type second) {
    const Acc *from = products + s * tileTokens + t;
    first *= V::load(from);
    if constexpr (Packer::isPaired)
      second = s + 1 < count ? second * V::load(from + tileTokens) : Type{};
    Packer::store(weights + s / Packer::perWord * tileTokens + t,
                  {first, second});
  }

  template <int Write, int Locality, typename E>
  static void prefetch(E *from, int64_t elements) {
    for (int64_t i = 0; i < elements; i += 64 / int64_t(sizeof(E)))
      __builtin_prefetch(from + i, Write, Locality);
  }
  template <int Write, typename E>
  void prefetchRows(Matrix<E> rows, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end && rows.columnStride == 1; ++i)
      prefetch<Write, Write ? 3 : 2>(rows.data + i * rows.rowStride, p);
  }

  bool isLarge;
  int64_t p, n, paddedP, paddedN, depth, count = 0;
  Factor *bRows, *bColumns, *cColumns, *weights, *input, *decayed, *narrowState;
  Acc *products, *skips, *positions, *edge;
  int64_t *tokenRows, *stateRows;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_SSDTILE_H
