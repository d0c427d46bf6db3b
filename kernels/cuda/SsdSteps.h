//===- SsdSteps.h - Step sizes and sums of log decays -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDSTEPS_H
#define CP_KERNELS_CUDA_SSDSTEPS_H

#include "Launch.h"
#include "SsdWork.h"

namespace cp::kernels::cuda {

/// For each head and token [b, h, l] delta, and the sum of log2 decays up to it
/// from the first token of its sequence in its segment on: as two floats, since
/// what is exponentiated is the difference of two sums, which large steps would
/// spoil. And the decay of each segment, and delta as it is handed over. A warp goes
/// through a segment of a head.
struct SsdSteps {
  static constexpr int threads = 512, blocks = 1;
  static constexpr int heads = threads / warpSize, each = 4;
  using Shared = Nothing;

  SsdWork<BFloat16> work;
  float *deltas, *highs, *lows;

  CP_DEVICE void operator()() const {
    int64_t head = int64_t(blockX()) * heads + warp(), b = blockZ();
    if (head >= work.h)
      return;
    double rate = decayRateOf(double(widened(*at(work.aLog, head))));
    float bias = work.delta.data ? 0 : biasOf(work, head);
    int64_t begin = blockY() * work.segment;
    int64_t end = least(begin + work.segment, work.l);
    double before = 0;
    bool anyStart = false;
    for (int64_t first = begin; first < end; first += warpSize * each) {
      int64_t t = first + lane() * each;
      Sums own;
      float delta[each];
      CP_UNROLL
      for (int i = 0; i < each; ++i) {
        bool starts = false;
        delta[i] = deltaAt(b, t + i, end, head, bias, starts);
        // The rate may be the largest number, so that it is not made larger
        // first. More leaves nothing either; sums stay finite, and NaN is NaN.
        double log = rate * double(delta[i]) * log2e;
        own.add(i, log < -4096 ? -4096 : log, starts);
      }
      before = own.finish(before, anyStart);
      CP_UNROLL
      for (int i = 0; i < each; ++i)
        if (t + i < end)
          store(b, t + i, head, delta[i], own.upTo[i]);
    }
    if (work.decays && lane() == 0)
      work.decays[(b * work.segments + blockY()) * work.h + head] =
          anyStart ? startOfSequence<float>() : float(exp2(before));
  }

private:
  /// Sums up to each of a lane's tokens, from where its sequence starts.
  struct Sums {
    double upTo[each], sum = 0;
    bool isBehindStart[each], hasStart = false;

    CP_DEVICE void add(int i, double log, bool starts) {
      sum = starts ? log : sum + log;
      hasStart |= starts;
      upTo[i] = sum;
      isBehindStart[i] = hasStart;
    }
    /// Adds what is in front of the lane, `before` of it in front of the warp;
    /// returns what is in front of the next tokens.
    CP_DEVICE double finish(double before, bool &anyStart) {
      double scanned = sum;
      bool starts = hasStart;
      CP_UNROLL
      for (int lanes = 1; lanes < warpSize; lanes *= 2) {
        double left = shuffleUp(scanned, lanes);
        bool leftStarts = shuffleUp(int(starts), lanes);
        if (lane() >= lanes && !starts) {
          scanned += left;
          starts = leftStarts;
        }
      }
      double left = shuffleUp(scanned, 1);
      bool leftStarts = shuffleUp(int(starts), 1);
      double base = lane() == 0 ? before : leftStarts ? left : left + before;
      CP_UNROLL
      for (int i = 0; i < each; ++i)
        upTo[i] = isBehindStart[i] ? upTo[i] : upTo[i] + base;
      bool isCut = shuffle(int(starts), warpSize - 1);
      anyStart |= isCut;
      return shuffle(scanned, warpSize - 1) + (isCut ? 0 : before);
    }
  };

  CP_DEVICE float deltaAt(int64_t b, int64_t t, int64_t end, int64_t head,
                          float bias, bool &starts) const {
    if (t >= end)
      return 0;
    int64_t place = work.places.data ? *at(work.places, b, t) : 1;
    starts = place == 0;
    if (place < 0)
      return 0;
    return work.delta.data
               ? *at(work.delta, b, t, head)
               : stepSizeOf(work, *at(work.step.dt, b, t, head), bias);
  }
  CP_DEVICE void store(int64_t b, int64_t t, int64_t head, float delta,
                       double sum) const {
    int64_t to = (b * work.h + head) * work.l + t;
    float high = float(sum);
    deltas[to] = delta;
    highs[to] = high;
    lows[to] = float(sum - double(high));
    if (work.formed.data)
      *at(work.formed, b, t, head) = delta;
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDSTEPS_H
