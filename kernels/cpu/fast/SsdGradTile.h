//===- fast/SsdGradTile.h - One tile of the adjoint of the scan -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Of the chunked form (SsdTile.h), with U_s = delta_s x_s, the state S in front
// of the tile, the cotangent G of that behind it, w_ts = exp(cum_t - cum_s) for
// s <= t, and e_s = exp(cum_end - cum_s):
//
//   dU_s = sum_t (C_t . B_s) w_ts dy_t + e_s G B_s
//   dC_t = sum_s v_ts B_s + exp(cum_t) S^T dy_t     v_ts = w_ts (dy_t . U_s)
//   dB_s = sum_t v_ts C_t + e_s G^T U_s
//
// summed over the heads of a group for dB and dC. A token's log decay is a
// factor of all that passes it: of the pairs (t, s) around it, of what S gives
// to tokens from it on, of what tokens before it give to the state behind, and
// of what S gives to that. Each is added up by itself, so where a decay is 0
// its cotangent is 0, and no difference of large sums.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_SSDGRADTILE_H
#define CP_KERNELS_CPU_FAST_SSDGRADTILE_H

#include "Scratch.h"
#include "fast/Product.h"
#include "fast/SsdSteps.h"
#include "fast/SsdTile.h"

namespace cp::kernels::fast {

/// One head of a tile of `count` tokens.
template <typename Isa, typename T> struct SsdGradHead {
  using Acc = AccumulatorOf<T>;

  Matrix<const T> x, dy;
  Skip<T> D;
  const SsdSteps<Isa, Acc> &steps;
  /// What dt gets of a step size, per token.
  const Acc *slopes;
  double rate;
  /// The state in front and the cotangent of that behind, [p][paddedN]; null
  /// for zeros.
  const Acc *before, *behind;
  /// To be written.
  Matrix<T> dx;
  T *ddt;
  int64_t ddtStride;
  /// To be added to: of A_log and dt_bias, and [p] of D.
  double *dALog, *dBias;
  Acc *dD;
};

template <typename Isa, typename T> class SsdGradTile {
public:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using M = VecMath<Isa, Acc>;
  using Type = typename V::Type;
  using P = Product<Isa, Acc, Acc, 64>;
  using Steps = SsdSteps<Isa, Acc>;
  using Packer = Pack<Isa, T>;
  using Head = SsdGradHead<Isa, T>;
  static constexpr int64_t tile = tileTokens;
  static_assert(tile % P::columns == 0 && tile % P::rows == 0);

  SsdGradTile(int64_t p, int64_t n)
      : p(p), n(n), paddedP(roundUp(p, P::columns)),
        paddedN(roundUp(n, P::columns)) {}

  size_t bytes() const {
    return 5 * carved<Acc>(tile * paddedN) + 2 * carved<Acc>(n * tile) +
           4 * carved<Acc>(tile * tile) + 3 * carved<Acc>(tile * paddedP) +
           4 * carved<Acc>(p * tile) + carved<Acc>(n * paddedP) +
           carved<Acc>(paddedP) + 7 * carved<Acc>(tile) +
           3 * carved<int64_t>(tile);
  }
  void allocate(Carver &carver) {
    for (Acc **rows : {&bRows, &cRows, &dB, &dC, &ofState})
      *rows = carver.take<Acc>(tile * paddedN);
    for (Acc **columns : {&bColumns, &cColumns})
      *columns = carver.take<Acc>(n * tile);
    for (Acc **square : {&products, &weights, &inner, &dProducts})
      *square = carver.take<Acc>(tile * tile);
    for (Acc **rows : {&xRows, &dyRows, &dU})
      *rows = carver.take<Acc>(tile * paddedP);
    for (Acc **columns : {&uColumns, &endColumns, &dyColumns, &startColumns})
      *columns = carver.take<Acc>(p * tile);
    behindRows = carver.take<Acc>(n * paddedP);
    skips = carver.take<Acc>(paddedP);
    for (Acc **row :
         {&fromStart, &toEnd, &passing, &lambda, &outward, &inward, &positions})
      *row = carver.take<Acc>(tile);
    tokenRows = carver.take<int64_t>(tile);
    nRows = carver.take<int64_t>(tile);
    pRows = carver.take<int64_t>(tile);
    for (int64_t i = 0; i < tile; ++i) {
      positions[i] = Acc(i);
      tokenRows[i] = i * tile;
      nRows[i] = i * paddedN;
      pRows[i] = i * paddedP;
    }
  }

  /// Takes B and C, each [tokens, n]. Heads of their group come next.
  void startGroup(Matrix<const T> B, Matrix<const T> C, int64_t tokens) {
    count = tokens;
    Packer::rows(B, count, n, paddedN, bRows, paddedN);
    Packer::rows(C, count, n, paddedN, cRows, paddedN);
    Packer::transposed(B, count, n, tile, bColumns, tile);
    Packer::transposed(C, count, n, tile, cColumns, tile);
    pairs(cColumns, bColumns, n, products);
    for (int64_t i = 0; i < tile * paddedN; ++i)
      dB[i] = dC[i] = 0;
    for (int64_t i = 0; i < tile * tile; ++i)
      dProducts[i] = 0;
  }

  void pass(const Head &head) {
    load(head);
    pairs(dyColumns, uColumns, p, inner);
    weigh(head.steps);
    combine();
    addBehind(head);
    addBefore(head);
    for (int64_t s = 0; s < count; s += P::rows)
      for (int64_t j = 0; j < paddedP; j += P::columns)
        P::tile({weights + s * tile + s, tile, dyRows + s * paddedP + j,
                 paddedP, dU + j, pRows + s, toEnd + s, 1},
                least(P::rows, count - s), count - s);
    sumDecays(head);
    store(head);
  }

  void finishGroup(Matrix<T> dBOut, Matrix<T> dCOut) {
    // Of s <= t only; both products want the tile with its sum in the rows.
    Pack<Isa, Acc>::transposed({dProducts, tile, 1}, tile, tile, tile, inner,
                               tile);
    addTriangle(inner, bRows, dC, /*upTo=*/true);
    addTriangle(dProducts, cRows, dB, /*upTo=*/false);
    storeRows(dB, n, paddedN, dBOut);
    storeRows(dC, n, paddedN, dCOut);
  }

private:
  static constexpr int64_t block = 16;
  static_assert(block % V::lanes == 0 && block % P::rows == 0);

  /// out[t][s] = sum_k a[k][t] b[k][s], in the register tiles that have an
  /// s <= t.
  void pairs(const Acc *a, const Acc *b, int64_t depth, Acc *out) const {
    typename P::Operands op = {a, tile, b, tile, out, tokenRows};
    for (int64_t t = 0; t < count; t += P::rows)
      for (int64_t s = 0; s < t + P::rows; s += P::columns)
        P::tile(op.at(t, s), least(P::rows, count - t), depth);
  }

  void load(const Head &head) {
    Packer::rows(head.x, count, p, paddedP, xRows, paddedP);
    Packer::rows(head.dy, count, p, paddedP, dyRows, paddedP);
    Packer::transposed(head.x, count, p, tile, uColumns, tile);
    Packer::transposed(head.dy, count, p, tile, dyColumns, tile);
    head.steps.decaysFromStart(fromStart);
    head.steps.decaysToEnd(toEnd);
    for (int64_t i = 0; i < p; ++i)
      for (int64_t t = 0; t < tile; t += V::lanes) {
        Acc *at = uColumns + i * tile + t;
        Type u = V::load(at) * V::load(head.steps.delta + t);
        V::store(at, u);
        V::store(endColumns + i * tile + t, u * V::load(toEnd + t));
        V::store(startColumns + i * tile + t,
                 V::load(dyColumns + i * tile + t) * V::load(fromStart + t));
      }
  }

  /// weights[t][s] = exp(cum_t - cum_s) for s <= t, and 0 beyond. In front of
  /// the blocks on the diagonal it is one exponential of t times one of s, each
  /// of the way to the block's first token; within them the difference of sums
  /// of two numbers each, as sums may be large that differ by little.
  void weigh(const Steps &steps) {
    for (int64_t first = 0; first < count; first += block) {
      double start = steps.logDecay[first];
      Acc toBlock[tile], within[block], high[block], low[block];
      steps.notAbove0(0, first, start, -1, toBlock);
      for (int64_t s = 0; s < first; s += V::lanes)
        V::store(toBlock + s, M::expNegative(V::load(toBlock + s)));
      steps.notAbove0(first, block, start, 1, within);
      for (int64_t t = 0; t < block; t += V::lanes)
        V::store(within + t, M::expNegative(V::load(within + t)));
      steps.split(first, block, start, high, low);
      for (int64_t t = first; t < least(first + block, count); ++t) {
        Acc *row = weights + t * tile;
        for (int64_t s = 0; s < first; s += V::lanes)
          V::store(row + s, V::load(toBlock + s) * within[t - first]);
        for (int64_t s = 0; s < block; s += V::lanes) {
          Type difference = (high[t - first] - V::load(high + s)) +
                            (low[t - first] - V::load(low + s));
          V::store(row + first + s,
                   M::expNegative(difference > Acc(0) ? Type{} : difference));
        }
        for (int64_t s = t + 1; s < tile; ++s)
          row[s] = 0;
      }
    }
  }

  /// From the last token to the first: what its pairs add to dProducts, the
  /// factors of dy in place of the weights, and how much of all pairs (t', s)
  /// with s < t <= t' there is, by `passing`, which holds the sum over t' of
  /// each s.
  void combine() {
    for (int64_t s = 0; s < tile; ++s)
      passing[s] = 0;
    for (int64_t t = count - 1; t >= 0; --t) {
      Type sum = {};
      for (int64_t s = 0; s <= t; s += V::lanes) {
        int64_t at = t * tile + s;
        Type weight = V::load(weights + at), product = V::load(products + at);
        Type value = upTo(t, s, weight * V::load(inner + at));
        V::store(dProducts + at, V::load(dProducts + at) + value);
        V::store(weights + at, upTo(t, s, weight * product));
        Type passed = V::load(passing + s) + upTo(t, s, product * value);
        V::store(passing + s, passed);
        sum += upTo(t - 1, s, passed);
      }
      lambda[t] = V::sum(sum);
    }
  }
  /// Of values at s and behind it those at most at t, and 0: what is not formed
  /// there, or hidden, may be no number.
  Type upTo(int64_t t, int64_t s, Type value) const {
    return V::load(positions + s) <= Acc(t) ? value : Type{};
  }

  /// What G gives: dU = G B, which is still to be decayed, and dB; outward[s]
  /// is what token s gives to the state behind, times its cotangent.
  void addBehind(const Head &head) {
    for (int64_t s = 0; s < tile; ++s)
      outward[s] = 0;
    if (!head.behind) {
      for (int64_t i = 0; i < tile * paddedP; ++i)
        dU[i] = 0;
      return;
    }
    Pack<Isa, Acc>::transposed({head.behind, paddedN, 1}, p, n, paddedP,
                               behindRows, paddedP);
    P::matrix({bColumns, tile, behindRows, paddedP, dU, pRows}, count, paddedP,
              n);
    for (int64_t s = 0; s < count; ++s)
      outward[s] = toEnd[s] * head.steps.delta[s] *
                   dot(xRows + s * paddedP, dU + s * paddedP, paddedP);
    static constexpr Acc one = 1;
    P::matrix({endColumns, tile, head.behind, paddedN, dB, nRows, &one, 0},
              count, paddedN, p);
  }

  /// What S gives: dC; inward[t] is what token t reads of the state in front,
  /// times its cotangent.
  void addBefore(const Head &head) {
    for (int64_t t = 0; t < tile; ++t)
      inward[t] = 0;
    if (!head.before)
      return;
    P::matrix({startColumns, tile, head.before, paddedN, ofState, nRows}, count,
              paddedN, p);
    for (int64_t t = 0; t < count; ++t) {
      const Acc *from = ofState + t * paddedN;
      inward[t] = dot(cRows + t * paddedN, from, paddedN);
      Acc *to = dC + t * paddedN;
      for (int64_t j = 0; j < paddedN; j += V::lanes)
        V::store(to + j, V::load(to + j) + V::load(from + j));
    }
  }

  static Acc dot(const Acc *a, const Acc *b, int64_t count) {
    Type sum = {};
    for (int64_t i = 0; i < count; i += V::lanes)
      sum += V::load(a + i) * V::load(b + i);
    return V::sum(sum);
  }

  /// Adds to lambda what passes a token from S, and to the state behind.
  void sumDecays(const Head &head) {
    Acc through = 0;
    if (head.before && head.behind)
      through =
          decayOf(head.steps) * dot(head.before, head.behind, p * paddedN);
    Acc behind = through;
    for (int64_t t = count - 1; t >= 0; --t) {
      behind += inward[t];
      lambda[t] += behind;
    }
    Acc before = 0;
    for (int64_t t = 0; t < count; ++t) {
      lambda[t] += before;
      before += outward[t];
    }
  }
  static Acc decayOf(const Steps &steps) {
    return M::exp(V::splat(Acc(steps.end())))[0];
  }

  void store(const Head &head) {
    for (int64_t i = 0; i < paddedP; ++i)
      skips[i] =
          head.D.data && i < p ? Acc(head.D.data[i * head.D.stride]) : Acc(0);
    for (int64_t s = 0; s < count; ++s) {
      const Acc *x = xRows + s * paddedP, *dy = dyRows + s * paddedP;
      Acc *row = dU + s * paddedP, delta = head.steps.delta[s];
      // Nothing passes where there is nothing in front.
      double ofLog = s == 0 && !head.before ? 0 : double(lambda[s]) * head.rate;
      double dDelta = double(dot(x, row, paddedP)) + ofLog;
      double dDt = dDelta * double(head.slopes[s]);
      *head.dALog += ofLog * double(delta);
      *head.dBias += dDt;
      head.ddt[s * head.ddtStride] = T(Acc(dDt));
      for (int64_t i = 0; i < p; ++i)
        head.dD[i] += dy[i] * x[i];
      for (int64_t i = 0; i < paddedP; ++i)
        row[i] = delta * row[i] + skips[i] * dy[i];
    }
    storeRows(dU, p, paddedP, head.dx);
  }

  void storeRows(const Acc *from, int64_t columns, int64_t padded,
                 Matrix<T> to) const {
    for (int64_t t = 0; t < count; ++t) {
      T *row = to.data + t * to.rowStride;
      const Acc *source = from + t * padded;
      if (to.columnStride == 1)
        for (int64_t j = 0; j < columns; ++j)
          row[j] = T(source[j]);
      else
        for (int64_t j = 0; j < columns; ++j)
          row[j * to.columnStride] = T(source[j]);
    }
  }

  /// out[i] += sum_k a[k][i] rows[k], where only k <= i are not 0 (`upTo`), or
  /// only k >= i.
  void addTriangle(const Acc *a, const Acc *rows, Acc *out, bool upTo) const {
    static constexpr Acc one = 1;
    for (int64_t i = 0; i < count; i += P::rows)
      for (int64_t j = 0; j < paddedN; j += P::columns) {
        int64_t first = upTo ? 0 : i;
        int64_t end = upTo ? least(i + P::rows, count) : count;
        P::tile({a + first * tile + i, tile, rows + first * paddedN + j,
                 paddedN, out + j, nRows + i, &one, 0},
                least(P::rows, count - i), end - first);
      }
  }

  int64_t p, n, paddedP, paddedN, count = 0;
  /// [tokens][paddedN]; `ofState` is of one head.
  Acc *bRows, *cRows, *dB, *dC, *ofState;
  /// [n][tokens]
  Acc *bColumns, *cColumns;
  /// [t][s]: C_t . B_s, weights and then the factors of dy, dy_t . U_s, and the
  /// sum of v over heads.
  Acc *products, *weights, *inner, *dProducts;
  /// [tokens][paddedP]
  Acc *xRows, *dyRows, *dU;
  /// [p][tokens]: U, U decayed to the tile's end, dy, and dy decayed from its
  /// start.
  Acc *uColumns, *endColumns, *dyColumns, *startColumns;
  /// G as [n][paddedP].
  Acc *behindRows;
  Acc *skips;
  /// Per token.
  Acc *fromStart, *toEnd, *passing, *lambda, *outward, *inward, *positions;
  int64_t *tokenRows, *nRows, *pRows;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_SSDGRADTILE_H
