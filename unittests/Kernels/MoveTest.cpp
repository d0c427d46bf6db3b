//===- MoveTest.cpp - copy, repeat and embedding --------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <gtest/gtest.h>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {
template <typename T> class MoveTest : public testing::Test {};
using Words = testing::Types<float, double, int16_t, int32_t, int64_t>;
TYPED_TEST_SUITE(MoveTest, Words);

template <typename T> std::vector<KernelFn> find(const char *op) {
  Random random(0);
  return kernelsOf(op, Tensor<T>({1}, Lay::Dense, random).buffer().dtype);
}

std::vector<int64_t> pickSizes(Random &random, int64_t rank) {
  std::vector<int64_t> sizes(static_cast<size_t>(rank));
  for (int64_t &size : sizes)
    size = pick(random, 0, 9) ? pick(random, 1, 5) : 0;
  return sizes;
}

TYPED_TEST(MoveTest, CopyKeepsEveryElement) {
  using T = TypeParam;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    auto sizes = pickSizes(random, pick(random, 0, 6));
    Tensor<T> from(sizes, pickLay(random), random);
    from.fill(random, -1000, 1000);
    Lay lay = pickLay(random);
    for (KernelFn kernel : find<T>("copy")) {
      Tensor<T> to(sizes, lay, random);
      ASSERT_EQ(run(kernel, {from.buffer()}, {to.buffer()}, {}), "");
      EXPECT_TRUE(to.isIntact());
      for (int64_t i = 0; i < from.count(); ++i)
        ASSERT_EQ(to[i], from[i]);
    }
  }
}

TYPED_TEST(MoveTest, RepeatRepeatsRuns) {
  using T = TypeParam;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    int64_t before = pick(random, 1, 3), runs = pick(random, 0, 3),
            unit = pick(random, 1, 4), times = pick(random, 1, 3),
            after = pick(random, 1, 3);
    Tensor<T> from({before, runs * unit, after}, pickLay(random), random);
    from.fill(random, -1000, 1000);
    Lay lay = pickLay(random);
    for (KernelFn kernel : find<T>("repeat")) {
      Tensor<T> to({before, runs * unit * times, after}, lay, random);
      ASSERT_EQ(run(kernel, {from.buffer()}, {to.buffer()}, {1, times, unit}),
                "");
      EXPECT_TRUE(to.isIntact());
      for (int64_t i = 0; i < before; ++i)
        for (int64_t j = 0; j < runs * unit * times; ++j)
          for (int64_t k = 0; k < after; ++k)
            ASSERT_EQ(to(i, j, k),
                      from(i, j / (unit * times) * unit + j % unit, k));
    }
  }
}

template <typename Id> void checkEmbedding() {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    int64_t b = pick(random, 0, 3), l = pick(random, 1, 7),
            d = pick(random, 1, 9);
    Tensor<Id> ids({b, l}, pickLay(random), random);
    Tensor<float> table({11, d}, pickLay(random), random);
    ids.fill(random, 0, 10.9);
    table.fill(random, -1, 1);
    Lay lay = pickLay(random);
    for (KernelFn kernel : find<float>("embedding")) {
      Tensor<float> y({b, l, d}, lay, random);
      ASSERT_EQ(run(kernel, {ids.buffer(), table.buffer()}, {y.buffer()}, {}),
                "");
      EXPECT_TRUE(y.isIntact());
      for (int64_t i = 0; i < b; ++i)
        for (int64_t t = 0; t < l; ++t)
          for (int64_t k = 0; k < d; ++k)
            ASSERT_EQ(y(i, t, k), table(ids(i, t), k));
    }
  }
}
TEST(EmbeddingTest, TakesRowsByNarrowIds) { checkEmbedding<int32_t>(); }
TEST(EmbeddingTest, TakesRowsByWideIds) { checkEmbedding<int64_t>(); }

TEST(EmbeddingTest, TakesOneId) {
  Random random(1);
  Tensor<int32_t> id({}, Lay::Dense, random);
  Tensor<double> table({3, 2}, Lay::Dense, random);
  id[0] = 2;
  table.fill(random, -1, 1);
  for (KernelFn kernel : find<double>("embedding")) {
    Tensor<double> y({2}, Lay::Dense, random);
    ASSERT_EQ(run(kernel, {id.buffer(), table.buffer()}, {y.buffer()}, {}), "");
    EXPECT_EQ(y(1), table(2, 1));
  }
}
} // namespace
