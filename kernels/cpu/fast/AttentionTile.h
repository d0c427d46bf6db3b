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
// in its own lane, and the weights are what the second product reads.
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
  /// [d][attentionTile], scaled.
  Acc *columns;
  /// [attentionTile][padded dv]
  Acc *values;
  /// Per query.
  Acc *top, *sum;
};

template <typename Isa, typename T> class AttentionTile {
public:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using P = Product<Isa, Acc>;
  using Queries = QueryTile<Acc>;
  static constexpr int64_t tile = attentionTile;
  static_assert(tile % P::columns == 0 && tile % P::rows == 0);

  AttentionTile(const AttentionMask &mask, int64_t d, int64_t dv)
      : mask(mask), d(d), dv(dv), paddedDv(roundUp(dv, P::columns)) {}

  size_t bytes() const {
    return carved<Acc>(d * tile) + carved<Acc>(tile * paddedDv) +
           carved<Acc>(tile * tile) + 2 * carved<int64_t>(tile);
  }
  void allocate(Carver &carver) {
    keyColumns = carver.take<Acc>(d * tile);
    values = carver.take<Acc>(tile * paddedDv);
    weights = carver.take<Acc>(tile * tile);
    weightRows = carver.take<int64_t>(tile);
    valueRows = carver.take<int64_t>(tile);
    for (int64_t i = 0; i < tile; ++i) {
      weightRows[i] = i * tile;
      valueRows[i] = i * paddedDv;
    }
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
  void start(Queries &queries, const Span &span, Matrix<const T> q,
             Acc scale) const {
    queries.span = span;
    Pack<Isa, T>::transposed(q, span.count, d, tile, queries.columns, tile);
    for (int64_t i = 0; i < d * tile; ++i)
      queries.columns[i] *= scale;
    for (int64_t i = 0; i < tile * paddedDv; ++i)
      queries.values[i] = 0;
    for (int64_t i = 0; i < tile; ++i) {
      queries.top[i] = none;
      queries.sum[i] = 0;
    }
  }

  /// Takes k and v, each [rows of span, ...].
  void loadKeys(const Span &span, Matrix<const T> k, Matrix<const T> v) {
    keys = span;
    Pack<Isa, T>::transposed(k, keys.count, d, tile, keyColumns, tile);
    Pack<Isa, T>::rows(v, keys.count, dv, paddedDv, values, paddedDv);
  }

  /// Adds what `queries` see of the keys that are loaded.
  void attend(Queries &queries) {
    Sight sight = sightOf(mask, queries.span, keys);
    if (sight == Sight::None)
      return;
    Acc factors[tile];
    if (sight == Sight::All) {
      P::matrix(scoresOf(queries), keys.count, tile, d);
      soften(queries, factors);
      P::matrix(sumsOf(queries, factors, 1), queries.span.count, paddedDv,
                keys.count);
      return;
    }
    findSeen(queries.span);
    scoreSeen(queries);
    hideUnseen();
    soften(queries, factors);
    for (int64_t i = 0; i < queries.span.count; i += P::rows)
      addSeen(queries, i, least(P::rows, queries.span.count - i), factors);
  }

  /// Writes o[rows of span, dv] and the logarithms of the sums.
  template <typename To>
  void finish(const Queries &queries, Matrix<To> o, Acc *lse,
              int64_t lseStep) const {
    for (int64_t i = 0; i < queries.span.count; ++i) {
      Acc sum = queries.sum[i];
      Acc factor = sum == Acc(0) ? Acc(0) : Acc(1) / sum;
      const Acc *from = queries.values + i * paddedDv;
      To *to = o.data + i * o.rowStride;
      if (o.columnStride == 1)
        for (int64_t j = 0; j < dv; ++j)
          to[j] = To(from[j] * factor);
      else
        for (int64_t j = 0; j < dv; ++j)
          to[j * o.columnStride] = To(from[j] * factor);
      lse[i * lseStep] = sum == Acc(0)
                             ? none
                             : queries.top[i] + Acc(__builtin_log(double(sum)));
    }
  }

private:
  using Type = typename V::Type;
  using Operands = typename P::Operands;
  static constexpr Acc none = -Acc(__builtin_inf());
  /// Vectors of queries that soften() takes side by side.
  static constexpr int together = 4;
  static_assert(tile % (together * V::lanes) == 0);

  Operands scoresOf(const Queries &queries) const {
    return {keyColumns, tile, queries.columns, tile, weights, weightRows};
  }
  Operands sumsOf(Queries &queries, const Acc *factors, int64_t step) const {
    return {weights,        tile,      values,  paddedDv,
            queries.values, valueRows, factors, step};
  }

  /// Which keys each query sees. Lanes beyond the queries see what the last one
  /// does.
  void findSeen(const Span &queries) {
    for (int64_t i = 0; i < tile; ++i) {
      int64_t row = least(i, queries.count - 1);
      seen[i] = keysSeen(mask, queries.positions[row], keys);
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
          P::tile(scoresOf(queries).at(j, i), least(P::rows, keys.count - j),
                  d);
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
        Type factor = VecMath<Isa, Acc>::expNegative(V::load(queries.top + at) -
                                                     shift[c]);
        V::store(factors + at, factor);
        V::store(queries.top + at, top[c]);
        sum[c] = V::load(queries.sum + at) * factor;
      }
      for (int64_t j = 0; j < keys.count; ++j)
        for (int c = 0; c < together; ++c) {
          Acc *at = weights + j * tile + i + c * V::lanes;
          Type weight = VecMath<Isa, Acc>::expNegative(V::load(at) - shift[c]);
          V::store(at, weight);
          sum[c] += weight;
        }
      for (int c = 0; c < together; ++c)
        V::store(queries.sum + i + c * V::lanes, sum[c]);
    }
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

  /// Sums of `count` queries from `i` on. What all of them see is one product;
  /// a key that only some see must not reach the others, even with weight 0:
  /// its value may be no number.
  void addSeen(Queries &queries, int64_t i, int64_t count, const Acc *factors) {
    static constexpr Acc one = 1;
    int64_t begin = seen[i + count - 1].begin;
    int64_t end = seen[i].end > begin ? seen[i].end : begin;
    for (int64_t j = 0; j < paddedDv; j += P::columns) {
      addKeys(sumsOf(queries, factors, 1).at(i, j), count, begin, end);
      Operands rows = sumsOf(queries, &one, 0);
      for (int64_t row = i; row < i + count; ++row) {
        KeyRange own = seen[row];
        addKeys(rows.at(row, j), 1, own.begin, least(own.end, begin));
        addKeys(rows.at(row, j), 1, own.begin > end ? own.begin : end, own.end);
      }
    }
  }

  void addKeys(Operands op, int64_t count, int64_t begin, int64_t end) const {
    // Without keys, the first product of a tile still scales.
    bool isEmpty = end <= begin;
    if (isEmpty && op.factorStep == 0)
      return;
    op.a += isEmpty ? 0 : begin * tile;
    op.b += isEmpty ? 0 : begin * paddedDv;
    P::tile(op, count, isEmpty ? 0 : end - begin);
  }

  AttentionMask mask;
  int64_t d, dv, paddedDv;
  Span keys = {};
  Acc *keyColumns, *values, *weights;
  int64_t *weightRows, *valueRows;
  KeyRange seen[tile];
  Acc begins[tile], ends[tile];
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_ATTENTIONTILE_H
