//===- JoinTest.cpp - States and decays of neighbours ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decay.h"
#include "Support.h"

#include <gtest/gtest.h>

#include <limits>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {
template <typename T> class JoinTest : public testing::Test {};
using Wide = testing::Types<float, double>;
TYPED_TEST_SUITE(JoinTest, Wide);

/// Also tells zeros of different signs apart.
template <typename T> void expectSame(T found, T expected) {
  ASSERT_EQ(found, expected);
  ASSERT_EQ(std::signbit(found), std::signbit(expected));
}

/// To the bit: a product that is rounded, and a sum.
TYPED_TEST(JoinTest, MultipliesAndThenAdds) {
  using T = TypeParam;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    int64_t n = pick(random, 0, 700), inner = pick(random, 1, 9);
    int64_t first = pick(random, 0, 40), d = (first + n) / inner + 1;
    Tensor<T> left({n}, pickLay(random), random),
        right({n}, pickLay(random), random),
        decays({d}, pickLay(random), random);
    left.fill(random, -1, 1);
    right.fill(random, -1, 1);
    decays.fill(random, 0, 1);
    // One that lets nothing through, and one that is 0 by rounding.
    decays[pick(random, 0, d - 1)] = startDecay<T>;
    decays[pick(random, 0, d - 1)] = 0;
    Lay lay = pickLay(random);
    for (KernelFn kernel : kernelsOf("join_states", Element<T>::dtype)) {
      Tensor<T> y({n}, lay, random);
      ASSERT_EQ(run(kernel, {left.buffer(), right.buffer(), decays.buffer()},
                    {y.buffer()}, {first, inner}),
                "");
      EXPECT_TRUE(y.isIntact());
      for (int64_t i = 0; i < n; ++i) {
        T decay = decays[(first + i) / inner];
        volatile T kept = decay * left[i];
        bool isFirst = decay == 0 && std::signbit(decay);
        expectSame(y[i], isFirst ? right[i] : T(kept + right[i]));
      }
    }
  }
}

TYPED_TEST(JoinTest, MultipliesDecays) {
  using T = TypeParam;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    int64_t n = pick(random, 2, 700);
    Tensor<T> left({n}, pickLay(random), random),
        right({n}, pickLay(random), random);
    left.fill(random, 0, 1);
    right.fill(random, 0, 1);
    left[0] = right[1] = startDecay<T>;
    for (KernelFn kernel : kernelsOf("join_decays", Element<T>::dtype)) {
      Tensor<T> y({n}, Lay::Dense, random);
      ASSERT_EQ(run(kernel, {left.buffer(), right.buffer()}, {y.buffer()}, {}),
                "");
      for (int64_t i = 0; i < n; ++i)
        expectSame(y[i], i < 2 ? startDecay<T> : left[i] * right[i]);
    }
  }
}

/// What comes from before the start of a sequence may be anything.
TYPED_TEST(JoinTest, NothingPassesAStart) {
  using T = TypeParam;
  Random random(1);
  constexpr T infinity = std::numeric_limits<T>::infinity(),
              nan = std::numeric_limits<T>::quiet_NaN();
  Tensor<T> left({3}, Lay::Dense, random), right({3}, Lay::Dense, random),
      decays({3}, Lay::Dense, random);
  left[0] = nan;
  left[1] = left[2] = infinity;
  decays[0] = decays[1] = startDecay<T>;
  decays[2] = 0;
  for (int64_t i = 0; i < 3; ++i)
    right[i] = T(i + 1);
  for (KernelFn kernel : kernelsOf("join_states", Element<T>::dtype)) {
    ASSERT_EQ(run(kernel, {left.buffer(), right.buffer(), decays.buffer()},
                  {right.buffer()}, {0, 1}),
              "");
    EXPECT_EQ(right[0], 1);
    EXPECT_EQ(right[1], 2);
    EXPECT_TRUE(std::isnan(right[2]));
    right[2] = 3;
  }
  for (KernelFn kernel : kernelsOf("join_decays", Element<T>::dtype)) {
    ASSERT_EQ(
        run(kernel, {left.buffer(), decays.buffer()}, {left.buffer()}, {}), "");
    expectSame(left[0], startDecay<T>);
    left[0] = nan;
  }
}
} // namespace
