//===- fast/SsdCotangent.h - States of the scan, backwards ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_FAST_SSDCOTANGENT_H
#define CP_KERNELS_CPU_FAST_SSDCOTANGENT_H

#include "Arguments.h"
#include "Scratch.h"
#include "Team.h"
#include "fast/Ssd.h"
#include "fast/SsdTiles.h"

namespace cp::kernels::fast {

/// From one tile to the next, forward for states and backward for their
/// cotangents:
///
///   S' = exp(cum_end) S + sum_s exp(cum_end - cum_s) delta_s x_s B_s^T
///   G  = exp(cum_end) G' + sum_t exp(cum_t) dy_t C_t^T
///
/// States are [p][paddedN].
template <typename Isa, typename T> class SsdTileStates {
public:
  using Acc = AccumulatorOf<T>;
  using V = Vec<Isa, Acc>;
  using P = Product<Isa, Acc, Acc, 64>;
  using Steps = SsdSteps<Isa, Acc>;

  SsdTileStates(int64_t p, int64_t n)
      : p(p), n(n), paddedP(roundUp(p, V::lanes)),
        paddedN(roundUp(n, P::columns)) {}

  int64_t stateSize() const { return p * paddedN; }
  size_t bytes() const {
    return carved<Acc>(tileTokens * paddedN) +
           carved<Acc>(tileTokens * paddedP) + carved<int64_t>(p);
  }
  void allocate(Carver &carver) {
    others = carver.take<Acc>(tileTokens * paddedN);
    decayed = carver.take<Acc>(tileTokens * paddedP);
    rows = carver.take<int64_t>(p);
    for (int64_t i = 0; i < p; ++i)
      rows[i] = i * paddedN;
  }

  /// In place, over a tile of `count` tokens.
  void advance(Matrix<const T> x, Matrix<const T> B, const Steps &steps,
               int64_t count, Acc *state) {
    Acc factors[tileTokens];
    steps.decaysToEnd(factors);
    for (int64_t s = 0; s < tileTokens; ++s)
      factors[s] *= steps.delta[s];
    add(x, factors, B, steps, count, state);
  }
  void retreat(Matrix<const T> dy, Matrix<const T> C, const Steps &steps,
               int64_t count, Acc *cotangent) {
    Acc factors[tileTokens];
    steps.decaysFromStart(factors);
    add(dy, factors, C, steps, count, cotangent);
  }

  void clear(Acc *state) const {
    for (int64_t i = 0; i < stateSize(); ++i)
      state[i] = 0;
  }
  /// From or to [p, n].
  void load(Matrix<const Acc> from, Acc *state) const {
    Pack<Isa, Acc>::rows(from, p, n, paddedN, state, paddedN);
  }
  void store(const Acc *state, Matrix<Acc> to) const {
    for (int64_t i = 0; i < p; ++i)
      for (int64_t j = 0; j < n; ++j)
        to.data[i * to.rowStride + j * to.columnStride] =
            state[i * paddedN + j];
  }

private:
  using Packer = SsdPack<Isa, T, Acc>;

  /// state = exp(cum_end) state + sum_t (factors[t] a_t) b_t^T
  void add(Matrix<const T> a, const Acc *factors, Matrix<const T> b,
           const Steps &steps, int64_t count, Acc *state) {
    for (int64_t t = 0; t < count; ++t)
      Packer::scaledRows(a, t, count, p, paddedP, factors, nullptr,
                         decayed + t * paddedP);
    Pack<Isa, T>::rows(b, count, n, paddedN, others, paddedN);
    Acc decay = VecMath<Isa, Acc>::exp(V::splat(Acc(steps.end())))[0];
    P::matrix({decayed, paddedP, others, paddedN, state, rows, &decay, 0}, p,
              paddedN, count);
  }

  int64_t p, n, paddedP, paddedN;
  Acc *others, *decayed;
  int64_t *rows;
};

/// What tokens of this part of a sequence read of the state in front of it.
template <typename Isa, typename T> class SsdGradStates {
public:
  static const char *run(const Call &call) {
    SsdGradStatesArgs<T> args;
    if (const char *message = decode(call, args))
      return message;
    SsdTiles<Isa> tiles(args);
    if (!tiles.find(args.places,
                    scratch(Slot::Segments, tiles.bytes(args.places)),
                    [](int64_t, const Piece &) {}))
      return outOfMemory("ssd_grad_states");
    return share(args.b * args.h, args.cost() / 2,
                 [&](Items &items) -> const char * {
                   SsdGradStates grad(args, tiles);
                   if (!grad.allocate())
                     return outOfMemory("ssd_grad_states");
                   for (int64_t i; items.take(i);)
                     grad.head(i / args.h, i % args.h);
                   return nullptr;
                 });
  }

private:
  using Acc = AccumulatorOf<T>;

  SsdGradStates(const SsdGradStatesArgs<T> &args, const SsdTiles<Isa> &tiles)
      : args(args), tiles(tiles), states(args.p, args.n) {}

  bool allocate() {
    void *memory =
        scratch(Slot::Kernel, states.bytes() + carved<Acc>(states.stateSize()));
    if (!memory)
      return false;
    Carver carver(memory);
    states.allocate(carver);
    cotangent = carver.take<Acc>(states.stateSize());
    return true;
  }

  void head(int64_t b, int64_t h) {
    int64_t g = h / args.headsPerGroup();
    states.clear(cotangent);
    for (int64_t i = tiles.sizeOf(b); i-- > 0;) {
      const Piece &tile = tiles.at(b, i);
      // Nothing goes back over the start of a sequence.
      if (tile.starts) {
        states.clear(cotangent);
        continue;
      }
      SsdSteps<Isa, Acc> steps;
      steps.compute(args.step, b, tile.first, tile.count, h);
      states.retreat(tokens(args.dy, b, tile.first, h),
                     tokens(args.C, b, tile.first, g), steps, tile.count,
                     cotangent);
    }
    states.store(cotangent, stateOf(args.dstate, b, h));
  }

  const SsdGradStatesArgs<T> &args;
  const SsdTiles<Isa> &tiles;
  SsdTileStates<Isa, T> states;
  Acc *cotangent;
};

} // namespace cp::kernels::fast

#endif // CP_KERNELS_CPU_FAST_SSDCOTANGENT_H
