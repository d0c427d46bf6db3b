//===- SsdSplitTest.cpp - A scan cut between ranks ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SsdParts.h"

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {
template <typename T> class SsdSplitTest : public testing::Test {};
using Floats = testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(SsdSplitTest, Floats);

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
    if (seed % 2)
      whole.documents = Batch(whole.s.b, whole.s.l, random);
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
           {&part.decay, &part.state, &part.chunkStates, &part.delta})
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
            ASSERT_TRUE(isClose(part.delta(b, t, h), {delta, delta}));
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
