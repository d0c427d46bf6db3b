//===- SsdSplitTest.cpp - A scan cut between ranks ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SsdSupport.h"

#include <gtest/gtest.h>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {
template <typename T> class SsdSplitTest : public testing::Test {};
using Floats = testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(SsdSplitTest, Floats);

/// Tokens [first, first + s.l) of a whole scan, as one rank sees them.
template <typename T> struct Part {
  using Acc = AccumulatorOf<T>;

  SsdProblem<T> &whole;
  int64_t first;
  SsdShape s;
  Tensor<Acc> decay, state, chunkStates, logDecay, delta;
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
    logDecay = make({s.b, s.l, s.h});
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
  Buffer cut(Tensor<T> &tensor) {
    sizes.push_back(tensor.sizes);
    sizes.back()[1] = s.l;
    Buffer buffer = tensor.buffer();
    buffer.sizes = sizes.back().data();
    buffer.data = static_cast<T *>(buffer.data) + first * tensor.strides[1];
    return buffer;
  }

  std::string runStates(const Implementation &implementation) {
    sizes.clear();
    sizes.reserve(8);
    std::vector<Buffer> ins = {cut(whole.x), cut(whole.dt), whole.aLog.buffer(),
                               cut(whole.B)};
    if (whole.hasBias)
      ins.push_back(whole.bias.buffer());
    return run(
        implementation.find("ssd_states", Element<T>::dtype), ins,
        {decay.buffer(), state.buffer(), chunkStates.buffer(),
         logDecay.buffer(), delta.buffer()},
        {s.chunk, bitsOf(whole.dtMax), bitsOf(whole.dtMin), whole.hasBias});
  }

  std::string runScan(const Implementation &implementation) {
    sizes.clear();
    sizes.reserve(8);
    std::vector<Buffer> ins = {cut(whole.x), cut(whole.B), cut(whole.C)};
    if (whole.hasD)
      ins.push_back(whole.D.buffer());
    for (Tensor<Acc> *tensor :
         {&chunkStates, &logDecay, &delta, &prefixDecay, &prefixState})
      ins.push_back(tensor->buffer());
    if (whole.hasInitial)
      ins.push_back(initial.buffer());
    return run(implementation.find("ssd_scan", Element<T>::dtype), ins,
               {y.buffer(), finalState.buffer()},
               {s.chunk, whole.hasD, whole.hasInitial});
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

/// Whether the final state is as exact as sums are.
template <typename T>
bool endsExactly(SsdProblem<T> &whole, const Part<T> &last) {
  const SsdShape &s = whole.s;
  Tensor<AccumulatorOf<T>> state = last.finalState;
  for (int64_t b = 0; b < s.b; ++b)
    for (int64_t h = 0; h < s.h; ++h)
      for (int64_t i = 0; i < s.p; ++i)
        for (int64_t j = 0; j < s.n; ++j)
          if (!whole.isCloseState(state(b, h, i, j), b, h, i, j))
            return false;
  return true;
}

TYPED_TEST(SsdSplitTest, TwoPartsMakeTheWhole) {
  using T = TypeParam;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    SsdProblem<T> whole(pickShape(random), Fading(seed % 3), random);
    whole.prepare();
    int64_t cut = pick(random, 0, whole.s.l);
    for (const Implementation &implementation : implementations()) {
      SCOPED_TRACE(implementation.name);
      Part<T> one(whole, 0, cut, random), two(whole, cut, whole.s.l, random);
      ASSERT_EQ(one.runStates(implementation), "");
      ASSERT_EQ(two.runStates(implementation), "");
      combine(one, two);
      ASSERT_EQ(one.runScan(implementation), "");
      ASSERT_EQ(two.runScan(implementation), "");
      EXPECT_TRUE(two.y.isIntact() && two.finalState.isIntact());
      collect(whole, one);
      collect(whole, two);
      whole.allowFor(implementation);
      expectMatches(whole);
      ASSERT_TRUE(endsExactly(whole, two));
      if (this->HasFatalFailure())
        return;
    }
  }
}

/// Every output of ssd_states by its definition.
TYPED_TEST(SsdSplitTest, StatesMatchTheirDefinition) {
  using T = TypeParam;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    SsdProblem<T> whole(pickShape(random), Fading(seed % 3), random);
    whole.hasInitial = false;
    whole.prepare();
    const SsdShape &s = whole.s;
    for (const Implementation &implementation : implementations()) {
      SCOPED_TRACE(implementation.name);
      whole.allowFor(implementation);
      Part<T> part(whole, 0, s.l, random);
      ASSERT_EQ(part.runStates(implementation), "");
      for (Tensor<AccumulatorOf<T>> *tensor :
           {&part.decay, &part.state, &part.chunkStates, &part.logDecay,
            &part.delta})
        EXPECT_TRUE(tensor->isIntact());
      for (int64_t b = 0; b < s.b; ++b) {
        for (int64_t h = 0; h < s.h; ++h) {
          // Rounding of the exponent grows with it, up to where exp ends.
          double total = whole.logDecay(b, 0, s.l, h);
          ASSERT_TRUE(
              isClose(part.decay(b, h),
                      {std::exp(total), std::exp(total) * (1 - total)}));
          for (int64_t t = 0; t < s.l; ++t) {
            double delta = whole.delta(b, t, h);
            double log = whole.logDecay(b, t / s.chunk * s.chunk, t + 1, h);
            ASSERT_TRUE(isClose(part.delta(b, t, h), {delta, delta}));
            ASSERT_TRUE(isClose(part.logDecay(b, t, h), {log, -log}));
          }
          for (int64_t i = 0; i < s.p; ++i)
            for (int64_t j = 0; j < s.n; ++j)
              ASSERT_TRUE(
                  whole.isCloseState(part.state(b, h, i, j), b, h, i, j));
        }
      }
    }
  }
}

/// Each chunk's state is the state of a sequence that is this chunk alone.
TYPED_TEST(SsdSplitTest, ChunkStatesAreStatesOfTheirChunks) {
  using T = TypeParam;
  Random random(4);
  SsdProblem<T> whole({2, 150, 4, 5, 2, 7, 70}, Fading::Slow, random);
  for (const Implementation &implementation : implementations()) {
    SCOPED_TRACE(implementation.name);
    Part<T> all(whole, 0, 150, random);
    ASSERT_EQ(all.runStates(implementation), "");
    for (int64_t chunk = 0; chunk < 3; ++chunk) {
      Part<T> one(whole, chunk * 70, std::min<int64_t>(150, chunk * 70 + 70),
                  random);
      ASSERT_EQ(one.runStates(implementation), "");
      for (int64_t b = 0; b < 2; ++b)
        for (int64_t h = 0; h < 4; ++h)
          for (int64_t i = 0; i < 5; ++i)
            for (int64_t j = 0; j < 7; ++j)
              ASSERT_EQ(all.chunkStates(b, chunk, h, i, j),
                        one.state(b, h, i, j));
    }
  }
}
} // namespace
