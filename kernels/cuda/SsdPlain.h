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

/// Token by token, a warp for each channel of a head, of whose state a lane has
/// every 32nd column: for types and sizes that tiles are not for. The segments
/// are one where it gives y. Of n up to 32 PerLane.
template <typename T, int PerLane> struct SsdPlain {
  static constexpr int threads = 128, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  SsdWork<T> work;

  CP_DEVICE void operator()() const {
    int64_t channel = int64_t(blockX()) * (threads / warpSize) + warp();
    int64_t head = blockY(), b = blockZ(), group = head / (work.h / work.g);
    if (channel >= work.p)
      return;
    // The state since the first token, and since its segment's.
    Acc state[PerLane] = {}, own[PerLane] = {};
    if (work.before)
      for (int i = 0; i < PerLane; ++i)
        if (int64_t column = i * warpSize + lane(); column < work.n)
          state[i] = work.before[stateOffset(work, 1, b, 0, head) +
                                 channel * work.n + column];
    double rate = decayRateOf(double(widened(*at(work.aLog, head))));
    Acc bias = work.delta.data ? Acc(0) : biasOf(work, head);
    double product = 1;
    bool hasStart = false;
    for (int64_t t = 0; t < work.l; ++t) {
      int64_t segment = t / work.segment;
      int64_t place = work.places.data ? *at(work.places, b, t) : 1;
      if (place == 0)
        for (int i = 0; i < PerLane; ++i)
          state[i] = own[i] = 0;
      hasStart |= place == 0;
      Acc delta = place < 0         ? Acc(0)
                  : work.delta.data ? *at(work.delta, b, t, head)
                                    : stepSizeOf(
                                          work, *at(work.step.dt, b, t, head),
                                          bias);
      double decay = place < 0 ? 1 : exp(rate * double(delta));
      product *= decay;
      Acc sum = 0;
      if (place >= 0)
        sum = step(b, t, head, group, channel, Acc(decay), delta, state, own);
      if (lane() == 0) {
        if (work.y.data)
          *at(work.y, b, t, head, channel) = narrowed<T>(sum);
        if (work.formed.data && channel == 0)
          *at(work.formed, b, t, head) = delta;
      }
      if (t + 1 < work.l && (t + 1) % work.segment)
        continue;
      if (work.decays && lane() == 0 && channel == 0)
        work.decays[(b * work.segments + segment) * work.h + head] =
            hasStart ? startOfSequence<Acc>() : Acc(product);
      for (int i = 0; i < PerLane; ++i) {
        int64_t column = i * warpSize + lane();
        if (work.after.data && column < work.n)
          *at(work.after, b, segment, head, channel, column) = own[i];
        own[i] = 0;
      }
      product = 1;
      hasStart = false;
    }
    for (int i = 0; i < PerLane; ++i) {
      int64_t column = i * warpSize + lane();
      if (column >= work.n)
        continue;
      if (work.finalState.data)
        *at(work.finalState, b, head, channel, column) = narrowed<T>(state[i]);
      if (work.finalSum.data)
        *at(work.finalSum, b, head, channel, column) = state[i];
    }
  }

private:
  CP_DEVICE Acc step(int64_t b, int64_t t, int64_t head, int64_t group,
                     int64_t channel, Acc decay, Acc delta,
                     Acc (&state)[PerLane], Acc (&own)[PerLane]) const {
    Acc x = widened(*at(work.x, b, t, head, channel)), in = delta * x, sum = 0;
    for (int i = 0; i < PerLane; ++i) {
      int64_t column = i * warpSize + lane();
      if (column >= work.n)
        continue;
      Acc added = in * widened(*at(work.B, b, t, group, column));
      state[i] = decay * state[i] + added;
      own[i] = decay * own[i] + added;
      if (work.y.data)
        sum += state[i] * widened(*at(work.C, b, t, group, column));
    }
    sum = warpSum(sum);
    return work.D.data ? sum + Acc(widened(*at(work.D, head, channel))) * x
                       : sum;
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDPLAIN_H
