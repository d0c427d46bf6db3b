//===- SsdTilesTest.cpp - The scan on matrix units ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sizes of models, whose tiles are copied 16 bytes at a time, and each term
// of the chunked form by itself: a state that comes in is so much larger than
// what a tile adds that it hides a wrong index within the tile.
//
//===----------------------------------------------------------------------===//

#include "SsdForms.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

using Problem = SsdProblem<BFloat16>;

void fillWith(Tensor<BFloat16> &tensor, float value) {
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor[i] = BFloat16(value);
}

/// In every form that there is.
void check(Problem &problem) {
  problem.prepare();
  const Implementation &cuda = implementations().back();
  ASSERT_STREQ(cuda.name, "cuda");
  problem.allowFor(cuda);
  for (const Form &form : forms) {
    if (!form.isThere())
      continue;
    SCOPED_TRACE(form.name);
    WithForm with(form.blocksOfCluster, form.byWarpgroups);
    Problem mine = problem;
    int64_t before = numRepairs();
    ASSERT_EQ(mine.run(cuda.find("ssd", DType::BF16)), "");
    EXPECT_EQ(numRepairs(), before);
    expectStarted(with, form, problem.s);
    expectMatches(mine);
    if (testing::Test::HasFailure())
      return;
  }
}

/// Heads and groups that fill blocks and that do not, channels that are slices
/// of 64 and a rest, columns of both widths and between, and clusters of one
/// to eight blocks.
const SsdShape modelShapes[] = {
    {1, 200, 2, 64, 1, 128, 64}, {1, 130, 6, 64, 2, 128, 64},
    {2, 77, 1, 64, 1, 128, 64},  {1, 129, 2, 128, 1, 64, 64},
    {1, 64, 5, 72, 1, 96, 64},   {1, 300, 4, 64, 4, 16, 64},
    {1, 150, 8, 64, 1, 128, 64}, {1, 200, 6, 64, 2, 256, 64},
    {1, 140, 1, 64, 1, 256, 64}, {1, 70, 3, 128, 1, 200, 64},
};

TEST(SsdTilesTest, ModelShapes) {
  for (const SsdShape &shape : modelShapes)
    for (uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(testing::Message() << "heads " << shape.h << ", channels "
                                      << shape.p << ", seed " << seed);
      Problem problem = denseProblem(shape, seed);
      if (seed == 2) {
        Random random(seed);
        problem.documents = Batch(shape.b, shape.l, random);
      }
      check(problem);
      if (testing::Test::HasFatalFailure())
        return;
    }
}

/// What a tile adds: no state comes in, and D is nothing.
TEST(SsdTilesTest, WithinTiles) {
  for (int64_t n : {128, 256}) {
    Problem problem = denseProblem({1, 200, 3, 64, 1, n, 64}, 1);
    problem.hasInitial = problem.hasD = false;
    check(problem);
  }
}

/// A state that fades, and tokens that add nothing to it.
TEST(SsdTilesTest, StateAlone) {
  for (int64_t n : {128, 256}) {
    Problem problem = denseProblem({1, 200, 3, 64, 1, n, 64}, 2);
    problem.hasInitial = true;
    problem.hasD = false;
    fillWith(problem.x, 0);
    check(problem);
  }
}

/// D x alone: nothing is read of any state.
TEST(SsdTilesTest, SkipAlone) {
  Problem problem = denseProblem({1, 200, 3, 64, 1, 128, 64}, 3);
  problem.hasInitial = false;
  problem.hasD = true;
  fillWith(problem.C, 0);
  check(problem);
}

/// One token after the other puts in one number, which every later one of its
/// tile must find at its place.
void checkOneTokenAtATime(int64_t states) {
  SCOPED_TRACE(testing::Message() << states << " states");
  for (int64_t token : {0, 1, 15, 16, 31, 32, 47, 63, 64, 100, 127, 128}) {
    SCOPED_TRACE(testing::Message() << "token " << token);
    Problem problem = denseProblem({1, 130, 2, 64, 1, states, 64}, 4);
    problem.hasInitial = problem.hasD = false;
    for (int64_t t = 0; t < problem.s.l; ++t)
      for (int64_t h = 0; h < problem.s.h; ++h)
        for (int64_t i = 0; i < problem.s.p; ++i)
          if (t != token)
            problem.x(0, t, h, i) = BFloat16(0.f);
    check(problem);
  }
}

TEST(SsdTilesTest, OneTokenAtATime) {
  for (int64_t states : {128, 256})
    checkOneTokenAtATime(states);
}

/// Each number of a state is of one of B's, and of one of C's.
TEST(SsdTilesTest, OneStateAtATime) {
  for (int64_t state : {0, 7, 8, 63, 64, 127, 128, 200, 255}) {
    SCOPED_TRACE(testing::Message() << "state " << state);
    Problem problem = denseProblem({1, 100, 2, 64, 1, 256, 64}, 5);
    problem.hasD = false;
    for (Tensor<BFloat16> *tensor : {&problem.B, &problem.C})
      for (int64_t i = 0; i < tensor->count(); ++i)
        if (i % 256 != state)
          (*tensor)[i] = BFloat16(0.f);
    check(problem);
  }
}

