//===- fast/SsdScan.h - Fast second half of a cut scan ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_SSDSCAN_H
#define CP_KERNELS_CPU_FAST_SSDSCAN_H

#include "fast/Ssd.h"

namespace cp::kernels::fast {

/// As Ssd, with steps and decays given. A chunk that fits one tile takes its
/// own state from `chunk_states` and saves the product that would form it.
template <typename Isa, typename T, typename Factor = AccumulatorOf<T>>
class SsdScan {
public:
  static const char *run(const Call &call) {
    SsdScanArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    SsdScan scan(args);
    if (!scan.allocate())
      return outOfMemory("ssd_scan");
    for (int64_t b = 0; b < args.b; ++b)
      scan.sequence(b);
    return nullptr;
  }

private:
  using Acc = AccumulatorOf<T>;

  explicit SsdScan(const SsdScanArgs<T> &args)
      : args(args), tile(args.p, args.n) {}

  bool allocate() {
    int64_t stateElements = (args.h + 1) * tile.stateSize();
    void *memory =
        scratch(Slot::Kernel, tile.bytes() + carved<Acc>(stateElements));
    if (!memory)
      return false;
    Carver carver(memory);
    tile.allocate(carver);
    states = carver.take<Acc>(stateElements);
    summand = states + args.h * tile.stateSize();
    return true;
  }

  Acc *state(int64_t h) { return states + h * tile.stateSize(); }

  /// to = factor * to + from, where from is [p, n].
  void scaleAndAdd(Acc factor, Matrix<const Acc> from, Acc *to) {
    tile.loadState(from, summand);
    for (int64_t i = 0; i < tile.stateSize(); ++i)
      to[i] = factor * to[i] + summand[i];
  }

  void loadPrefix(int64_t b, int64_t h) {
    Matrix<const Acc> prefix = stateOf(args.prefixState, b, h);
    if (!args.initial.data)
      return tile.loadState(prefix, state(h));
    tile.loadState(stateOf(args.initial, b, h), state(h));
    scaleAndAdd(*args.prefixDecay.at(b, h), prefix, state(h));
  }

  void sequence(int64_t b) {
    for (int64_t h = 0; h < args.h; ++h)
      loadPrefix(b, h);
    for (int64_t chunk = 0; chunk < args.chunks(); ++chunk) {
      int64_t end = least(args.l, (chunk + 1) * args.chunk);
      for (int64_t t = chunk * args.chunk; t < end; t += tileTokens)
        for (int64_t g = 0; g < args.g; ++g)
          group(b, t, least(tileTokens, end - t), g);
    }
    for (int64_t h = 0; h < args.h; ++h)
      tile.storeState(state(h), stateOf(args.finalState, b, h));
  }

  void group(int64_t b, int64_t t, int64_t count, int64_t g) {
    tile.loadGroup(tokens(args.B, b, t, g), tokens(args.C, b, t, g), count);
    int64_t heads = args.headsPerGroup();
    for (int64_t h = g * heads; h < (g + 1) * heads; ++h) {
      bool startsChunk = t % args.chunk == 0;
      SsdSteps<Isa, Acc> steps;
      steps.load(args, b, t, count, h,
                 startsChunk ? Acc(0) : *args.logDecay.at(b, t - 1, h));
      tile.output(tokens(args.x, b, t, h), steps, state(h), skipOf(args.D, h),
                  tokens(args.y, b, t, h));
      advance(b, t, h, steps);
    }
  }

  void advance(int64_t b, int64_t t, int64_t h,
               const SsdSteps<Isa, Acc> &steps) {
    if (args.chunk > tileTokens)
      return tile.advance(steps, state(h));
    const View<const Acc, 5> &chunks = args.chunkStates;
    scaleAndAdd(
        tile.decayOf(steps.logDecay[tileTokens - 1]),
        {chunks.at(b, t / args.chunk, h), chunks.strides[3], chunks.strides[4]},
        state(h));
  }

  const SsdScanArgs<T> &args;
  SsdTile<Isa, T, Factor> tile;
  Acc *states, *summand;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_SSDSCAN_H
