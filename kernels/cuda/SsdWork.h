//===- SsdWork.h - What the kernels of a scan share -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scan is cut into segments of tokens, which blocks of the device work on at
// once, as ranks do with the parts of a sequence: each segment's state from
// zeros and its decay, a fold of them from left to right, and the outputs of
// each segment from the state in front of it.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDWORK_H
#define CP_KERNELS_CUDA_SSDWORK_H

#include "Device.h"
#include "OpArguments.h"

namespace cp::kernels::cuda {

template <typename T> struct SsdWork : SsdSizes {
  using Acc = AccumulatorOf<T>;

  /// dt, or delta where it has been formed.
  StepArgs<T> step;
  View<const Acc, 3> delta;
  View<const T, 1> aLog;
  View<const T, 4> x, B, C;
  View<const T, 2> D;
  PlacesView places;

  /// Tokens of a segment, and how many segments there are.
  int64_t segment, segments;
  /// Of how many of the first ones the state is wanted; 0 for all.
  int64_t summarised;
  /// What tiles are given of the steps: see SsdSteps.
  const float *sums, *inputs;
  /// [b, segments, h, p, n]: the state in front of each; null for zeros.
  const Acc *before;

  /// The results, each of which may be absent: y and the state behind the last
  /// segment, in one type or the other,
  View<T, 4> y, finalState;
  View<Acc, 4> finalSum;
  /// or of each segment [b, segments, h, p, n] its state from zeros and its
  /// decay, [b, segments, h] without gaps; and delta.
  View<Acc, 5> after;
  Acc *decays;
  View<Acc, 3> formed;
};

/// Tokens of a tile; tiles of a segment begin with it and with each sequence.
constexpr int tileTokens = 64;

/// Decays as they are computed with on the device; see Decay.h.
CP_DEVICE double decayRateOf(double aLog) {
  double rate = exp(aLog);
  return rate > 1.7976931348623157e308 ? -1.7976931348623157e308 : -rate;
}
template <typename T> CP_DEVICE T startOfSequence() { return -T(0); }
CP_DEVICE bool isStartDecay(float decay) {
  return bitsOf(decay) == 0x80000000u;
}
CP_DEVICE bool isStartDecay(double decay) {
  return decay == 0 && 1 / decay < 0;
}
template <typename T> CP_DEVICE T decayedBy(T decay, T state, T summand) {
  return isStartDecay(decay) ? summand : decay * state + summand;
}
template <typename T> CP_DEVICE T joinedDecays(T left, T right) {
  return isStartDecay(left) || isStartDecay(right) ? startOfSequence<T>()
                                                   : left * right;
}

template <typename Acc> CP_DEVICE Acc softplusOf(Acc x) {
  Acc tail = logOfOneMore(exponential(x > 0 ? -x : x));
  return x > 0 ? x + tail : tail;
}

/// delta = clamp(softplus(dt + dt_bias), dt_min, dt_max), of a raw `dt`.
template <typename T>
CP_DEVICE AccumulatorOf<T> stepSizeOf(const StepArgs<T> &step, T dt,
                                      AccumulatorOf<T> bias) {
  using Acc = AccumulatorOf<T>;
  Acc delta = softplusOf<Acc>(widened(dt) + bias);
  if (delta < Acc(step.dtMin))
    return Acc(step.dtMin);
  return delta > Acc(step.dtMax) ? Acc(step.dtMax) : delta;
}

/// The derivative of that by dt: 0 where it is clamped.
template <typename T>
CP_DEVICE double stepSlopeOf(const StepArgs<T> &step, T dt,
                             AccumulatorOf<T> bias) {
  using Acc = AccumulatorOf<T>;
  Acc raw = widened(dt) + bias, delta = softplusOf(raw);
  if (delta < Acc(step.dtMin) || delta > Acc(step.dtMax))
    return 0;
  return 1 / (1 + exp(-double(raw)));
}

template <typename T>
CP_DEVICE AccumulatorOf<T> biasOf(const StepArgs<T> &step, int64_t head) {
  return step.bias.data ? AccumulatorOf<T>(widened(*at(step.bias, head)))
                        : AccumulatorOf<T>(0);
}

/// Where the state of a head is among those of all segments.
CP_DEVICE int64_t stateOffset(const SsdSizes &sizes, int64_t segments,
                              int64_t b, int64_t segment, int64_t head) {
  return ((b * segments + segment) * sizes.h + head) * sizes.p * sizes.n;
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDWORK_H
