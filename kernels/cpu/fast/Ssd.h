//===- fast/Ssd.h - Fast scan -----------------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_SSD_H
#define CP_KERNELS_CPU_FAST_SSD_H

#include "Arguments.h"
#include "OpArguments.h"
#include "fast/SsdTile.h"

namespace cp::kernels::fast {

/// The rows [t...] of one head (or group) as a matrix.
template <typename T>
static inline Matrix<T> tokens(const View<T, 4> &view, int64_t b, int64_t t,
                               int64_t h) {
  return {view.at(b, t, h), view.strides[1], view.strides[3]};
}
/// One state [p, n].
template <typename T>
static inline Matrix<T> stateOf(const View<T, 4> &view, int64_t b, int64_t h) {
  return {view.at(b, h), view.strides[2], view.strides[3]};
}

template <typename T>
static inline Skip<T> skipOf(const View<const T, 2> &D, int64_t h) {
  return {D.data ? D.at(h) : nullptr, D.strides[1]};
}

/// Tile by tile; within a tile group by group, so that what the heads of a
/// group share is formed once. The tile's size is the kernel's own: the call's
/// chunk size only says how the sum may be cut, and no result depends on it.
template <typename Isa, typename T, typename Factor = AccumulatorOf<T>>
class Ssd {
public:
  static const char *run(const Call &call) {
    SsdArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    Ssd ssd(args);
    if (!ssd.allocate())
      return outOfMemory("ssd");
    for (int64_t b = 0; b < args.b; ++b)
      ssd.sequence(b);
    return nullptr;
  }

private:
  using Acc = AccumulatorOf<T>;

  explicit Ssd(const SsdArgs<T> &args) : args(args), tile(args.p, args.n) {}

  bool allocate() {
    int64_t stateElements = args.h * tile.stateSize();
    void *memory =
        scratch(Slot::Kernel, tile.bytes() + carved<Acc>(stateElements));
    if (!memory)
      return false;
    Carver carver(memory);
    tile.allocate(carver);
    states = carver.take<Acc>(stateElements);
    return true;
  }

  Acc *state(int64_t h) { return states + h * tile.stateSize(); }

  void sequence(int64_t b) {
    for (int64_t i = 0; i < args.h * tile.stateSize(); ++i)
      states[i] = 0;
    for (int64_t h = 0; h < args.h && args.initial.data; ++h)
      tile.loadState(stateOf(args.initial, b, h), state(h));
    for (int64_t t = 0; t < args.l; t += tileTokens)
      for (int64_t g = 0; g < args.g; ++g)
        group(b, t, least(tileTokens, args.l - t), g);
    for (int64_t h = 0; h < args.h; ++h)
      tile.storeState(state(h), stateOf(args.finalState, b, h));
  }

  void group(int64_t b, int64_t t, int64_t count, int64_t g) {
    tile.loadGroup(tokens(args.B, b, t, g), tokens(args.C, b, t, g), count);
    int64_t heads = args.headsPerGroup();
    for (int64_t h = g * heads; h < (g + 1) * heads; ++h) {
      SsdSteps<Isa, Acc> steps;
      steps.compute(args.step, b, t, count, h, Acc(0));
      tile.output(tokens(args.x, b, t, h), steps, state(h), skipOf(args.D, h),
                  tokens(args.y, b, t, h));
      tile.advance(steps, state(h));
    }
  }

  const SsdArgs<T> &args;
  SsdTile<Isa, T, Factor> tile;
  Acc *states;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_SSD_H
