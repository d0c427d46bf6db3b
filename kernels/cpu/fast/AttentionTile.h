//===- fast/AttentionTile.h - One tile of queries, one of keys --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Softmax over keys that come tile by tile (Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018; Dao et al., "FlashAttention",
// 2022). Each query keeps the largest score so far, the sum of exponentials
// below it, and the sum of values with these weights; a tile with a larger
// score scales the sums down first.
//
// Scores are formed as [keys][queries]: then all that concerns a query happens
// in its own lane, and the weights are what the second product reads. They are
// powers of two: the queries are scaled by log2(e) too.
//
// Operands lie in panels as wide as the register tile that reads them: a
// product then goes through memory in order, and its lines do not drive each
// other out of the first cache, as lines at strides of powers of two do.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_ATTENTIONTILE_H
#define CP_KERNELS_CPU_FAST_ATTENTIONTILE_H

#include "AttentionTiles.h"
#include "Scratch.h"
#include "fast/Pack.h"
#include "fast/Product.h"
#include "fast/VecMath.h"

namespace cp::kernels::fast {

/// The queries of one tile and head, and what they have seen so far.
template <typename Acc> struct QueryTile {
  Span span;
  Reach reach;
  /// Panels of queries, [d][P::columns] each; scaled.
  Acc *columns;
  /// Panels of [attentionTile][P::columns].
  Acc *values;
  /// Per query; `top` as a power of two.
  Acc *top, *sum;
};

/// The keys of one tile, and their values.
template <typename Acc> struct KeyTile {
  /// Panels of keys, [d][AttentionTile::keyPanel] each.
  Acc *columns;
  /// Panels of [attentionTile][P::columns].
  Acc *values;
};

template <typename Isa, typename T> class AttentionTile {
public:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  /// Chains as long as a tile has keys: each product with values is one.
  using P = Product<Isa, Acc, Acc, attentionTile>;
  using Queries = QueryTile<Acc>;
  using Keys = KeyTile<Acc>;
  static constexpr int64_t tile = attentionTile;
  static_assert(tile % P::columns == 0 && tile % P::rows == 0);

  AttentionTile(int64_t d, int64_t dv)
      : d(d), dv(dv), paddedDv(roundUp(dv, P::columns)) {}

  size_t bytes() const { return carved<Acc>(tile * tile); }
  void allocate(Carver &carver) {
    weights = carver.take<Acc>(tile * tile);
    for (int64_t i = 0; i < P::rows; ++i) {
      weightRows[i] = i * tile;
      valueRows[i] = i * P::columns;
    }
  }

  size_t keyBytes() const {
    return carved<Acc>(d * tile) + carved<Acc>(tile * paddedDv);
  }
  void allocate(Carver &carver, Keys &keys) const {
    keys.columns = carver.take<Acc>(d * tile);
    keys.values = carver.take<Acc>(tile * paddedDv);
  }

  size_t queryBytes() const {
    return carved<Acc>(d * tile) + carved<Acc>(tile * paddedDv) +
           2 * carved<Acc>(tile);
  }
  void allocate(Carver &carver, Queries &queries) const {
    queries.columns = carver.take<Acc>(d * tile);
    queries.values = carver.take<Acc>(tile * paddedDv);
    queries.top = carver.take<Acc>(tile);
    queries.sum = carver.take<Acc>(tile);
  }

  /// Takes q[rows of span, d]; nothing has been seen yet.
  void start(Queries &queries, const Span &span, const Reach &reach,
             Matrix<const T> q, Acc scale) const {
    queries.span = span;
    queries.reach = reach;
    packPanels(q, span.count, P::columns, queries.columns);
    Acc factor = Acc(double(scale) * log2e);
    for (int64_t i = 0; i < d * tile; ++i)
      queries.columns[i] *= factor;
    for (int64_t i = 0; i < tile * paddedDv; ++i)
      queries.values[i] = 0;
    for (int64_t i = 0; i < tile; ++i) {
      queries.top[i] = none;
      queries.sum[i] = 0;
    }
  }

  /// Takes k and v, each [rows of span, ...].
  void start(Keys &keys, const Span &span, Matrix<const T> k,
             Matrix<const T> v) const {
    packPanels(k, span.count, keyPanel, keys.columns);
    for (int64_t j = 0; j < paddedDv; j += P::columns)
      Pack<Isa, T>::rows(
          {v.data + j * v.columnStride, v.rowStride, v.columnStride},
          span.count, least(P::columns, dv - j), P::columns,
          keys.values + j * tile, P::columns);
  }

  /// Those of `span`, which all that follows is about.
  void use(const Span &span, const Keys &from) {
    keys = span;
    packed = from;
  }

  /// Adds what `queries` see of the keys that are in use.
  void attend(Queries &queries) {
    Sight sight = sightOf(queries.reach, keys);
    if (sight == Sight::None)
      return;
    Acc factors[tile];
    if (sight == Sight::All) {
      scoreAll(queries);
      soften(queries, factors);
      addAll(queries, factors);
      return;
    }
    findSeen(queries.reach);
    scoreSeen(queries);
    hideUnseen();
    soften(queries, factors);
    bool isFinite = hasFiniteValues();
    for (int64_t i = 0; i < queries.span.count; i += P::rows)
      addSeen(queries, i, least(P::rows, queries.span.count - i), factors,
              isFinite);
  }

  /// Writes o[rows of span, dv] and the logarithms of the sums.
  template <typename To>
  void finish(const Queries &queries, Matrix<To> o, Acc *lse,
              int64_t lseStep) const {
    for (int64_t i = 0; i < queries.span.count; ++i) {
      Acc sum = queries.sum[i];
      Acc factor = sum == Acc(0) ? Acc(0) : Acc(1) / sum;
      for (int64_t j = 0; j < dv; j += P::columns)
        storeRow(queries.values + j * tile + i * P::columns, factor,
                 least(P::columns, dv - j),
                 o.data + i * o.rowStride + j * o.columnStride, o.columnStride);
      lse[i * lseStep] = sum == Acc(0) ? none
                                       : Acc(double(queries.top[i]) / log2e +
                                             __builtin_log(double(sum)));
    }
  }

private:
  using Type = typename V::Type;
  using Operands = typename P::Operands;
  static constexpr Acc none = -Acc(__builtin_inf());
  /// Weights that are added up one after the other.
  static constexpr int64_t sumChain = 16;
  /// Vectors of queries that soften() takes side by side.
  static constexpr int together = 4;
  static_assert(tile % (together * V::lanes) == 0);
  static constexpr double log2e = ExpConstants<double>::log2e;
  /// Keys of a panel: squares of lanes transpose them, rows read them.
  static constexpr int64_t keyPanel = V::lanes > P::rows ? V::lanes : P::rows;
  static_assert(keyPanel % P::rows == 0 && tile % keyPanel == 0);

  /// Panels of `width` of the `count` rows, and zeros up to a tile of them:
  /// each [d][width].
  void packPanels(Matrix<const T> from, int64_t count, int64_t width,
                  Acc *to) const {
    for (int64_t i = 0; i < tile; i += width) {
      int64_t rows = count > i ? least(width, count - i) : 0;
      Pack<Isa, T>::transposed({from.data + (rows ? i * from.rowStride : 0),
                                from.rowStride, from.columnStride},
                               rows, d, width, to + i * d, width);
    }
  }

  template <typename To>
  static void storeRow(const Acc *from, Acc factor, int64_t count, To *to,
                       int64_t stride) {
    if (stride == 1)
      for (int64_t j = 0; j < count; ++j)
        to[j] = To(from[j] * factor);
    else
      for (int64_t j = 0; j < count; ++j)
        to[j * stride] = To(from[j] * factor);
  }

  /// The scores of the keys from `j` on and the queries from `i` on; both start
  /// a register tile.
  Operands scoresOf(const Queries &queries, int64_t j, int64_t i) const {
    int64_t inPanel = j % keyPanel;
    return {packed.columns + (j - inPanel) * d + inPanel,
            keyPanel,
            queries.columns + i * d,
            P::columns,
            weights + j * tile + i,
            weightRows};
  }
  /// The sums of the queries from `i` on and the columns from `j` on, which
  /// start a panel.
  Operands sumsOf(Queries &queries, int64_t i, int64_t j,
                  const Acc *factors) const {
    return {weights + i,
            tile,
            packed.values + j * tile,
            P::columns,
            queries.values + j * tile + i * P::columns,
            valueRows,
            factors + i,
            1};
  }

  void scoreAll(const Queries &queries) const {
    for (int64_t i = 0; i < tile; i += P::columns)
      for (int64_t j = 0; j < keys.count; j += P::rows)
        P::tile(scoresOf(queries, j, i), least(P::rows, keys.count - j), d);
  }

  void addAll(Queries &queries, const Acc *factors) const {
    for (int64_t j = 0; j < paddedDv; j += P::columns)
      for (int64_t i = 0; i < queries.span.count; i += P::rows)
        P::tile(sumsOf(queries, i, j, factors),
                least(P::rows, queries.span.count - i), keys.count);
  }

  /// Which keys each query sees. Lanes beyond the queries see what the last one
  /// does.
  void findSeen(const Reach &queries) {
    for (int64_t i = 0; i < tile; ++i) {
      seen[i] = keysSeen(queries, least(i, queries.count - 1), keys);
      begins[i] = Acc(seen[i].begin);
      ends[i] = Acc(seen[i].end);
    }
  }

  /// Scores, but for the register tiles in which nothing is seen. The first and
  /// the last key that a query sees both move forward with the query.
  void scoreSeen(const Queries &queries) {
    for (int64_t i = 0; i < tile; i += P::columns)
      for (int64_t j = 0; j < keys.count; j += P::rows)
        if (j < seen[i + P::columns - 1].end && j + P::rows > seen[i].begin)
          P::tile(scoresOf(queries, j, i), least(P::rows, keys.count - j), d);
  }

  void hideUnseen() {
    for (int64_t j = 0; j < keys.count; ++j)
      for (int64_t i = 0; i < tile; i += V::lanes) {
        Type score = V::load(weights + j * tile + i);
        Type hidden = V::splat(none);
        score = Acc(j) >= V::load(begins + i) ? score : hidden;
        score = Acc(j) < V::load(ends + i) ? score : hidden;
        V::store(weights + j * tile + i, score);
      }
  }

  /// Scores become weights; factors[i] is for what query i had before.
  void soften(Queries &queries, Acc *factors) {
    for (int64_t i = 0; i < tile; i += together * V::lanes) {
      Type top[together], sum[together], shift[together];
      raiseTop(queries.top + i, i, top);
      for (int c = 0; c < together; ++c) {
        int64_t at = i + c * V::lanes;
        // Without a score there is nothing to take the largest one from.
        shift[c] = top[c] == none ? Type{} : top[c];
        Type factor = VecMath<Isa, Acc>::exp2Negative(
            V::load(queries.top + at) - shift[c]);
        V::store(factors + at, factor);
        V::store(queries.top + at, top[c]);
        sum[c] = V::load(queries.sum + at) * factor;
      }
      for (int64_t j = 0; j < keys.count; j += sumChain)
        addWeights(i, j, least(j + sumChain, keys.count), shift, sum);
      for (int c = 0; c < together; ++c)
        V::store(queries.sum + i + c * V::lanes, sum[c]);
    }
  }

  /// Weights of the keys [j, end), whose sum is one summand of `sum`: a sum of
  /// numbers of one sign rounds the more the longer it is.
  void addWeights(int64_t i, int64_t j, int64_t end,
                  const Type (&shift)[together], Type (&sum)[together]) const {
    Type part[together] = {};
    for (; j < end; ++j)
      for (int c = 0; c < together; ++c) {
        Acc *at = weights + j * tile + i + c * V::lanes;
        Type weight = VecMath<Isa, Acc>::exp2Negative(V::load(at) - shift[c]);
        V::store(at, weight);
        part[c] += weight;
      }
    for (int c = 0; c < together; ++c)
      sum[c] += part[c];
  }

  void raiseTop(const Acc *from, int64_t i, Type (&top)[together]) const {
    for (int c = 0; c < together; ++c)
      top[c] = V::load(from + c * V::lanes);
    for (int64_t j = 0; j < keys.count; ++j)
      for (int c = 0; c < together; ++c) {
        Type score = V::load(weights + j * tile + i + c * V::lanes);
        top[c] = score > top[c] ? score : top[c];
      }
  }

  /// Numbers times 0 are 0; infinities and NaN are not.
  bool hasFiniteValues() const {
    Type sum = {};
    for (int64_t j = 0; j < paddedDv; j += P::columns)
      for (int64_t i = 0; i < keys.count * P::columns; i += V::lanes)
        sum += V::load(packed.values + j * tile + i) * Acc(0);
    return V::sum(sum) == Acc(0);
  }

  /// Sums of `count` queries from `i` on. A key that only some see has weight 0
  /// for the others, which hides its value if that is a number; else each query
  /// adds only what it sees. Both give the same bits: adding 0 to a chain
  /// changes none, and all of a tile's keys are in one.
  void addSeen(Queries &queries, int64_t i, int64_t count, const Acc *factors,
               bool isFinite) const {
    int64_t step = isFinite ? count : 1;
    for (int64_t row = i; row < i + count; row += step)
      for (int64_t j = 0; j < paddedDv; j += P::columns)
        addKeys(sumsOf(queries, row, j, factors), step,
                {seen[row].begin, seen[row + step - 1].end});
  }

  void addKeys(Operands op, int64_t count, KeyRange range) const {
    // Without keys the sums are still scaled.
    int64_t k = range.end > range.begin ? range.end - range.begin : 0;
    op.a += k ? range.begin * tile : 0;
    op.b += k ? range.begin * P::columns : 0;
    P::tile(op, count, k);
  }

  int64_t d, dv, paddedDv;
  Span keys = {};
  Keys packed;
  Acc *weights;
  int64_t weightRows[P::rows], valueRows[P::rows];
  KeyRange seen[tile];
  Acc begins[tile], ends[tile];
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_ATTENTIONTILE_H
