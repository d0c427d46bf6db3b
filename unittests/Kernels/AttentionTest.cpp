//===- AttentionTest.cpp - Attention and the merging of parts -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionSupport.h"

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {
template <typename T> class AttentionTest : public testing::Test {};
using Floats = testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(AttentionTest, Floats);

TYPED_TEST(AttentionTest, MatchesDefinitionOnRandomShapes) {
  using Acc = AccumulatorOf<TypeParam>;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    AttentionProblem<TypeParam> problem(random);
    Tensor<Acc> sums(problem.o.sizes, pickLay(random), random);
    for (const Implementation &each : implementations()) {
      SCOPED_TRACE(each.name);
      KernelFn kernel = each.find("attention", Element<TypeParam>::dtype);
      bool roundsWeights =
          each.roundsFactors && std::is_same_v<TypeParam, BFloat16>;
      ASSERT_EQ(problem.run(kernel), "");
      problem.expectMatches(problem.o, roundsWeights);
      ASSERT_EQ(problem.run(kernel, sums.buffer()), "");
      problem.expectMatches(sums, roundsWeights);
      if (testing::Test::HasFailure())
        return;
    }
  }
}

/// A key and its value that are no numbers spoil exactly the queries that see
/// them; the others do not change by a bit.
TYPED_TEST(AttentionTest, WhatIsMaskedDoesNotMatter) {
  int64_t spoilt = 0, kept = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    AttentionProblem<TypeParam> problem(random);
    if (problem.keys.size() == 0)
      continue;
    AttentionProblem<TypeParam> bad = problem;
    int64_t key = pick(random, 0, problem.keys.size() - 1);
    auto nan = TypeParam(std::numeric_limits<float>::quiet_NaN());
    for (int64_t i = 0; i < bad.b; ++i)
      for (int64_t g = 0; g < bad.hkv; ++g) {
        bad.k(i, key, g, 0) = nan;
        for (int64_t c = 0; c < bad.dv; ++c)
          bad.v(i, key, g, c) = nan;
      }
    for (const Implementation &each : implementations()) {
      SCOPED_TRACE(each.name);
      KernelFn kernel = each.find("attention", Element<TypeParam>::dtype);
      ASSERT_EQ(problem.run(kernel) + bad.run(kernel), "");
      for (int64_t i = 0; i < bad.b; ++i)
        for (int64_t h = 0; h < bad.hq; ++h)
          for (int64_t query = 0; query < bad.queries.size(); ++query) {
            bool isSeen = bad.isSeen(i, query, key);
            ++(isSeen ? spoilt : kept);
            for (int64_t c = 0; c < bad.dv; ++c) {
              auto got = double(bad.o(i, query, h, c));
              if (isSeen)
                ASSERT_TRUE(std::isnan(got));
              else
                ASSERT_EQ(got, double(problem.o(i, query, h, c)));
            }
            if (!isSeen)
              ASSERT_EQ(bad.lse(i, h, query), problem.lse(i, h, query));
          }
    }
  }
  EXPECT_GT(spoilt, 1000);
  EXPECT_GT(kept, 1000);
}

template <typename T> class MergeTest : public testing::Test {};
using Sums = testing::Types<float, double>;
TYPED_TEST_SUITE(MergeTest, Sums);

/// The keys of a problem in two parts, as their own problems.
template <typename T>
AttentionProblem<T> partOf(AttentionProblem<T> &whole, int64_t begin,
                           int64_t end) {
  AttentionProblem<T> part = whole;
  Random random(1);
  part.keys = AttentionPart();
  for (int64_t key = begin; key < end; ++key)
    part.keys.append(whole.keys.positions[size_t(key)], 1, 1);
  part.k =
      Tensor<T>({part.b, end - begin, part.hkv, part.d}, Lay::Dense, random);
  part.v =
      Tensor<T>({part.b, end - begin, part.hkv, part.dv}, Lay::Dense, random);
  for (int64_t i = 0; i < part.b; ++i)
    for (int64_t key = begin; key < end; ++key)
      for (int64_t g = 0; g < part.hkv; ++g) {
        for (int64_t c = 0; c < part.d; ++c)
          part.k(i, key - begin, g, c) = whole.k(i, key, g, c);
        for (int64_t c = 0; c < part.dv; ++c)
          part.v(i, key - begin, g, c) = whole.v(i, key, g, c);
      }
  return part;
}

