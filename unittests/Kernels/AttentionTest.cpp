//===- AttentionTest.cpp - Attention and the merging of parts -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Documents.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {
template <typename T> class AttentionTest : public testing::Test {};
using Floats = testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(AttentionTest, Floats);

/// The positions of a part's rows, one by one and as runs.
struct Part {
  std::vector<int64_t> positions, runs;

  /// At most `most` rows, in runs that follow each other in any order, of rows
  /// one or more apart; or in stripes of few rows, which ascend.
  Part(int64_t most, Random &random) {
    if (pick(random, 0, 2) == 0)
      stripes(most, random);
    while (size() < most && pick(random, 0, 3)) {
      int64_t first = pick(random, 0, 200);
      append(first, pick(random, 1, std::min<int64_t>(most - size(), 150)),
             pick(random, 0, 1) ? 1 : pick(random, 1, 5));
    }
  }
  Part() = default;
  void stripes(int64_t most, Random &random) {
    int64_t unit = pick(random, 1, 9), apart = unit * pick(random, 1, 4);
    for (int64_t first = pick(random, 0, apart); size() < most; first += apart)
      append(first, std::min<int64_t>(most - size(), unit), 1);
  }
  void append(int64_t first, int64_t length, int64_t step) {
    runs.insert(runs.end(), {first, length, step});
    for (int64_t i = 0; i < length; ++i)
      positions.push_back(first + i * step);
  }
  int64_t size() const { return int64_t(positions.size()); }
};

struct Mask {
  bool causal;
  int64_t window;

  explicit Mask(Random &random)
      : causal(pick(random, 0, 3) != 0),
        window(causal && pick(random, 0, 1) ? pick(random, 1, 100) : 0) {}
  bool isSeen(int64_t query, int64_t key) const {
    return !causal || (key <= query && (!window || query - key < window));
  }
};

void append(std::vector<int64_t> &words, const std::vector<int64_t> &array) {
  words.push_back(int64_t(array.size()));
  words.insert(words.end(), array.begin(), array.end());
}

