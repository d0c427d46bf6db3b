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

#include "Forms.h"
#include "SsdParts.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

using Problem = SsdProblem<BFloat16>;

Problem denseProblem(const SsdShape &shape, uint64_t seed) {
  Random random(seed);
  Problem problem(shape, Fading::Mixed, random);
  auto dense = [&](Tensor<BFloat16> &tensor) {
    Tensor<BFloat16> copy(tensor.sizes, Lay::Dense, random);
    for (int64_t i = 0; i < tensor.count(); ++i)
      copy[i] = tensor[i];
    tensor = copy;
  };
  for (Tensor<BFloat16> *tensor :
       {&problem.x, &problem.dt, &problem.B, &problem.C, &problem.y})
    dense(*tensor);
  return problem;
}

void fillWith(Tensor<BFloat16> &tensor, float value) {
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor[i] = BFloat16(value);
}

/// How blocks multiply, and of whom they take what heads share.
struct Form {
  const char *name;
  int blocksOfCluster;
  bool byWarpgroups;

  bool isThere() const {
    return (blocksOfCluster == 1 || hasClusters()) &&
           (!byWarpgroups || hasWarpgroups());
  }
};
const Form forms[] = {{"blocks", 1, false},
                      {"clusters", 8, false},
                      {"warpgroups", 1, true},
                      {"clusters of warpgroups", 8, true}};

/// Whether such a scan, of dense tensors, runs in the form: of other widths B
/// and C are not copied as they are.
void expectStarted(const WithForm &with, const Form &form, const SsdShape &s) {
  bool isWhole = s.n == 64 || s.n == 128;
  bool hasPairs = s.h / s.g * ((s.p + 63) / 64) % 2 == 0;
  EXPECT_EQ(with.hasStartedWarpgroups(), form.byWarpgroups && isWhole);
  EXPECT_EQ(with.hasStartedClusters(),
            form.blocksOfCluster > 1 && isWhole && hasPairs);
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
    {1, 150, 8, 64, 1, 128, 64},
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
  Problem problem = denseProblem({1, 200, 3, 64, 1, 128, 64}, 1);
  problem.hasInitial = problem.hasD = false;
  check(problem);
}

