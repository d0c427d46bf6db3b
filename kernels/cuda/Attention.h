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

/// Any sizes and strides, a warp for each query of a head: each lane takes a
/// key of 32, and then channels of the values.
template <typename T> struct AttentionPlain {
  static constexpr int threads = 128, blocks = 1, warps = threads / warpSize;
  /// Channels of a query, and of a value for each lane.
  static constexpr int mostChannels = 256, perLane = mostChannels / warpSize;
  using Acc = AccumulatorOf<T>;
  struct Shared {
    Acc query[warps][mostChannels], weights[warps][warpSize];
  };

  AttentionWork<T> work;

  CP_DEVICE void operator()() const {
    const AttentionArgs<T> &args = work.args;
    int64_t row = int64_t(blockX()) * warps + warp();
    int64_t h = blockY(), b = blockZ();
    if (row >= args.l)
      return;
    int64_t g = h / (args.hq / args.hkv);
    Acc *query = shared<Shared>().query[warp()];
    for (int64_t i = lane(); i < args.d; i += warpSize)
      sharedStore(&query[i],
                  Acc(widened(*at(args.q, b, row, h, i)) * Acc(args.scale)));
    warpBarrier();
    int64_t last = work.queries[row];
    int64_t first = firstSeen(args.mask, args.places, b, row, last);
    Acc top = -Acc(__builtin_huge_val()), sum = 0, result[perLane] = {};
    for (int64_t begin = 0; begin < args.s; begin += warpSize) {
      int64_t key = begin + lane();
      bool sees = key < args.s;
      if (sees && args.mask.causal)
        sees = work.keys[key] >= first && work.keys[key] <= last;
      if (vote(sees) == 0)
        continue;
      Acc score = -Acc(__builtin_huge_val());
      if (sees)
        score = product(query, b, key, g);
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
      Acc *weights = shared<Shared>().weights[warp()];
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
    store(b, h, row, top, sum, result);
  }

private:
  CP_DEVICE Acc product(const Acc *query, int64_t b, int64_t key,
                        int64_t g) const {
    Acc sum = 0;
    for (int64_t i = 0; i < work.args.d; ++i)
      sum +=
          sharedLoad(&query[i]) * Acc(widened(*at(work.args.k, b, key, g, i)));
    return sum;
  }

  CP_DEVICE void store(int64_t b, int64_t h, int64_t row, Acc top, Acc sum,
                       const Acc (&result)[perLane]) const {
    const AttentionArgs<T> &args = work.args;
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
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_ATTENTION_H