template <typename T> struct Problem {
  using Acc = AccumulatorOf<T>;
  int64_t b, hkv, hq, d, dv;
  Part queries, keys;
  Mask mask;
  double scale;
  Tensor<T> q, k, v, o;
  Tensor<Acc> lse;
  /// Of the whole sequence; without any it is one.
  std::vector<Documents> documents;
  Tensor<int64_t> places;

  explicit Problem(Random &random)
      : b(pick(random, 1, 2)), hkv(pick(random, 1, 3)),
        hq(hkv * pick(random, 1, 3)), d(pick(random, 1, 40)),
        dv(pick(random, 1, 40)), queries(pick(random, 1, 160), random),
        keys(pick(random, 1, 160), random), mask(random),
        // Now and then so large that exp alone would overflow.
        scale(pick(random, 0, 4) ? 0.3 : 200),
        q({b, queries.size(), hq, d}, pickLay(random), random),
        k({b, keys.size(), hkv, d}, pickLay(random), random),
        v({b, keys.size(), hkv, dv}, pickLay(random), random),
        o({b, queries.size(), hq, dv}, pickLay(random), random),
        lse({b, hq, queries.size()}, pickLay(random), random) {
    for (Tensor<T> *tensor : {&q, &k, &v})
      tensor->fill(random, -1, 1);
    if (mask.causal && pick(random, 0, 1))
      drawDocuments(random);
  }

  void drawDocuments(Random &random) {
    places = Tensor<int64_t>({b, queries.size()}, pickLay(random), random);
    for (int64_t i = 0; i < b; ++i) {
      documents.emplace_back(1000, random);
      for (int64_t row = 0; row < queries.size(); ++row)
        places(i, row) =
            documents.back().placeOf(queries.positions[size_t(row)]);
    }
  }

  /// Whether a row of queries sees a row of keys.
  bool isSeen(int64_t i, int64_t row, int64_t keyRow) const {
    int64_t query = queries.positions[size_t(row)];
    int64_t key = keys.positions[size_t(keyRow)];
    if (!mask.isSeen(query, key))
      return false;
    if (documents.empty())
      return true;
    const Documents &own = documents[size_t(i)];
    return own.of(query) >= 0 && own.of(query) == own.of(key);
  }

  std::string run(KernelFn kernel, Buffer to) {
    std::vector<int64_t> attrs = {mask.causal, bitsOf(scale), mask.window};
    append(attrs, queries.runs);
    append(attrs, keys.runs);
    return test::run(kernel,
                     {q.buffer(), k.buffer(), v.buffer(),
                      documents.empty() ? absent : places.buffer()},
                     {to, lse.buffer()}, attrs);
  }
  std::string run(KernelFn kernel) { return run(kernel, o.buffer()); }

  /// A row of scores, and how much of each is rounding's: the sum of the
  /// magnitudes it was added up from.
  struct Row {
    std::vector<int64_t> keys;
    std::vector<double> weights;
    double top = -std::numeric_limits<double>::infinity();
    double sum = 0, magnitude = 1;
  };
  Row row(int64_t i, int64_t h, int64_t query) {
    Row row;
    std::vector<double> scores;
    for (int64_t key = 0; key < keys.size(); ++key) {
      if (!isSeen(i, query, key))
        continue;
      Expected score;
      for (int64_t c = 0; c < d; ++c)
        score.add(scale * double(q(i, query, h, c)) *
                  double(k(i, key, h * hkv / hq, c)));
      row.keys.push_back(key);
      scores.push_back(score.value);
      row.top = std::max(row.top, score.value);
      row.magnitude = std::max(row.magnitude, score.magnitude);
    }
    for (double score : scores)
      row.weights.push_back(std::exp(score - row.top));
    for (double weight : row.weights)
      row.sum += weight;
    return row;
  }
  Expected expectedO(const Row &row, int64_t i, int64_t h, int64_t c) {
    Expected result;
    for (size_t n = 0; n < row.keys.size(); ++n)
      result.add(row.weights[n] / row.sum *
                 double(v(i, row.keys[n], h * hkv / hq, c)));
    result.magnitude *= row.magnitude;
    return result;
  }

  /// Compares `to` (o, or its sums) and lse with the definition.
  template <typename To> void expectMatches(Tensor<To> &to) {
    for (int64_t i = 0; i < b; ++i)
      for (int64_t h = 0; h < hq; ++h)
        for (int64_t query = 0; query < queries.size(); ++query) {
          Row expected = row(i, h, query);
          for (int64_t c = 0; c < dv; ++c)
            ASSERT_TRUE(
                isClose(to(i, query, h, c), expectedO(expected, i, h, c)))
                << "o at " << i << ' ' << query << ' ' << h << ' ' << c << ": "
                << double(to(i, query, h, c)) << ", expected "
                << expectedO(expected, i, h, c).value;
          Acc got = lse(i, h, query);
          if (expected.keys.empty())
            ASSERT_EQ(got, -std::numeric_limits<Acc>::infinity());
          else
            ASSERT_TRUE(isClose(got, {expected.top + std::log(expected.sum),
                                      expected.magnitude}))
                << "lse at " << i << ' ' << h << ' ' << query;
        }
    EXPECT_TRUE(to.isIntact());
    EXPECT_TRUE(lse.isIntact());
  }
};

TYPED_TEST(AttentionTest, MatchesDefinitionOnRandomShapes) {
  using Acc = AccumulatorOf<TypeParam>;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem<TypeParam> problem(random);
    Tensor<Acc> sums(problem.o.sizes, pickLay(random), random);
    for (const Implementation &each : implementations()) {
      SCOPED_TRACE(each.name);
      KernelFn kernel = each.find("attention", Element<TypeParam>::dtype);
      ASSERT_EQ(problem.run(kernel), "");
      problem.expectMatches(problem.o);
      ASSERT_EQ(problem.run(kernel, sums.buffer()), "");
      problem.expectMatches(sums);
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
    Problem<TypeParam> problem(random);
    if (problem.keys.size() == 0)
      continue;
    Problem<TypeParam> bad = problem;
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
Problem<T> partOf(Problem<T> &whole, int64_t begin, int64_t end) {
  Problem<T> part = whole;
  Random random(1);
  part.keys = Part();
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
    Problem<TypeParam> whole(random);
    int64_t cut = pick(random, 0, whole.keys.size());
    Problem<TypeParam> left = partOf(whole, 0, cut);
    Problem<TypeParam> right = partOf(whole, cut, whole.keys.size());
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