/// A state that fades, and tokens that add nothing to it.
TEST(SsdTilesTest, StateAlone) {
  Problem problem = denseProblem({1, 200, 3, 64, 1, 128, 64}, 2);
  problem.hasInitial = true;
  problem.hasD = false;
  fillWith(problem.x, 0);
  check(problem);
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
TEST(SsdTilesTest, OneTokenAtATime) {
  for (int64_t token : {0, 1, 15, 16, 31, 32, 47, 63, 64, 100, 127, 128}) {
    SCOPED_TRACE(testing::Message() << "token " << token);
    Problem problem = denseProblem({1, 130, 2, 64, 1, 128, 64}, 4);
    problem.hasInitial = problem.hasD = false;
    for (int64_t t = 0; t < problem.s.l; ++t)
      for (int64_t h = 0; h < problem.s.h; ++h)
        for (int64_t i = 0; i < problem.s.p; ++i)
          if (t != token)
            problem.x(0, t, h, i) = BFloat16(0.f);
    check(problem);
  }
}

/// The bits of y and of the final state.
std::vector<uint16_t> bitsOfScan(Problem problem, const Form &form) {
  WithForm with(form.blocksOfCluster, form.byWarpgroups);
  EXPECT_EQ(problem.run(implementations().back().find("ssd", DType::BF16)), "");
  std::vector<uint16_t> bits;
  for (Tensor<BFloat16> *tensor : {&problem.y, &problem.finalState})
    for (int64_t i = 0; i < tensor->count(); ++i)
      bits.push_back((*tensor)[i].bits);
  return bits;
}

/// Clusters only move what blocks would load.
void expectSameBits(const Problem &problem) {
  for (int i = 0; i < 4; i += 2)
    if (forms[i + 1].isThere())
      EXPECT_EQ(bitsOfScan(problem, forms[i]),
                bitsOfScan(problem, forms[i + 1]));
}

/// In clusters of eight, four and two blocks, several clusters in a group and
/// several groups, in one piece and in segments, with and without documents,
/// whose first tiles are not whole.
TEST(SsdTilesTest, ClustersGiveTheBitsOfBlocks) {
  const SsdShape shapes[] = {
      {1, 200, 8, 64, 1, 128, 64}, {1, 130, 24, 64, 1, 128, 64},
      {1, 200, 8, 64, 2, 128, 64}, {2, 600, 2, 64, 1, 64, 64},
      {1, 192, 4, 128, 1, 64, 64}, {1, 77, 6, 72, 1, 128, 64},
  };
  for (const SsdShape &shape : shapes)
    for (bool hasDocuments : {false, true}) {
      SCOPED_TRACE(testing::Message()
                   << shape.h << " heads, " << shape.l << " tokens, "
                   << (hasDocuments ? "documents" : "one sequence"));
      Problem problem = denseProblem(shape, 7);
      Random random(3);
      if (hasDocuments)
        problem.documents = Batch(shape.b, shape.l, random);
      expectSameBits(problem);
    }
}

/// Many tiles a block, on a card as many blocks as run at once.
TEST(SsdTilesTest, LargeResultsHaveTheBitsOfBlocks) {
  Problem problem = denseProblem({8, 4096, 24, 64, 1, 128, 64}, 9);
  std::vector<uint16_t> alone = bitsOfScan(problem, {"blocks", 1, false});
  std::vector<uint16_t> groups = bitsOfScan(problem, {"groups", 1, true});
  if (!hasClusters())
    GTEST_SKIP() << "this card has no clusters";
  for (int blocks : {2, 4, 8})
    for (int times = 0; times < 2; ++times) {
      EXPECT_TRUE(bitsOfScan(problem, {"", blocks, false}) == alone) << blocks;
      EXPECT_TRUE(bitsOfScan(problem, {"", blocks, true}) == groups) << blocks;
    }
}

/// Of the last tile, which is not whole, nothing is stored behind its tokens.
TEST(SsdTilesTest, StoresNothingBehindTheLastToken) {
  for (const Form &form : forms) {
    if (!form.isThere())
      continue;
    SCOPED_TRACE(form.name);
    WithForm with(form.blocksOfCluster, form.byWarpgroups);
    Problem problem = denseProblem({1, 72, 2, 64, 1, 128, 64}, 10);
    Random random(5);
    problem.y = Tensor<BFloat16>({1, 80, 2, 64}, Lay::Dense, random);
    problem.y.sizes[1] = 72;
    ASSERT_EQ(problem.run(implementations().back().find("ssd", DType::BF16)),
              "");
    EXPECT_TRUE(problem.y.isIntact());
  }
}

/// The same numbers in rows that are so many elements apart.
void stretch(Tensor<BFloat16> &tensor, int64_t by, Random &random) {
  std::vector<int64_t> sizes = tensor.sizes;
  sizes.back() += by;
  Tensor<BFloat16> wider(sizes, Lay::Dense, random);
  wider.sizes = tensor.sizes;
  for (int64_t i = 0; i < tensor.count(); ++i)
    wider[i] = tensor[i];
  tensor = wider;
}

/// One B and one C for all sequences: no box has steps of 0.
TEST(SsdTilesTest, SequencesShareBAndC) {
  Problem problem = denseProblem({3, 130, 4, 64, 1, 128, 64}, 11);
  for (Tensor<BFloat16> *tensor : {&problem.B, &problem.C}) {
    for (int64_t i = 0, each = tensor->count() / 3; i < 2 * each; ++i)
      (*tensor)[each + i] = (*tensor)[i];
    tensor->strides[0] = 0;
  }
  expectSameBits(problem);
  problem.prepare();
  problem.allowFor(implementations().back());
  ASSERT_EQ(problem.run(implementations().back().find("ssd", DType::BF16)), "");
  expectMatches(problem);
}

/// B and C in rows that are not equally far apart, and, of 3 elements more,
/// that cannot be copied 16 bytes at a time.
TEST(SsdTilesTest, RowsLieAsTheyMay) {
  for (auto [b, c] :
       {std::pair(8, 24), std::pair(16, 0), std::pair(3, 0), std::pair(0, 3)}) {
    SCOPED_TRACE(testing::Message() << b << " and " << c << " between rows");
    Problem problem = denseProblem({1, 192, 8, 64, 1, 128, 64}, 7);
    Random random(4);
    stretch(problem.B, b, random);
    stretch(problem.C, c, random);
    expectSameBits(problem);
  }
}

/// A number that is none reaches what it would have reached, in every form:
/// later tokens of its head, or of all heads.
TEST(SsdTilesTest, NoNumberReachesTheSameInEveryForm) {
  for (bool isInB : {false, true}) {
    SCOPED_TRACE(isInB ? "in B" : "in x");
    Problem problem = denseProblem({1, 200, 8, 64, 1, 128, 64}, 8);
    (isInB ? problem.B(0, 70, 0, 3) : problem.x(0, 70, 2, 5)) = BFloat16(NAN);
    std::vector<uint16_t> plain = bitsOfScan(problem, forms[0]);
    auto value = [](uint16_t bits) {
      BFloat16 number;
      number.bits = bits;
      return float(number);
    };
    EXPECT_TRUE(std::any_of(plain.begin(), plain.end(), [&](uint16_t bits) {
      return std::isnan(value(bits));
    }));
    for (const Form &form : forms) {
      if (!form.isThere())
        continue;
      SCOPED_TRACE(form.name);
      std::vector<uint16_t> bits = bitsOfScan(problem, form);
      for (size_t i = 0; i < plain.size(); ++i) {
        ASSERT_EQ(std::isnan(value(bits[i])), std::isnan(value(plain[i]))) << i;
        if (!std::isnan(value(plain[i])))
          ASSERT_NEAR(value(bits[i]), value(plain[i]),
                      0.02 * (1 + std::fabs(value(plain[i]))))
              << i;
      }
    }
  }
}

/// A scan in two parts, as ranks cut it, in chunks that are not tiles, and in
/// more chunks than segments.
TEST(SsdTilesTest, PartsOfModelShapes) {
  Random random(5);
  const Implementation &cuda = implementations().back();
  for (const SsdShape &shape : {SsdShape{1, 300, 3, 64, 1, 128, 48},
                                SsdShape{1, 300, 3, 64, 1, 128, 128},
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