/// Forty of each kernel.
std::vector<std::pair<uint64_t, KernelFn>> seedsAndKernels(const char *op,
                                                           DType dtype) {
  std::vector<std::pair<uint64_t, KernelFn>> all;
  for (KernelFn kernel : kernelsOf(op, dtype))
    for (uint64_t seed = 0; seed < 40; ++seed)
      all.emplace_back(seed, kernel);
  return all;
}

TYPED_TEST(MergeTest, TwoPartsAreTheWhole) {
  KernelFn attention =
      findCpuKernel("attention", Element<TypeParam>::dtype, KernelSet::Fast);
  for (auto [seed, merge] :
       seedsAndKernels("attention_merge", Element<TypeParam>::dtype)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    AttentionProblem<TypeParam> whole(random);
    int64_t cut = pick(random, 0, whole.keys.size());
    AttentionProblem<TypeParam> left = partOf(whole, 0, cut);
    AttentionProblem<TypeParam> right = partOf(whole, cut, whole.keys.size());
    ASSERT_EQ(left.run(attention) + right.run(attention), "");
    std::vector<Buffer> parts = {left.o.buffer(), left.lse.buffer(),
                                 right.o.buffer(), right.lse.buffer()};
    ASSERT_EQ(run(merge, parts, {whole.o.buffer(), whole.lse.buffer()}, {}),
              "");
    whole.expectMatches(whole.o);
    // In place it is the same.
    ASSERT_EQ(run(merge, parts, {parts[0], parts[1]}, {}), "");
    for (int64_t i = 0; i < whole.o.count(); ++i)
      ASSERT_EQ(left.o[i], whole.o[i]);
    for (int64_t i = 0; i < whole.lse.count(); ++i)
      ASSERT_EQ(left.lse[i], whole.lse[i]);
  }
}

TYPED_TEST(MergeTest, PartsWithoutKeysChangeNothing) {
  constexpr auto none = -std::numeric_limits<TypeParam>::infinity();
  Random random(1);
  Tensor<TypeParam> o1({1, 3, 1, 5}, Lay::Gaps, random), o2 = o1, o = o1;
  Tensor<TypeParam> lse1({1, 1, 3}, Lay::Gaps, random), lse2 = lse1, lse = lse1;
  o1.fill(random, -1, 1);
  o2.fill(random, -1, 1);
  lse1[0] = TypeParam(0.3), lse2[0] = none;
  lse1[1] = none, lse2[1] = TypeParam(-0.7);
  lse1[2] = none, lse2[2] = none;
  for (int64_t c = 0; c < 5; ++c)
    o1[10 + c] = o2[10 + c] = 0;
  for (KernelFn merge :
       kernelsOf("attention_merge", Element<TypeParam>::dtype)) {
    ASSERT_EQ(run(merge,
                  {o1.buffer(), lse1.buffer(), o2.buffer(), lse2.buffer()},
                  {o.buffer(), lse.buffer()}, {}),
              "");
    EXPECT_EQ(lse[0], lse1[0]);
    EXPECT_EQ(lse[1], lse2[1]);
    EXPECT_EQ(lse[2], none);
    for (int64_t c = 0; c < 5; ++c) {
      EXPECT_EQ(o[c], o1[c]);
      EXPECT_EQ(o[5 + c], o2[5 + c]);
      EXPECT_EQ(o[10 + c], TypeParam(0));
    }
  }
}

TEST(MergeRounding, RoundsTheSumOnce) {
  Random random(1);
  Tensor<float> o1({1, 1, 1, 64}, Lay::Dense, random), o2 = o1, wide = o1;
  Tensor<float> lse1({1, 1, 1}, Lay::Dense, random), lse2 = lse1, lse = lse1;
  Tensor<BFloat16> narrow({1, 1, 1, 64}, Lay::Gaps, random);
  o1.fill(random, -1, 1);
  o2.fill(random, -1, 1);
  lse1[0] = 0.25f;
  lse2[0] = 0.5f;
  std::vector<Buffer> ins = {o1.buffer(), lse1.buffer(), o2.buffer(),
                             lse2.buffer()};
  for (KernelFn merge : kernelsOf("attention_merge", DType::F32)) {
    ASSERT_EQ(run(merge, ins, {wide.buffer(), lse.buffer()}, {}), "");
    ASSERT_EQ(run(merge, ins, {narrow.buffer(), lse.buffer()}, {}), "");
    for (int64_t c = 0; c < 64; ++c)
      EXPECT_EQ(narrow[c].bits, BFloat16(wide[c]).bits);
    EXPECT_TRUE(narrow.isIntact());
  }
}
} // namespace
