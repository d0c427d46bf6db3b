//===- SsdRepair.h - Outputs that tiles have spoiled ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDREPAIR_H
#define CP_KERNELS_CUDA_SSDREPAIR_H

#include "SsdWork.h"

namespace cp::kernels::cuda {

/// A channel of a head, token by token: a lane of a warp has every 32nd column
/// of its state, of up to 32 PerLane.
template <int PerLane> class SsdChannel {
public:
  /// With the state in front of segment `segment`.
  CP_DEVICE SsdChannel(const SsdWork<BFloat16> &work, int64_t b,
                       int64_t segment, int64_t head, int64_t channel)
      : work(work), b(b), head(head), channel(channel),
        rate(decayRateOf(double(widened(*at(work.aLog, head))))),
        bias(work.delta.data ? 0 : biasOf(work.step, head)) {
    if (!work.before)
      return;
    const float *from = work.before +
                        stateOffset(work, work.segments, b, segment, head) +
                        channel * work.n;
    for (int i = 0; i < PerLane; ++i)
      if (columnAt(i) < work.n)
        state[i] = from[columnAt(i)];
  }

  /// Stores y in place of what is not finite.
  CP_DEVICE void step(int64_t t) {
    int64_t place = work.places.data ? *at(work.places, b, t) : 1;
    if (place == 0)
      for (int i = 0; i < PerLane; ++i)
        state[i] = 0;
    float y = place < 0 ? 0 : advance(t);
    BFloat16 *to = at(work.y, b, t, head, channel);
    if (lane() == 0 && !(0 * widened(*to) == 0))
      *to = narrowed<BFloat16>(y);
  }

private:
  CP_DEVICE static int64_t columnAt(int i) { return i * warpSize + lane(); }

  CP_DEVICE float advance(int64_t t) {
    float delta =
        work.delta.data
            ? *at(work.delta, b, t, head)
            : stepSizeOf(work.step, *at(work.step.dt, b, t, head), bias);
    auto decay = float(exp(rate * double(delta)));
    int64_t group = head / (work.h / work.g);
    float x = widened(*at(work.x, b, t, head, channel)), sum = 0;
    for (int i = 0; i < PerLane; ++i) {
      if (columnAt(i) >= work.n)
        continue;
      state[i] = decay * state[i] +
                 delta * x * widened(*at(work.B, b, t, group, columnAt(i)));
      sum += state[i] * widened(*at(work.C, b, t, group, columnAt(i)));
    }
    sum = warpSum(sum);
    return work.D.data ? sum + widened(*at(work.D, head, channel)) * x : sum;
  }

  const SsdWork<BFloat16> &work;
  int64_t b, head, channel;
  double rate;
  float bias;
  float state[PerLane] = {};
};

/// The outputs of a segment that are not finite again, of `count` channels from
/// `first` on, by the four warps of a head: a number that is finite depends on
/// finite ones only. Apart from its callers, whose registers it would take.
template <int PerLane>
CP_OUTLINED void repairSegment(const SsdWork<BFloat16> &work, int64_t b,
                               int64_t segment, int64_t head, int first,
                               int count) {
  constexpr int warps = 4;
  noteRepair();
  int64_t end = least((segment + 1) * work.segment, work.l);
  for (int number = warp() % warps; number < count; number += warps) {
    SsdChannel<PerLane> channel(work, b, segment, head, first + number);
    for (int64_t t = segment * work.segment; t < end; ++t)
      channel.step(t);
  }
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDREPAIR_H
