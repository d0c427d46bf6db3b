//===- SsdPlain.h - The scan as its recurrence ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDPLAIN_H
#define CP_KERNELS_CUDA_SSDPLAIN_H

#include "Launch.h"
#include "SsdWork.h"

namespace cp::kernels::cuda {

/// A channel of a head, token by token: a lane of a warp has every 32nd column
/// of its state, of up to 32 PerLane.
template <typename T, int PerLane> class SsdChannel {
public:
  using Acc = AccumulatorOf<T>;

  /// With the state in front of segment `segment`.
  CP_DEVICE SsdChannel(const SsdWork<T> &work, int64_t b, int64_t segment,
                       int64_t head, int64_t channel)
      : work(work), b(b), head(head), channel(channel),
        rate(decayRateOf(double(widened(*at(work.aLog, head))))),
        bias(work.delta.data ? Acc(0) : biasOf(work.step, head)) {
    if (!work.before)
      return;
    int64_t from = stateOffset(work, work.segments, b, segment, head);
    for (int i = 0; i < PerLane; ++i)
      if (columnAt(i) < work.n)
        state[i] = work.before[from + channel * work.n + columnAt(i)];
  }

  /// Stores y, or where `repairs` only one in place of what is not finite.
  CP_DEVICE void step(int64_t t, bool repairs = false) {
    int64_t place = work.places.data ? *at(work.places, b, t) : 1;
    if (place == 0)
      for (int i = 0; i < PerLane; ++i)
        state[i] = own[i] = 0;
    hasStart |= place == 0;
    Acc delta =
        place < 0 ? Acc(0)
        : work.delta.data
            ? *at(work.delta, b, t, head)
            : stepSizeOf(work.step, *at(work.step.dt, b, t, head), bias);
    double decay = place < 0 ? 1 : exp(rate * double(delta));
    product *= decay;
    Acc y = place < 0 ? Acc(0) : advance(t, Acc(decay), delta);
    if (lane())
      return;
    if (work.y.data) {
      T *to = at(work.y, b, t, head, channel);
      if (!repairs || !(0 * widened(*to) == 0))
        *to = narrowed<T>(y);
    }
    if (work.formed.data && channel == 0)
      *at(work.formed, b, t, head) = delta;
  }

  /// Stores what the segment gives by itself, and begins the next one.
  CP_DEVICE void finishSegment(int64_t segment) {
    if (work.decays && lane() == 0 && channel == 0)
      work.decays[(b * work.segments + segment) * work.h + head] =
          hasStart ? startOfSequence<Acc>() : Acc(product);
    for (int i = 0; i < PerLane; ++i) {
      if (work.after.data && channel < work.p && columnAt(i) < work.n)
        *at(work.after, b, segment, head, channel, columnAt(i)) = own[i];
      own[i] = 0;
    }
    product = 1;
    hasStart = false;
  }

  CP_DEVICE void finish() const {
    for (int i = 0; i < PerLane; ++i) {
      if (columnAt(i) >= work.n)
        continue;
      if (work.finalState.data)
        *at(work.finalState, b, head, channel, columnAt(i)) =
            narrowed<T>(state[i]);
      if (work.finalSum.data)
        *at(work.finalSum, b, head, channel, columnAt(i)) = state[i];
    }
  }

private:
  CP_DEVICE static int64_t columnAt(int i) { return i * warpSize + lane(); }

  CP_DEVICE Acc advance(int64_t t, Acc decay, Acc delta) {
    // Without channels a head has steps and decays.
    if (channel >= work.p)
      return 0;
    int64_t group = head / (work.h / work.g);
    Acc x = widened(*at(work.x, b, t, head, channel)), in = delta * x, sum = 0;
    for (int i = 0; i < PerLane; ++i) {
      if (columnAt(i) >= work.n)
        continue;
      Acc added = in * widened(*at(work.B, b, t, group, columnAt(i)));
      state[i] = decay * state[i] + added;
      own[i] = decay * own[i] + added;
      if (work.y.data)
        sum += state[i] * widened(*at(work.C, b, t, group, columnAt(i)));
    }
    sum = warpSum(sum);
    return work.D.data ? sum + Acc(widened(*at(work.D, head, channel))) * x
                       : sum;
  }

  const SsdWork<T> &work;
  int64_t b, head, channel;
  double rate, product = 1;
  Acc bias;
  bool hasStart = false;
  /// Since the first token, and since the segment's.
  Acc state[PerLane] = {}, own[PerLane] = {};
};

/// In segments where tiles left outputs that are not finite, those again: a
/// number that is finite depends on finite ones only.
template <typename T, int PerLane> struct SsdRepair {
  static constexpr int threads = 128, blocks = 1;
  using Shared = Nothing;

  SsdWork<T> work;
  /// [b, segments, h]
  const bool *spoiled;

  CP_DEVICE void operator()() const {
    int64_t head = blockX(), segment = blockY(), b = blockZ();
    if (!spoiled[(b * work.segments + segment) * work.h + head])
      return;
    int64_t end = least((segment + 1) * work.segment, work.l);
    for (int64_t number = warp(); number < work.p;
         number += threads / warpSize) {
      SsdChannel<T, PerLane> channel(work, b, segment, head, number);
      for (int64_t t = segment * work.segment; t < end; ++t)
        channel.step(t, true);
    }
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDPLAIN_H
