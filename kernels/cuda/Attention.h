//===- Attention.h - Softmax attention --------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_ATTENTION_H
#define CP_KERNELS_CUDA_ATTENTION_H

#include "AttentionMask.h"

namespace cp::kernels::cuda {

/// What kernels for attention are handed.
template <typename T> struct AttentionWork {
  AttentionArgs<T> args;
  const int64_t *queries, *keys;
};

/// Of a query, and of a value.
constexpr int mostAttentionChannels = 256;

/// A query of a head, by a warp: each lane takes a key of 32, and then channels
/// of the values. Any sizes and strides; a value that is not seen is not read.
template <typename T> class AttentionRow {
public:
  using Acc = AccumulatorOf<T>;
  /// A warp's shared memory.
  template <int Channels> struct Scratch {
    Acc query[Channels], weights[warpSize];
  };

  template <int Channels>
  CP_DEVICE AttentionRow(const AttentionWork<T> &work, int64_t b, int64_t h,
                         int64_t row, Scratch<Channels> &scratch)
      : work(work), args(work.args), b(b), h(h), row(row),
        g(h / (args.hq / args.hkv)), query(scratch.query),
        weights(scratch.weights) {}

  CP_DEVICE void attend() {
    for (int64_t i = lane(); i < args.d; i += warpSize)
      sharedStore(&query[i],
                  Acc(widened(*at(args.q, b, row, h, i)) * Acc(args.scale)));
    warpBarrier();
    int64_t last = work.queries[row];
    int64_t first = firstSeen(args.mask, args.places, b, row, last);
    for (int64_t begin = 0; begin < args.s; begin += warpSize) {
      int64_t key = begin + lane();
      bool sees = key < args.s;
      if (sees && args.mask.causal)
        sees = work.keys[key] >= first && work.keys[key] <= last;
      if (vote(sees) != 0)
        addKeys(begin, sees);
    }
    store();
  }

private:
  static constexpr int perLane = mostAttentionChannels / warpSize;

  CP_DEVICE void addKeys(int64_t begin, bool sees) {
    Acc score = sees ? product(begin + lane()) : -Acc(__builtin_huge_val());
    Acc newTop = score;
    for (int mask = warpSize / 2; mask; mask /= 2) {
      Acc other = shuffleXor(newTop, mask);
      newTop = other > newTop ? other : newTop;
    }
    newTop = top > newTop ? top : newTop;
    Acc kept = exponential(top - newTop);
    Acc weight = sees ? exponential(score - newTop) : Acc(0);
    sum = sum * kept + warpSum(weight);
    top = newTop;
    CP_UNROLL
    for (int i = 0; i < perLane; ++i)
      result[i] *= kept;
    sharedStore(&weights[lane()], weight);
    warpBarrier();
    for (int from = 0; from < warpSize; ++from) {
      Acc of = sharedLoad(&weights[from]);
      // What is not seen is not read: it may be NaN.
      if (of == Acc(0))
        continue;
      CP_UNROLL
      for (int i = 0; i < perLane; ++i)
        if (int64_t channel = lane() + i * warpSize; channel < args.dv)
          result[i] +=
              of * Acc(widened(*at(args.v, b, begin + from, g, channel)));
    }
    warpBarrier();
  }

  CP_DEVICE Acc product(int64_t key) const {
    Acc sum = 0;
    for (int64_t i = 0; i < args.d; ++i)
      sum += sharedLoad(&query[i]) * Acc(widened(*at(args.k, b, key, g, i)));
    return sum;
  }

  CP_DEVICE void store() const {
    Acc factor = sum == Acc(0) ? Acc(0) : Acc(1) / sum;
    CP_UNROLL
    for (int i = 0; i < perLane; ++i) {
      int64_t channel = lane() + i * warpSize;
      if (channel >= args.dv)
        continue;
      if (args.sums.data)
        *at(args.sums, b, row, h, channel) = result[i] * factor;
      else
        *at(args.o, b, row, h, channel) = narrowed<T>(result[i] * factor);
    }
    if (lane() == 0)
      *at(args.lse, b, h, row) =
          sum == Acc(0) ? -Acc(__builtin_huge_val()) : top + logarithm(sum);
  }

  const AttentionWork<T> &work;
  const AttentionArgs<T> &args;
  int64_t b, h, row, g;
  Acc *query, *weights;
  Acc top = -Acc(__builtin_huge_val()), sum = 0, result[perLane] = {};
};

/// A warp for each query of a head.
template <typename T> struct AttentionPlain {
  static constexpr int threads = 128, blocks = 1, warps = threads / warpSize;
  struct Shared {
    typename AttentionRow<T>::template Scratch<mostAttentionChannels>
        scratch[warps];
  };

  AttentionWork<T> work;

  CP_DEVICE void operator()() const {
    int64_t row = int64_t(blockX()) * warps + warp();
    if (row < work.args.l)
      AttentionRow<T>(work, blockZ(), blockY(), row,
                      shared<Shared>().scratch[warp()])
          .attend();
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_ATTENTION_H
