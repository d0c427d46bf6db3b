//===- reference/SsdStates.cpp - The first half of a cut scan -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Scratch.h"
#include "reference/Recurrence.h"
#include "reference/Reference.h"

#include <algorithm>

namespace cp::kernels::reference {

namespace {
/// The state since the first token, and that since the chunk's first. The
/// product of decays, until a sequence starts.
template <typename T> struct States {
  HeadState<T> all, chunk;
  double product = 1;
  bool hasStart = false;

  double decay() const { return hasStart ? startDecay<double> : product; }
};
} // namespace

template <typename T>
static void scanChunk(const SsdStatesArgs<T> &args, int64_t b, int64_t chunk,
                      int64_t h, States<T> &states) {
  using Acc = AccumulatorOf<T>;
  int64_t g = h / args.headsPerGroup();
  double rate = decayRate(double(Acc(*args.step.aLog.at(h)))), product = 1;
  int64_t end = std::min(args.l, (chunk + 1) * args.chunk);
  for (int64_t t = chunk * args.chunk; t < end; ++t) {
    states.all.enter(args.places, b, t);
    if (!states.chunk.enter(args.places, b, t)) {
      *args.delta.at(b, t, h) = Acc(0);
      continue;
    }
    states.hasStart |= args.places.data && *args.places.at(b, t) == 0;
    Acc delta = stepSize(args.step, b, t, h);
    double decay = decayOf(rate, delta);
    for (HeadState<T> *state : {&states.all, &states.chunk})
      state->update(Acc(decay), delta, args.x.at(b, t, h), args.x.strides[3],
                    args.B.at(b, t, g), args.B.strides[3]);
    product *= decay;
    *args.delta.at(b, t, h) = delta;
  }
  states.product *= product;
}

template <typename T> const char *ssdStates(const Call &call) {
  using Acc = AccumulatorOf<T>;
  SsdStatesArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  int64_t elements = HeadState<T>::elements(args);
  auto *memory =
      static_cast<Acc *>(scratch(Slot::Kernel, carved<Acc>(2 * elements)));
  if (!memory)
    return outOfMemory("ssd_states");
  States<T> states = {HeadState<T>(memory, args, 0),
                      HeadState<T>(memory + elements, args, 0)};
  for (int64_t b = 0; b < args.b; ++b) {
    for (int64_t h = 0; h < args.h; ++h) {
      states.all.clear();
      states.product = 1;
      states.hasStart = false;
      for (int64_t chunk = 0; chunk < args.chunks(); ++chunk) {
        states.chunk.clear();
        scanChunk(args, b, chunk, h, states);
        states.chunk.store(lastTwo(args.chunkStates, b, chunk, h));
      }
      states.all.store(lastTwo(args.state, b, h));
      *args.decay.at(b, h) = Acc(states.decay());
    }
  }
  return nullptr;
}

template const char *ssdStates<float>(const Call &);
template const char *ssdStates<double>(const Call &);
template const char *ssdStates<BFloat16>(const Call &);

} // namespace cp::kernels::reference