/// On sm_80 with one head a block, on sm_86 without matrix units; there up to
/// 128 states have fewer heads a block.
TEST(SsdTilesTest, CardsWithLessSharedMemory) {
  for (size_t kilobytes : {163, 99})
    for (int64_t states : {128, 256}) {
      SCOPED_TRACE(testing::Message() << kilobytes << " KiB, " << states);
      WithSharedMemory memory(kilobytes << 10);
      Problem problem = denseProblem({1, 100, 24, 64, 1, states, 64}, 5);
      if (memory.isLimited())
        check(problem);
    }
}

/// A scan in two parts, as ranks cut it, in chunks that are not tiles, and in
/// more chunks than segments.
TEST(SsdTilesTest, PartsOfModelShapes) {
  Random random(5);
  const Implementation &cuda = implementations().back();
  for (const SsdShape &shape : {SsdShape{1, 300, 3, 64, 1, 128, 48},
                                SsdShape{1, 300, 3, 64, 1, 128, 128},
                                SsdShape{1, 300, 2, 64, 1, 256, 128},
                                SsdShape{1, 900, 1, 64, 1, 64, 64}}) {
    SCOPED_TRACE(testing::Message() << "chunks of " << shape.chunk);
    Problem problem = denseProblem(shape, 6);
    problem.hasInitial = true;
    problem.prepare();
    problem.allowFor(cuda);
    for (const Form &form : forms) {
      if (!form.isThere())
        continue;
      SCOPED_TRACE(form.name);
      WithForm with(form.blocksOfCluster, form.byWarpgroups);
      runInParts(problem, 100, cuda, random);
      expectMatches(problem);
    }
  }
}

/// Heads without channels or without states have steps and decays.
TEST(SsdTilesTest, DecaysOfStatesWithoutElements) {
  for (const SsdShape &shape :
       {SsdShape{1, 10, 2, 4, 1, 0, 4}, SsdShape{1, 10, 2, 0, 1, 4, 4},
        SsdShape{1, 0, 2, 4, 1, 0, 4}}) {
    SCOPED_TRACE(testing::Message() << shape.p << " channels, " << shape.n
                                    << " states, " << shape.l << " tokens");
    Random random(1);
    Problem problem(shape, Fading::Mixed, random);
    Part<BFloat16> got(problem, 0, shape.l, random);
    ASSERT_EQ(got.runStates(implementations().back()), "");
    Part<BFloat16> plain(problem, 0, shape.l, random);
    ASSERT_EQ(plain.runStates(implementations().front()), "");
    for (int64_t h = 0; h < shape.h; ++h) {
      EXPECT_NEAR(got.decay(0, h), plain.decay(0, h), 1e-5);
      for (int64_t t = 0; t < shape.l; ++t)
        EXPECT_NEAR(got.delta(0, t, h), plain.delta(0, t, h), 1e-5);
    }
  }
}

/// What stands in rows without a token is not read.
TEST(SsdTilesTest, StepsOfRowsWithoutTokens) {
  Random random(2);
  Problem problem = denseProblem({1, 900, 1, 8, 1, 8, 64}, 2);
  problem.documents = Batch(1, 900, random);
  for (int64_t t = 0; t < 900; ++t)
    problem.documents.places(0, t) = t < 500 ? t + 1 : -1;
  Part<BFloat16> part(problem, 0, 900, random);
  const Implementation &cuda = implementations().back();
  ASSERT_EQ(part.runStates(cuda), "");
  for (int64_t t = 500; t < 900; ++t)
    part.delta(0, t, 0) = NAN;
  for (int64_t i = 0; i < part.prefixState.count(); ++i)
    part.prefixState[i] = 0;
  part.prefixDecay(0, 0) = 1;
  ASSERT_EQ(part.runScan(cuda), "");
  for (int64_t i = 0; i < part.finalState.count(); ++i)
    ASSERT_TRUE(std::isfinite(part.finalState[i])) << i;
}

TEST(SsdTilesTest, RefusesStepsBelowZero) {
  Problem problem = denseProblem({1, 8, 1, 8, 1, 8, 64}, 3);
  problem.dtMin = -2;
  problem.dtMax = -0.5;
  EXPECT_EQ(problem.run(implementations().back().find("ssd", DType::BF16)),
            "ssd: dt_max = -0.5 is below 0, which cards take in f32 and f64 "
            "only");
}

/// More blocks than cards take.
TEST(SsdTilesTest, RefusesTooManyChunks) {
  Problem problem = denseProblem({1, 70000, 1, 1, 1, 1, 1}, 4);
  Random random(4);
  Part<BFloat16> part(problem, 0, 70000, random);
  EXPECT_EQ(part.runStates(implementations().back()),
            "ssd_states: a grid of 1 x 70000 x 1 blocks is more than a card "
            "takes; use larger chunks, or split the batch");
}

} // namespace
