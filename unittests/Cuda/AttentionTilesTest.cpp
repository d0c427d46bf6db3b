//===- AttentionTilesTest.cpp - Attention on matrix units -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sizes of models, whose tiles are copied 16 bytes at a time, in the orders
// that ranks have of a sequence.
//
//===----------------------------------------------------------------------===//

#include "AttentionSupport.h"

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

using Problem = AttentionProblem<BFloat16>;

KernelFn onCard() {
  const Implementation &cuda = implementations().back();
  EXPECT_STREQ(cuda.name, "cuda");
  return cuda.find("attention", DType::BF16);
}

AttentionPart partOf(std::vector<std::pair<int64_t, int64_t>> runs) {
  AttentionPart part;
  for (auto [first, length] : runs)
    part.append(first, length, 1);
  return part;
}
AttentionPart whole(int64_t length) {
  return length ? partOf({{0, length}}) : AttentionPart();
}

/// A rank's tokens of a zigzag order, and all keys.
AttentionShape zigzag(int64_t hkv, int64_t hq, int64_t channels) {
  return {1,          hkv,      hq,
          channels,   channels, partOf({{150, 150}, {750, 150}}),
          whole(900), {},       0.1};
}

void check(Problem &problem) {
  using Acc = Problem::Acc;
  Random random(1);
  Tensor<Acc> sums(problem.o.sizes, Lay::Gaps, random);
  ASSERT_EQ(problem.run(onCard()), "");
  problem.expectMatches(problem.o, true);
  ASSERT_EQ(problem.run(onCard(), sums.buffer()), "");
  problem.expectMatches(sums, true);
}

/// Whole tiles and rests, one head of keys and several, of both widths and
/// between, and channels of values that are not those of keys.
TEST(AttentionTilesTest, ModelShapes) {
  const AttentionShape shapes[] = {
      {1, 1, 2, 128, 128, whole(300), whole(300), {}, 0.1},
      {2, 2, 2, 64, 64, whole(128), whole(256), {}, 0.125},
      {1, 1, 1, 80, 80, whole(130), whole(130), {true, 70}, 0.11},
      {1, 1, 1, 96, 40, whole(200), whole(333), {false, 0}, 0.1},
      zigzag(1, 1, 64),
  };
  for (const AttentionShape &shape : shapes)
    for (bool hasDocuments : {false, true}) {
      if (hasDocuments && !shape.mask.causal)
        continue;
      SCOPED_TRACE(testing::Message()
                   << shape.queries.size() << " queries, " << shape.d
                   << " channels, " << hasDocuments);
      Random random(3);
      Problem problem(shape, random);
      if (hasDocuments)
        problem.drawDocuments(random);
      check(problem);
      if (testing::Test::HasFailure())
        return;
    }
}

/// Of one key alone something is added up, which every query that sees it must
/// find with its own weight.
TEST(AttentionTilesTest, OneValueAtATime) {
  Random random(4);
  const Problem drawn({1, 1, 1, 128, 128, whole(70), whole(140), {}, 0.1},
                      random);
  for (int64_t key : {0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 65, 69}) {
    SCOPED_TRACE(testing::Message() << "key " << key);
    Problem problem = drawn;
    for (int64_t other = 0; other < problem.keys.size(); ++other)
      for (int64_t c = 0; c < problem.dv && other != key; ++c)
        problem.v(0, other, 0, c) = BFloat16(0.f);
    check(problem);
    if (testing::Test::HasFailure())
      return;
  }
}

/// Distance from the definition over the definition's norm.
double errorOf(Problem &problem) {
  double error = 0, norm = 0;
  for (int64_t h = 0; h < problem.hq; ++h)
    for (int64_t query = 0; query < problem.queries.size(); ++query) {
      Problem::Row row = problem.row(0, h, query);
      for (int64_t c = 0; c < problem.dv; ++c) {
        double expected = problem.expectedO(row, 0, h, c, false).value;
        error += std::pow(double(problem.o(0, query, h, c)) - expected, 2);
        norm += expected * expected;
      }
    }
  return std::sqrt(error / norm);
}

/// Weights are rounded to bf16, as o is.
TEST(AttentionTilesTest, IsAtMostTwiceAsFarAsOnProcessors) {
  for (double scale : {0.02, 0.2, 1.0}) {
    SCOPED_TRACE(testing::Message() << "scale " << scale);
    Random random(5);
    Problem problem({1, 1, 1, 64, 64, whole(300), whole(300), {}, scale},
                    random);
    ASSERT_EQ(problem.run(onCard()), "");
    double error = errorOf(problem);
    ASSERT_EQ(
        problem.run(findCpuKernel("attention", DType::BF16, KernelSet::Fast)),
        "");
    EXPECT_LE(error, 2 * errorOf(problem));
    EXPECT_GT(error, 0);
  }
}

/// One value that is not finite: it reaches its channel of the queries that see
/// it; other queries have the same bits, and other channels what they should.
TEST(AttentionTilesTest, OneValueThatIsNotFinite) {
  for (float value : {NAN, INFINITY}) {
    Random random(6);
    Problem problem(zigzag(1, 1, 64), random);
    problem.drawDocuments(random);
    Problem bad = problem;
    constexpr int64_t key = 160, channel = 9;
    bad.v(0, key, 0, channel) = BFloat16(value);
    ASSERT_EQ(problem.run(onCard()) + bad.run(onCard()), "");
    int64_t seen = 0;
    for (int64_t query = 0; query < bad.queries.size(); ++query) {
      bool sees = bad.isSeen(0, query, key);
      seen += sees;
      if (!sees)
        ASSERT_EQ(bad.lse(0, 0, query), problem.lse(0, 0, query));
      for (int64_t c = 0; c < bad.dv; ++c) {
        auto got = double(bad.o(0, query, 0, c));
        auto other = double(problem.o(0, query, 0, c));
        if (sees && c == channel)
          ASSERT_FALSE(std::isfinite(got)) << query;
        else if (sees)
          ASSERT_NEAR(got, other, 0.02) << query << ' ' << c;
        else
          ASSERT_EQ(got, other) << query << ' ' << c;
      }
    }
    EXPECT_GT(seen, 0);
  }
}

/// Further on than tiles count, and as far as they do.
TEST(AttentionTilesTest, PositionsFarAway) {
  for (int64_t first : {int64_t(0x7fffffff) - 202, int64_t(3) << 31}) {
    SCOPED_TRACE(testing::Message() << "from " << first);
    Random random(7);
    AttentionPart part = partOf({{first, 200}});
    Problem problem({1, 1, 1, 16, 16, part, part, {true, 90}, 0.3}, random);
    check(problem);
  }
}

/// Without keys there is nothing, and without queries nothing to do.
TEST(AttentionTilesTest, NoKeysOrQueries) {
  Random random(8);
  Problem none({1, 1, 1, 64, 64, whole(70), whole(0), {}, 0.1}, random);
  check(none);
  Problem nobody({1, 1, 1, 64, 64, whole(0), whole(70), {}, 0.1}, random);
  check(nobody);
}

} // namespace
