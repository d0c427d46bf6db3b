//===- AttentionGrad.h - Cotangents of attention ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of any type, sizes and strides: a warp has a query, or a key, and goes
// through what it sees, or is seen by, 32 at a time. What is not seen is not
// read.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_ATTENTIONGRAD_H
#define CP_KERNELS_CUDA_ATTENTIONGRAD_H

#include "Attention.h"

namespace cp::kernels::cuda {

template <typename T> struct AttentionGradWork {
  using Acc = AccumulatorOf<T>;
  AttentionGradArgs<T> args;
  /// Of keys; null where key i stands at i.
  const int64_t *keys;
  /// [b, hq, l]: what softmax takes off the cotangent of each weight.
  Acc *inner;

  CP_DEVICE int64_t queryAt(int64_t row) const {
    return args.positions.data ? *at(args.positions, row) : row;
  }
  CP_DEVICE int64_t keyAt(int64_t row) const { return keys ? keys[row] : row; }
  CP_DEVICE Acc &innerAt(int64_t b, int64_t h, int64_t row) const {
    return inner[(b * args.hq + h) * args.l + row];
  }
  /// Whether a query sees a key; `first` is the least position it sees.
  CP_DEVICE bool sees(int64_t first, int64_t query, int64_t key) const {
    return !args.causal || (key >= first && key <= query);
  }
  CP_DEVICE int64_t headsPerGroup() const { return args.hq / args.hkv; }

  /// What softmax makes of a query and a key, and the cotangent of their
  /// product.
  struct Pair {
    Acc weight, dProduct;
  };
  /// From term(i) of the product and dTerm(i) of the weight's cotangent.
  template <typename Term, typename DTerm>
  CP_DEVICE Pair pairOf(int64_t b, int64_t h, int64_t row, Term term,
                        DTerm dTerm) const {
    Acc sum = 0, dSum = 0;
    for (int64_t i = 0; i < args.d; ++i)
      sum += term(i);
    for (int64_t i = 0; i < args.e; ++i)
      dSum += dTerm(i);
    Acc weight = exponential(sum * Acc(args.scale) - *at(args.lse, b, h, row));
    return {weight, weight * (dSum - innerAt(b, h, row)) * Acc(args.scale)};
  }
};

template <typename T> struct InnerProducts {
  static constexpr int threads = 128, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  AttentionGradWork<T> work;

  CP_DEVICE void operator()() const {
    const AttentionGradArgs<T> &args = work.args;
    int64_t row = int64_t(blockX()) * threads + thread();
    int64_t h = blockY(), b = blockZ();
    if (row >= args.l)
      return;
    Acc sum = args.dlse.data ? -*at(args.dlse, b, h, row) : Acc(0);
    for (int64_t i = 0; i < args.e; ++i)
      sum += Acc(widened(*at(args.dout, b, row, h, i))) *
             Acc(widened(*at(args.out, b, row, h, i)));
    work.innerAt(b, h, row) = sum;
  }
};

/// A warp's shared memory.
template <typename Acc, int Channels> struct AttentionGradScratch {
  Acc first[Channels], second[Channels];
  Acc weights[warpSize], dProducts[warpSize];
};

/// What rows of queries and of keys have in common.
template <typename T> class AttentionGradRow {
protected:
  using Acc = AccumulatorOf<T>;
  using Pair = typename AttentionGradWork<T>::Pair;
  static constexpr int perLane = mostAttentionChannels / warpSize;

  template <int Channels>
  CP_DEVICE AttentionGradRow(const AttentionGradWork<T> &work, int64_t b,
                             AttentionGradScratch<Acc, Channels> &scratch)
      : work(work), args(work.args), b(b), first(scratch.first),
        second(scratch.second), weights(scratch.weights),
        dProducts(scratch.dProducts) {}

  CP_DEVICE void bring(const View<const T, 4> &from, int64_t row, int64_t head,
                       int64_t count, Acc *to) const {
    for (int64_t i = lane(); i < count; i += warpSize)
      sharedStore(&to[i], Acc(widened(*at(from, b, row, head, i))));
  }

  const AttentionGradWork<T> &work;
  const AttentionGradArgs<T> &args;
  int64_t b;
  Acc *first, *second, *weights, *dProducts;
};

/// dq of a query of a head.
template <typename T> class QueryGradRow : AttentionGradRow<T> {
  using Base = AttentionGradRow<T>;
  using Base::args, Base::work, Base::b, Base::first, Base::second,
      Base::dProducts, Base::perLane, Base::bring;
  using typename Base::Acc, typename Base::Pair;

public:
  template <int Channels>
  CP_DEVICE QueryGradRow(const AttentionGradWork<T> &work, int64_t b, int64_t h,
                         int64_t row,
                         AttentionGradScratch<Acc, Channels> &scratch)
      : Base(work, b, scratch), h(h), row(row) {}

  CP_DEVICE void form() {
    bring(args.q, row, h, args.d, first);
    bring(args.dout, row, h, args.e, second);
    warpBarrier();
    int64_t last = work.queryAt(row);
    int64_t least = firstSeen(args.mask, args.places, b, row, last);
    for (int64_t begin = 0; begin < args.s; begin += warpSize) {
      int64_t key = begin + lane();
      bool sees = key < args.s && work.sees(least, last, work.keyAt(key));
      if (uint32_t seen = vote(sees))
        addKeys(begin, sees, seen);
    }
    CP_UNROLL
    for (int i = 0; i < perLane; ++i)
      if (int64_t channel = lane() + i * warpSize; channel < args.d)
        store(channel, dq[i]);
  }

private:
  CP_DEVICE void addKeys(int64_t begin, bool sees, uint32_t seen) {
    int64_t key = begin + lane(), g = h / work.headsPerGroup();
    Pair pair = {};
    if (sees)
      pair = work.pairOf(
          b, h, row,
          [&](int64_t i) {
            return sharedLoad(&first[i]) *
                   Acc(widened(*at(args.k, b, key, g, i)));
          },
          [&](int64_t i) {
            return sharedLoad(&second[i]) *
                   Acc(widened(*at(args.v, b, key, g, i)));
          });
    sharedStore(&dProducts[lane()], pair.dProduct);
    warpBarrier();
    for (; seen; seen &= seen - 1) {
      int from = firstBit(seen);
      Acc dProduct = sharedLoad(&dProducts[from]);
      CP_UNROLL
      for (int i = 0; i < perLane; ++i)
        if (int64_t channel = lane() + i * warpSize; channel < args.d)
          dq[i] +=
              dProduct * Acc(widened(*at(args.k, b, begin + from, g, channel)));
    }
    warpBarrier();
  }

  CP_DEVICE void store(int64_t channel, Acc sum) const {
    if (args.dqBefore.data)
      sum += *at(args.dqBefore, b, row, h, channel);
    if (args.dqSum.data)
      *at(args.dqSum, b, row, h, channel) = sum;
    else
      *at(args.dq, b, row, h, channel) = narrowed<T>(sum);
  }

  int64_t h, row;
  Acc dq[perLane] = {};
};

/// dk and dv of a key of a group's head.
template <typename T> class KeyGradRow : AttentionGradRow<T> {
  using Base = AttentionGradRow<T>;
  using Base::args, Base::work, Base::b, Base::first, Base::second,
      Base::weights, Base::dProducts, Base::perLane, Base::bring;
  using typename Base::Acc, typename Base::Pair;

public:
  template <int Channels>
  CP_DEVICE KeyGradRow(const AttentionGradWork<T> &work, int64_t b, int64_t g,
                       int64_t key,
                       AttentionGradScratch<Acc, Channels> &scratch)
      : Base(work, b, scratch), g(g), key(key) {}

  CP_DEVICE void form() {
    int64_t each = work.headsPerGroup();
    bring(args.k, key, g, args.d, first);
    bring(args.v, key, g, args.e, second);
    warpBarrier();
    for (int64_t h = g * each; h < (g + 1) * each; ++h)
      for (int64_t begin = 0; begin < args.l; begin += warpSize) {
        bool sees = isSeenBy(begin + lane());
        if (uint32_t seen = vote(sees))
          addQueries(h, begin, sees, seen);
      }
    CP_UNROLL
    for (int i = 0; i < perLane; ++i) {
      int64_t channel = lane() + i * warpSize;
      if (channel < args.d)
        *at(args.dk, b, key, g, channel) =
            before(args.dkBefore, channel) + dk[i];
      if (channel < args.e)
        *at(args.dv, b, key, g, channel) =
            before(args.dvBefore, channel) + dv[i];
    }
  }

private:
  CP_DEVICE Acc before(const View<const Acc, 4> &sums, int64_t channel) const {
    return sums.data ? *at(sums, b, key, g, channel) : Acc(0);
  }

  CP_DEVICE bool isSeenBy(int64_t row) const {
    if (row >= args.l || !args.causal)
      return row < args.l;
    int64_t last = work.queryAt(row);
    return work.sees(firstSeen(args.mask, args.places, b, row, last), last,
                     work.keyAt(key));
  }

  CP_DEVICE void addQueries(int64_t h, int64_t begin, bool sees,
                            uint32_t seen) {
    int64_t row = begin + lane();
    Pair pair = {};
    if (sees)
      pair = work.pairOf(
          b, h, row,
          [&](int64_t i) {
            return Acc(widened(*at(args.q, b, row, h, i))) *
                   sharedLoad(&first[i]);
          },
          [&](int64_t i) {
            return Acc(widened(*at(args.dout, b, row, h, i))) *
                   sharedLoad(&second[i]);
          });
    sharedStore(&weights[lane()], pair.weight);
    sharedStore(&dProducts[lane()], pair.dProduct);
    warpBarrier();
    for (; seen; seen &= seen - 1) {
      int from = firstBit(seen);
      Acc weight = sharedLoad(&weights[from]);
      Acc dProduct = sharedLoad(&dProducts[from]);
      CP_UNROLL
      for (int i = 0; i < perLane; ++i) {
        int64_t channel = lane() + i * warpSize;
        if (channel < args.d)
          dk[i] +=
              dProduct * Acc(widened(*at(args.q, b, begin + from, h, channel)));
        if (channel < args.e)
          dv[i] += weight *
                   Acc(widened(*at(args.dout, b, begin + from, h, channel)));
      }
    }
    warpBarrier();
  }

  int64_t g, key;
  Acc dk[perLane] = {}, dv[perLane] = {};
};

/// A warp for each row of a head.
template <typename T, template <typename> class Row, bool OfKeys>
struct AttentionGradPlain {
  static constexpr int threads = 128, blocks = 1, warps = threads / warpSize;
  struct Shared {
    AttentionGradScratch<AccumulatorOf<T>, mostAttentionChannels>
        scratch[warps];
  };

  AttentionGradWork<T> work;

  CP_DEVICE void operator()() const {
    int64_t row = int64_t(blockX()) * warps + warp();
    if (row < (OfKeys ? work.args.s : work.args.l))
      Row<T>(work, blockZ(), blockY(), row, shared<Shared>().scratch[warp()])
          .form();
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_ATTENTIONGRAD_H
