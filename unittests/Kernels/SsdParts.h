//===- SsdParts.h - A scan cut between ranks --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_KERNELS_SSDPARTS_H
#define CP_UNITTESTS_KERNELS_SSDPARTS_H

#include "SsdSupport.h"

#include <gtest/gtest.h>

namespace cp::kernels::test {

/// Tokens [first, first + s.l) of a whole scan, as one rank sees them.
template <typename T> struct Part {
  using Acc = AccumulatorOf<T>;

  SsdProblem<T> &whole;
  int64_t first;
  SsdShape s;
  Tensor<Acc> decay, state, chunkStates, delta;
  Tensor<Acc> prefixDecay, prefixState, initial, finalState;
  Tensor<T> y;

  Part(SsdProblem<T> &whole, int64_t first, int64_t end, Random &random)
      : whole(whole), first(first), s(whole.s) {
    s.l = end - first;
    auto make = [&](std::vector<int64_t> sizes) {
      return Tensor<Acc>(sizes, pickLay(random), random);
    };
    decay = make({s.b, s.h});
    state = make({s.b, s.h, s.p, s.n});
    chunkStates = make({s.b, (s.l + s.chunk - 1) / s.chunk, s.h, s.p, s.n});
    delta = make({s.b, s.l, s.h});
    prefixDecay = make({s.b, s.h});
    prefixState = make({s.b, s.h, s.p, s.n});
    y = Tensor<T>({s.b, s.l, s.h, s.p}, pickLay(random), random);
    finalState = make({s.b, s.h, s.p, s.n});
    initial = make({s.b, s.h, s.p, s.n});
    for (int64_t i = 0; i < initial.count(); ++i)
      initial[i] = whole.initial[i];
  }

  /// The part's tokens of one of the whole scan's inputs.
  template <typename E> Buffer cut(Tensor<E> &tensor) {
    sizes.push_back(tensor.sizes);
    sizes.back()[1] = s.l;
    Buffer buffer = tensor.buffer();
    buffer.sizes = sizes.back().data();
    buffer.data = static_cast<E *>(buffer.data) + first * tensor.strides[1];
    return buffer;
  }
  Buffer places() {
    return whole.documents.isEmpty() ? absent : cut(whole.documents.places);
  }

  std::string runStates(const Implementation &implementation) {
    sizes.clear();
    sizes.reserve(8);
    std::vector<Buffer> ins = {cut(whole.x), cut(whole.dt), whole.aLog.buffer(),
                               cut(whole.B)};
    ins.push_back(whole.hasBias ? whole.bias.buffer() : absent);
    ins.push_back(places());
    return run(
        implementation.find("ssd_states", Element<T>::dtype), ins,
        {decay.buffer(), state.buffer(), chunkStates.buffer(), delta.buffer()},
        {s.chunk, bitsOf(whole.dtMax), bitsOf(whole.dtMin)});
  }

  std::string runScan(const Implementation &implementation) {
    sizes.clear();
    sizes.reserve(8);
    std::vector<Buffer> ins = {cut(whole.x), whole.aLog.buffer(), cut(whole.B),
                               cut(whole.C),
                               whole.hasD ? whole.D.buffer() : absent};
    for (Tensor<Acc> *tensor :
         {&chunkStates, &delta, &prefixDecay, &prefixState})
      ins.push_back(tensor->buffer());
    ins.push_back(whole.hasInitial ? initial.buffer() : absent);
    ins.push_back(places());
    return run(implementation.find("ssd_scan", Element<T>::dtype), ins,
               {y.buffer(), finalState.buffer()}, {s.chunk});
  }

private:
  std::vector<std::vector<int64_t>> sizes;
};

/// What the runtime's exclusive scan gives the second of two parts, and the
/// identity for the first.
template <typename T> void combine(Part<T> &one, Part<T> &two) {
  for (int64_t i = 0; i < one.decay.count(); ++i) {
    one.prefixDecay[i] = 1;
    two.prefixDecay[i] = one.decay[i];
  }
  for (int64_t i = 0; i < one.state.count(); ++i) {
    one.prefixState[i] = 0;
    two.prefixState[i] = one.state[i];
  }
}

/// Puts the parts' results where `expectMatches` looks for them.
template <typename T> void collect(SsdProblem<T> &whole, Part<T> &part) {
  for (int64_t b = 0; b < part.s.b; ++b)
    for (int64_t t = 0; t < part.s.l; ++t)
      for (int64_t h = 0; h < part.s.h; ++h)
        for (int64_t i = 0; i < part.s.p; ++i)
          whole.y(b, part.first + t, h, i) = part.y(b, t, h, i);
  for (int64_t i = 0; i < part.finalState.count(); ++i)
    whole.finalState[i] = T(part.finalState[i]);
}

/// The whole of `whole` in two parts, cut before token `cut`; results as `run`
/// leaves them.
template <typename T>
void runInParts(SsdProblem<T> &whole, int64_t cut,
                const Implementation &implementation, Random &random) {
  Part<T> one(whole, 0, cut, random), two(whole, cut, whole.s.l, random);
  ASSERT_EQ(one.runStates(implementation), "");
  ASSERT_EQ(two.runStates(implementation), "");
  combine(one, two);
  ASSERT_EQ(one.runScan(implementation), "");
  ASSERT_EQ(two.runScan(implementation), "");
  collect(whole, one);
  collect(whole, two);
}

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_KERNELS_SSDPARTS_H
