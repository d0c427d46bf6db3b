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

/// For each head and token [b, h, l], of logarithms to the base 2:
///   sums    of the decays of its tile's tokens up to it
///   inputs  log delta - sums, so that 2^(sums[t] + inputs[s]) is what is left
///           at t of what token s puts in
/// and delta as it is handed over. A tile's sums are short, so that floats hold
/// them: what fades by more than 2^-200 is gone.
struct SsdSteps {
  static constexpr int threads = 256, blocks = 3;
  static constexpr int heads = threads / warpSize, each = 4;
  /// Tokens of a block: with places a tile may begin anywhere, so that the sums
  /// begin earlier.
  static constexpr int64_t chunk = 512, early = warpSize * each;
  using Shared = Nothing;

  SsdWork<BFloat16> work;
  /// Blocks of a segment.
  int chunks;
  float *sums, *inputs;

  CP_DEVICE void operator()() const {
    int64_t head = int64_t(blockX()) * heads + warp(), b = blockZ();
    if (head >= work.h)
      return;
    double rate = decayRateOf(double(widened(*at(work.aLog, head))));
    float bias = work.delta.data ? 0 : biasOf(work.step, head);
    int64_t begin = blockY() / chunks * work.segment;
    int64_t stored = begin + blockY() % chunks * chunk;
    int64_t end = least(stored + chunk, least(begin + work.segment, work.l));
    bool isEarly = work.places.data && stored > begin;
    double before = 0;
    for (int64_t first = isEarly ? stored - early : stored; first < end;
         first += warpSize * each) {
      int64_t t = first + lane() * each;
      Sums own;
      float delta[each];
      CP_UNROLL
      for (int i = 0; i < each; ++i) {
        bool startsTile = false;
        delta[i] =
            t + i < end ? deltaAt(b, t + i, begin, head, bias, startsTile) : 0;
        // The rate may be the largest number, so that it is not made larger
        // first. NaN stays.
        double log = rate * double(delta[i]) * log2e;
        own.add(i, log < -200 ? -200 : log, startsTile);
      }
      before = own.finish(before);
      CP_UNROLL
      for (int i = 0; i < each; ++i)
        if (t + i >= stored && t + i < end)
          store(b, t + i, head, delta[i], own.upTo[i]);
    }
  }

private:
  /// Sums up to each of a lane's tokens, from where its tile starts.
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
    CP_DEVICE double finish(double before) {
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
      return shuffle(scanned, warpSize - 1) + (isCut ? 0 : before);
    }
  };

  CP_DEVICE float deltaAt(int64_t b, int64_t t, int64_t begin, int64_t head,
                          float bias, bool &startsTile) const {
    int64_t place = work.places.data ? *at(work.places, b, t) : t + 1;
    startsTile =
        (place >= 0 && t - place >= begin ? place : t - begin) % tileTokens ==
        0;
    if (place < 0)
      return 0;
    return work.delta.data
               ? *at(work.delta, b, t, head)
               : stepSizeOf(work.step, *at(work.step.dt, b, t, head), bias);
  }
  CP_DEVICE void store(int64_t b, int64_t t, int64_t head, float delta,
                       double sum) const {
    int64_t to = (b * work.h + head) * work.l + t;
    sums[to] = float(sum);
    inputs[to] = log2f(delta) - float(sum);
    if (work.formed.data)
      *at(work.formed, b, t, head) = delta;
  }
};

/// The decay of each segment, [b, segments, h], from the sums of its tiles: a
/// warp each.
struct SsdTileDecays {
  static constexpr int threads = 128, blocks = 1;
  using Shared = Nothing;

  SsdWork<BFloat16> work;

  CP_DEVICE void operator()() const {
    int64_t head = int64_t(blockX()) * (threads / warpSize) + warp();
    int64_t segment = blockY(), b = blockZ();
    if (head >= work.h)
      return;
    int64_t begin = segment * work.segment;
    int64_t end = least(begin + work.segment, work.l);
    bool hasStart = false;
    if (work.places.data)
      for (int64_t t = begin + lane(); t < end; t += warpSize)
        hasStart |= *at(work.places, b, t) == 0;
    // Without a start tiles lie side by side from the segment's first token on.
    const float *sums = work.sums + (b * work.h + head) * work.l;
    double total = 0;
    for (int64_t t = begin + lane() * tileTokens; t < end;
         t += warpSize * tileTokens)
      total += double(sums[least(t + tileTokens, end) - 1]);
    total = warpSum(total);
    bool anyStart = vote(hasStart) != 0;
    if (lane() == 0)
      work.decays[(b * work.segments + segment) * work.h + head] =
          anyStart ? startOfSequence<float>() : float(exp2(total));
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDSTEPS_H
