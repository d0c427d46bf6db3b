//===- SsdFold.h - States from segment to segment ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SSDFOLD_H
#define CP_KERNELS_CUDA_SSDFOLD_H

#include "Launch.h"
#include "SsdWork.h"

namespace cp::kernels::cuda {

/// From the states and decays of segments the state in front of each `every`th
/// one, and what all of them are together.
template <typename T> struct SsdFold {
  static constexpr int threads = 128, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  SsdSizes sizes;
  int64_t segments, every;
  /// The state in front of the first: `initial`, or prefixDecay * initialSum +
  /// prefixState. Each may be absent.
  View<const T, 4> initial;
  View<const Acc, 4> initialSum, prefixState;
  View<const Acc, 2> prefixDecay;
  /// [b, segments, h, p, n] and [b, segments, h]; null for one segment, of
  /// which nothing is known.
  View<const Acc, 5> states;
  const Acc *decays;
  /// [b, ceil(segments / every), h, p, n], or null, and the same rounded.
  Acc *before;
  BFloat16 *roundedBefore;
  /// Absent or both there.
  View<Acc, 4> whole;
  View<Acc, 2> decayOfAll;

  CP_DEVICE void operator()() const {
    int64_t element = int64_t(blockX()) * threads + thread();
    int64_t head = blockY(), b = blockZ();
    // States may have no elements; their decays are there.
    bool hasState = element < sizes.p * sizes.n;
    if (!hasState && element > 0)
      return;
    int64_t channel = hasState ? element / sizes.n : 0;
    int64_t column = hasState ? element % sizes.n : 0;
    int64_t kept = (segments + every - 1) / every;
    Acc state = hasState ? incoming(b, head, channel, column) : Acc(0);
    Acc product = 1;
    for (int64_t segment = 0; segment < segments; ++segment) {
      if (hasState && segment % every == 0) {
        int64_t to =
            stateOffset(sizes, kept, b, segment / every, head) + element;
        if (before)
          before[to] = state;
        if (roundedBefore)
          roundedBefore[to] = narrowed<BFloat16>(float(state));
      }
      // Of the last one there may be no state, where nobody asks for it.
      if (!decays || (!decayOfAll.data && segment + 1 == segments))
        continue;
      Acc decay = decays[(b * segments + segment) * sizes.h + head];
      if (hasState)
        state = decayedBy(decay, state,
                          *at(states, b, segment, head, channel, column));
      product = joinedDecays(product, decay);
    }
    if (whole.data && hasState)
      *at(whole, b, head, channel, column) = state;
    if (decayOfAll.data && element == 0)
      *at(decayOfAll, b, head) = product;
  }

private:
  CP_DEVICE Acc incoming(int64_t b, int64_t head, int64_t channel,
                         int64_t column) const {
    if (initial.data)
      return widened(*at(initial, b, head, channel, column));
    if (!prefixState.data)
      return 0;
    Acc prefix = *at(prefixState, b, head, channel, column);
    if (!initialSum.data)
      return prefix;
    return decayedBy(*at(prefixDecay, b, head),
                     *at(initialSum, b, head, channel, column), prefix);
  }
};

/// The decay of each segment, from delta: [b, segments, h].
template <typename T> struct SsdDecays {
  static constexpr int threads = 128, blocks = 1;
  using Acc = AccumulatorOf<T>;
  using Shared = Nothing;

  SsdWork<T> work;

  CP_DEVICE void operator()() const {
    int64_t head = int64_t(blockX()) * threads + thread();
    int64_t segment = blockY(), b = blockZ();
    if (head >= work.h)
      return;
    double rate = decayRateOf(double(widened(*at(work.aLog, head))));
    double product = 1;
    bool hasStart = false;
    int64_t end = least((segment + 1) * work.segment, work.l);
    for (int64_t t = segment * work.segment; t < end; ++t) {
      int64_t place = work.places.data ? *at(work.places, b, t) : 1;
      hasStart |= place == 0;
      if (place >= 0)
        product *= exp(rate * double(*at(work.delta, b, t, head)));
    }
    work.decays[(b * work.segments + segment) * work.h + head] =
        hasStart ? startOfSequence<Acc>() : Acc(product);
  }
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SSDFOLD_H
