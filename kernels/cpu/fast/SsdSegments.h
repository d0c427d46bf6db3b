//===- fast/SsdSegments.h - A scan of few heads on many threads -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_SSDSEGMENTS_H
#define CP_KERNELS_CPU_FAST_SSDSEGMENTS_H

#include "fast/SsdScan.h"
#include "fast/SsdStates.h"

namespace cp::kernels::fast {

/// Cuts the sequence between threads as it is cut between ranks: each segment
/// is summarised from a state of zero, the summaries are combined from the
/// first to the last, and each segment is computed again from the state that
/// really precedes it. Half of the work is done twice, so it pays only where
/// threads would have no head.
template <typename Isa, typename T, typename Factor = AccumulatorOf<T>>
class SsdSegments {
public:
  /// How many segments a call is worth; 1: it is better not cut.
  static int64_t countFor(const SsdArgs<T> &args) {
    int64_t heads = args.b * args.h;
    if (heads == 0 || args.cost() < 2 * leastShare)
      return 1;
    int64_t most = args.l / (2 * tileTokens);
    int64_t count = least(numThreads() / heads, most);
    return count < 2 ? 1 : count;
  }

  static const char *run(const Call &call) {
    SsdArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    int64_t count = countFor(args);
    return count > 1 ? compute(args, count)
                     : Ssd<Isa, T, Factor>::compute(args);
  }

  static const char *compute(const SsdArgs<T> &args, int64_t count) {
    SsdSegments segments(args, count);
    if (!segments.allocate())
      return outOfMemory("ssd");
    using States = SsdStates<Isa, T, Factor>;
    using Scan = SsdScan<Isa, T, Factor>;
    if (const char *message = segments.inEach(
            [&](int64_t s) { return States::compute(segments.statesArgs(s)); }))
      return message;
    segments.combine();
    const char *message = segments.inEach(
        [&](int64_t s) { return Scan::compute(segments.scanArgs(s)); });
    segments.storeFinal();
    return message;
  }

private:
  using Acc = AccumulatorOf<T>;

  SsdSegments(const SsdArgs<T> &args, int64_t count)
      : args(args),
        length(roundUp(ceilDiv(args.l, count), int64_t(tileTokens))),
        count(ceilDiv(args.l, length)), heads(args.b * args.h),
        stateSize(args.p * args.n) {}

  template <typename Fn> const char *inEach(Fn fn) const {
    return share(count, args.cost(), [&](Items &items) -> const char * {
      for (int64_t s; items.take(s);)
        if (const char *message = fn(s))
          return message;
      return nullptr;
    });
  }

  bool allocate() {
    int64_t steps = heads * args.l, states = count * heads * stateSize;
    void *memory =
        scratch(Slot::Segments, carved<Acc>(steps) + 2 * carved<Acc>(states) +
                                    carved<Acc>(count * heads));
    if (!memory)
      return false;
    Carver carver(memory);
    delta = carver.take<Acc>(steps);
    ends = carver.take<Acc>(states);
    starts = carver.take<Acc>(states);
    decays = carver.take<Acc>(count * heads);
    return true;
  }

  int64_t lengthOf(int64_t s) const {
    return least(length, args.l - s * length);
  }
  template <typename View> View from(View view, int64_t s) const {
    if (view.data)
      view.data += s * length * view.strides[1];
    return view;
  }
  /// [b, l, h]
  View<Acc, 3> steps(Acc *data, int64_t s) const {
    return from(View<Acc, 3>{data, {args.l * args.h, args.h, 1}}, s);
  }
  /// [b, h, p, n]
  View<Acc, 4> states(Acc *data, int64_t s) const {
    return {data + s * heads * stateSize,
            {args.h * stateSize, stateSize, args.n, 1}};
  }

  /// One segment is one chunk: its state is the chunk's.
  SsdSizes sizes(int64_t s) const {
    SsdSizes sizes = args;
    sizes.l = lengthOf(s);
    sizes.chunk = length;
    return sizes;
  }

  SsdStatesArgs<T> statesArgs(int64_t s) const {
    SsdStatesArgs<T> to;
    static_cast<SsdSizes &>(to) = sizes(s);
    to.step = args.step;
    to.step.dt = from(args.step.dt, s);
    to.x = from(args.x, s);
    to.B = from(args.B, s);
    to.places = from(args.places, s);
    to.decay = {decays + s * heads, {args.h, 1}};
    to.state = states(ends, s);
    // Overwritten by combine().
    View<Acc, 4> spare = states(starts, s);
    to.chunkStates = {spare.data,
                      {spare.strides[0], 0, spare.strides[1], spare.strides[2],
                       spare.strides[3]}};
    to.delta = steps(delta, s);
    return to;
  }

  SsdScanArgs<T> scanArgs(int64_t s) const {
    SsdScanArgs<T> to;
    static_cast<SsdSizes &>(to) = sizes(s);
    to.x = from(args.x, s);
    to.B = from(args.B, s);
    to.C = from(args.C, s);
    to.D = args.D;
    to.aLog = args.step.aLog;
    to.delta = view(steps(delta, s));
    to.prefixState = view(states(starts, s));
    to.places = from(args.places, s);
    to.y = from(args.y, s);
    to.finalState = states(ends, s);
    return to;
  }
  template <int Rank>
  static View<const Acc, Rank> view(const View<Acc, Rank> &of) {
    View<const Acc, Rank> result{of.data, {}};
    for (int i = 0; i < Rank; ++i)
      result.strides[i] = of.strides[i];
    return result;
  }

  /// starts[s + 1] = decays[s] starts[s] + ends[s]
  void combine() {
    View<Acc, 4> first = states(starts, 0);
    for (int64_t b = 0; b < args.b; ++b)
      for (int64_t h = 0; h < args.h; ++h)
        for (int64_t i = 0; i < args.p; ++i)
          for (int64_t j = 0; j < args.n; ++j)
            *first.at(b, h, i, j) =
                args.initial.data ? Acc(*args.initial.at(b, h, i, j)) : Acc(0);
    for (int64_t s = 0; s + 1 < count; ++s)
      for (int64_t h = 0; h < heads; ++h) {
        int64_t at = (s * heads + h) * stateSize;
        Acc *next = starts + at + heads * stateSize;
        for (int64_t i = 0; i < stateSize; ++i)
          next[i] =
              decayed(decays[s * heads + h], starts[at + i], ends[at + i]);
      }
  }

  void storeFinal() const {
    View<Acc, 4> last = states(ends, count - 1);
    for (int64_t b = 0; b < args.b; ++b)
      for (int64_t h = 0; h < args.h; ++h)
        for (int64_t i = 0; i < args.p; ++i)
          for (int64_t j = 0; j < args.n; ++j)
            *args.finalState.at(b, h, i, j) = T(*last.at(b, h, i, j));
  }

  const SsdArgs<T> &args;
  int64_t length, count, heads, stateSize;
  Acc *delta, *ends, *starts, *decays;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_SSDSEGMENTS_H
