//===- fast/AttentionGradTile.h - Adjoint of a pair of tiles ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// With w = exp(scale q . k - lse) formed again, and ds = w (dout . v - dout .
// out + dlse) scale,
//
//   dq = ds k    dk = ds^T q    dv = w^T dout
//
// (Dao et al., "FlashAttention", 2022, appendix B.2). Weights are formed as
// [queries][keys], which is how the sums over queries read them; for that over
// keys ds is transposed. They are powers of two: queries are scaled by log2(e)
// too.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_ATTENTIONGRADTILE_H
#define CP_KERNELS_CPU_FAST_ATTENTIONGRADTILE_H

#include "AttentionTiles.h"
#include "Scratch.h"
#include "fast/Pack.h"
#include "fast/Product.h"
#include "fast/VecMath.h"

namespace cp::kernels::fast {

/// The queries of one tile and head, and their cotangents.
template <typename Acc> struct QueryGradTile {
  Span span;
  Reach reach;
  /// [d][tile], scaled, and [tile][paddedD].
  Acc *columns, *rows;
  /// Of dout: [e][tile] and [tile][paddedE].
  Acc *outColumns, *outRows;
  /// Per query: lse as a power of two, and dout . out - dlse.
  Acc *top, *inner;
  /// dq, [tile][paddedD].
  Acc *sums;
  /// Whether all of it are numbers.
  bool isFinite;
};

template <typename Isa, typename T> class AttentionGradTile {
public:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using Type = typename V::Type;
  using P = Product<Isa, Acc, Acc, attentionTile>;
  using Packer = Pack<Isa, T>;
  using Queries = QueryGradTile<Acc>;
  static constexpr int64_t tile = attentionTile;
  static_assert(tile % P::columns == 0 && tile % P::rows == 0);

  AttentionGradTile(int64_t d, int64_t e, double scale)
      : d(d), e(e), paddedD(roundUp(d, P::columns)),
        paddedE(roundUp(e, P::columns)), scale(scale) {}

  size_t bytes() const {
    return carved<Acc>(d * tile) + carved<Acc>(e * tile) +
           carved<Acc>(tile * paddedD) + carved<Acc>(paddedE) +
           3 * carved<Acc>(tile * tile) + 3 * carved<int64_t>(tile) +
           carved<KeyRange>(tile);
  }
  void allocate(Carver &carver) {
    keyColumns = carver.take<Acc>(d * tile);
    valueColumns = carver.take<Acc>(e * tile);
    keyRows = carver.take<Acc>(tile * paddedD);
    outRow = carver.take<Acc>(paddedE);
    for (Acc **square : {&weights, &slopes, &transposed})
      *square = carver.take<Acc>(tile * tile);
    for (int64_t **rows : {&tileRows, &rowsD, &rowsE})
      *rows = carver.take<int64_t>(tile);
    seen = carver.take<KeyRange>(tile);
    for (int64_t i = 0; i < tile; ++i) {
      tileRows[i] = i * tile;
      rowsD[i] = i * paddedD;
      rowsE[i] = i * paddedE;
    }
  }

  size_t queryBytes() const {
    return carved<Acc>(d * tile) + carved<Acc>(e * tile) +
           2 * carved<Acc>(tile * paddedD) + carved<Acc>(tile * paddedE) +
           2 * carved<Acc>(tile);
  }
  void allocate(Carver &carver, Queries &queries) const {
    queries.columns = carver.take<Acc>(d * tile);
    queries.outColumns = carver.take<Acc>(e * tile);
    queries.rows = carver.take<Acc>(tile * paddedD);
    queries.sums = carver.take<Acc>(tile * paddedD);
    queries.outRows = carver.take<Acc>(tile * paddedE);
    queries.top = carver.take<Acc>(tile);
    queries.inner = carver.take<Acc>(tile);
  }

  int64_t keyWidth() const { return paddedD; }
  int64_t valueWidth() const { return paddedE; }

  /// Takes q, out and dout, each [rows of the span, ...]; `inner` holds -dlse,
  /// and `top` is the caller's to fill.
  void start(Queries &queries, Matrix<const T> q, Matrix<const T> out,
             Matrix<const T> dout) const {
    int64_t count = queries.span.count;
    Packer::rows(q, count, d, paddedD, queries.rows, paddedD);
    Packer::rows(dout, count, e, paddedE, queries.outRows, paddedE);
    Packer::transposed(q, count, d, tile, queries.columns, tile);
    Packer::transposed(dout, count, e, tile, queries.outColumns, tile);
    for (int64_t i = 0; i < count; ++i) {
      Packer::rows({out.data + i * out.rowStride, 0, out.columnStride}, 1, e,
                   paddedE, outRow, paddedE);
      Type sum = {};
      for (int64_t c = 0; c < paddedE; c += V::lanes)
        sum += V::load(outRow + c) * V::load(queries.outRows + i * paddedE + c);
      queries.inner[i] += V::sum(sum);
    }
    queries.isFinite = areFinite(queries.rows, count * paddedD) &&
                       areFinite(queries.outRows, count * paddedE);
    Acc factor = Acc(scale * log2e);
    for (int64_t i = 0; i < d * tile; ++i)
      queries.columns[i] *= factor;
    for (int64_t i = 0; i < tile * paddedD; ++i)
      queries.sums[i] = 0;
  }

  /// Takes k and v, each [rows of the span, ...], which the next queries meet.
  void useKeys(const Span &span, Matrix<const T> k, Matrix<const T> v) {
    keys = span;
    Packer::rows(k, span.count, d, paddedD, keyRows, paddedD);
    Packer::transposed(k, span.count, d, tile, keyColumns, tile);
    Packer::transposed(v, span.count, e, tile, valueColumns, tile);
    isFinite = areFinite(keyRows, span.count * paddedD) &&
               areFinite(valueColumns, e * tile);
  }

  /// What queries see of the keys: adds to their sums, and to dk,
  /// [key][paddedD], and dv, [key][paddedE], of these keys.
  void pass(Queries &queries, Acc *dk, Acc *dv) {
    Sight sight = sightOf(queries.reach, keys);
    if (sight == Sight::None)
      return;
    for (int64_t i = 0; i < tile; ++i)
      seen[i] =
          sight == Sight::All
              ? KeyRange{0, keys.count}
              : keysSeen(queries.reach, least(i, queries.span.count - 1), keys);
    weigh(queries);
    // Of what is hidden by a weight of 0, infinities and NaN are not.
    if (sight == Sight::Some && !(isFinite && queries.isFinite))
      return addSeen(queries, dk, dv);
    addToKeys(queries, dk, dv);
    addToQueries(queries);
  }

private:
  static constexpr double log2e = ExpConstants<double>::log2e;

  static bool areFinite(const Acc *from, int64_t count) {
    Type sum = {};
    for (int64_t i = 0; i < count; i += V::lanes)
      sum += V::load(from + i) * Acc(0);
    return V::sum(sum) == Acc(0);
  }

  /// weights[i][j] and slopes[i][j] = ds, 0 where query i does not see key j.
  void weigh(const Queries &queries) {
    int64_t count = queries.span.count;
    typename P::Operands scores = {queries.columns, tile,    keyColumns, tile,
                                   weights,         tileRows};
    typename P::Operands products = {
        queries.outColumns, tile, valueColumns, tile, slopes, tileRows};
    for (int64_t i = 0; i < count; i += P::rows) {
      int64_t rows = least(P::rows, count - i);
      int64_t end = seen[i + rows - 1].end;
      for (int64_t j = seen[i].begin / P::columns * P::columns; j < end;
           j += P::columns) {
        P::tile(scores.at(i, j), rows, d);
        P::tile(products.at(i, j), rows, e);
      }
    }
    for (int64_t i = 0; i < count; ++i)
      finishRow(i, queries.top[i], queries.inner[i]);
  }

  void finishRow(int64_t i, Acc top, Acc inner) {
    Acc *weight = weights + i * tile, *slope = slopes + i * tile;
    int64_t begin = seen[i].begin, end = seen[i].end;
    int64_t first = begin / V::lanes * V::lanes;
    for (int64_t j = 0; j < tile; j += V::lanes) {
      if (j < first || j >= end) {
        V::store(weight + j, Type{});
        V::store(slope + j, Type{});
        continue;
      }
      // A score is above lse by rounding alone.
      Type power = V::load(weight + j) - top;
      Type w = VecMath<Isa, Acc>::exp2Negative(power > Acc(0) ? Type{} : power);
      V::store(weight + j, w);
      V::store(slope + j, w * (V::load(slope + j) - inner) * Acc(scale));
    }
    for (int64_t j = first; j < begin; ++j)
      weight[j] = slope[j] = 0;
    for (int64_t j = end; j < roundUp(end, V::lanes); ++j)
      weight[j] = slope[j] = 0;
  }

  /// The first query that sees a key in front of `end`: the end of what a query
  /// sees moves forward.
  int64_t firstQuery(int64_t j, int64_t count) const {
    int64_t i = 0;
    while (i < count && seen[i].end <= j)
      ++i;
    return i;
  }

  void addToKeys(const Queries &queries, Acc *dk, Acc *dv) const {
    static constexpr Acc one = 1;
    int64_t count = queries.span.count;
    for (int64_t j = 0; j < keys.count; j += P::rows) {
      int64_t rows = least(P::rows, keys.count - j);
      int64_t i = firstQuery(j, count);
      for (int64_t c = 0; c < paddedE; c += P::columns)
        P::tile({weights + i * tile + j, tile,
                 queries.outRows + i * paddedE + c, paddedE, dv + c, rowsE + j,
                 &one, 0},
                rows, count - i);
      for (int64_t c = 0; c < paddedD; c += P::columns)
        P::tile({slopes + i * tile + j, tile, queries.rows + i * paddedD + c,
                 paddedD, dk + c, rowsD + j, &one, 0},
                rows, count - i);
    }
  }

  void addToQueries(const Queries &queries) {
    static constexpr Acc one = 1;
    int64_t count = queries.span.count;
    Pack<Isa, Acc>::transposed({slopes, tile, 1}, count, keys.count, tile,
                               transposed, tile);
    for (int64_t i = 0; i < count; i += P::rows) {
      int64_t rows = least(P::rows, count - i);
      int64_t j = seen[i].begin, end = seen[i + rows - 1].end;
      for (int64_t c = 0; c < paddedD && j < end; c += P::columns)
        P::tile({transposed + j * tile + i, tile, keyRows + j * paddedD + c,
                 paddedD, queries.sums + c, rowsD + i, &one, 0},
                rows, end - j);
    }
  }

  /// The same, pair by pair.
  [[gnu::noinline]] void addSeen(Queries &queries, Acc *dk, Acc *dv) const {
    for (int64_t i = 0; i < queries.span.count; ++i)
      for (int64_t j = seen[i].begin; j < seen[i].end; ++j) {
        Acc weight = weights[i * tile + j], slope = slopes[i * tile + j];
        for (int64_t c = 0; c < e; ++c)
          dv[j * paddedE + c] += weight * queries.outRows[i * paddedE + c];
        for (int64_t c = 0; c < d; ++c) {
          dk[j * paddedD + c] += slope * queries.rows[i * paddedD + c];
          queries.sums[i * paddedD + c] += slope * keyRows[j * paddedD + c];
        }
      }
  }

  int64_t d, e, paddedD, paddedE;
  double scale;
  Span keys = {};
  bool isFinite = true;
  Acc *keyColumns, *valueColumns, *keyRows;
  /// One row of out.
  Acc *outRow;
  /// [query][key]: weights, dout . v and then ds, and that as [key][query].
  Acc *weights, *slopes, *transposed;
  int64_t *tileRows, *rowsD, *rowsE;
  KeyRange *seen;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_ATTENTIONGRADTILE_H
