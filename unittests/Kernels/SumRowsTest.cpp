//===- SumRowsTest.cpp - Rows added up in their order ---------------------===//
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
template <typename T> class SumRowsTest : public testing::Test {};
using Floats = testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(SumRowsTest, Floats);

/// To the bit, as where ranks add up on the host: one term after the other.
TYPED_TEST(SumRowsTest, AddsInTheOrderOfTheRows) {
  using T = TypeParam;
  using Sum = AccumulatorOf<T>;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    int64_t r = pick(random, 1, 9), n = pick(random, 0, 2) * 512;
    n = pick(random, 0, 1) ? n : pick(random, 0, 40);
    Tensor<T> x({r, n}, pickLay(random), random);
    x.fill(random, -1, 1);
    Lay lay = pickLay(random);
    for (KernelFn kernel : kernelsOf("sum_rows", Element<T>::dtype)) {
      Tensor<T> y({n}, lay, random);
      ASSERT_EQ(run(kernel, {x.buffer()}, {y.buffer()}, {}), "");
      EXPECT_TRUE(y.isIntact());
      for (int64_t i = 0; i < n; ++i) {
        volatile Sum sum = Sum(x(0, i));
        for (int64_t row = 1; row < r; ++row)
          sum = sum + Sum(x(row, i));
        ASSERT_EQ(Sum(y[i]), Sum(T(Sum(sum))));
      }
    }
  }
}

/// What is not rounded between terms, and is not flushed.
TEST(SumRowsRounding, RoundsOnceAndKeepsWhatIsSmall) {
  Random random(1);
  Tensor<BFloat16> x({3, 1}, Lay::Dense, random), y({1}, Lay::Dense, random);
  // Each of the small ones alone is half of what 256 can tell apart.
  x[0] = BFloat16(256.0f);
  x[1] = x[2] = BFloat16(1.0f);
  for (KernelFn kernel : kernelsOf("sum_rows", DType::BF16)) {
    ASSERT_EQ(run(kernel, {x.buffer()}, {y.buffer()}, {}), "");
    EXPECT_EQ(float(y[0]), 258.0f);
  }
  Tensor<float> small({2, 1}, Lay::Dense, random), sum({1}, Lay::Dense, random);
  small[0] = small[1] = 1e-40f;
  for (KernelFn kernel : kernelsOf("sum_rows", DType::F32)) {
    ASSERT_EQ(run(kernel, {small.buffer()}, {sum.buffer()}, {}), "");
    EXPECT_EQ(sum[0], 1e-40f + 1e-40f);
  }
}
} // namespace
