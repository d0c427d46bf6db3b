//===- MathTest.cpp - Vector exp, silu and softplus -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "reference/Math.h"
#include "fast/VecMath.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace cp::kernels;

namespace {
struct Small {
  static constexpr int bytes = 16;
  static constexpr bool streams = false;
  static constexpr bool fuses = false;
  template <typename Vector> static Vector inverse(Vector value) {
    return 1 / value;
  }
};

template <typename T> class MathTest : public testing::Test {
public:
  using V = fast::Vec<Small, T>;
  using M = fast::VecMath<Small, T>;
  static T exp(T x) { return M::exp(V::splat(x))[0]; }
  static T expNegative(T x) { return M::expNegative(V::splat(x))[0]; }
  static T exp2Negative(T x) { return M::exp2Negative(V::splat(x))[0]; }
  static T silu(T x) { return M::silu(V::splat(x))[0]; }
  static T siluSlope(T x) {
    typename V::Type slope[1] = {V::splat(x)}, silu[1];
    M::siluSlope(slope, silu);
    return slope[0][0];
  }
  static T softplus(T x) { return M::softplus(V::splat(x))[0]; }

  /// The distance of `got` from `exact` in units in the last place.
  static double units(T got, long double exact) {
    T nearest = T(exact);
    T next =
        std::nextafter(std::fabs(nearest), std::numeric_limits<T>::infinity());
    long double unit = (long double)next - std::fabs((long double)nearest);
    return double(std::fabs((long double)got - exact) / unit);
  }
};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(MathTest, Floats);

TYPED_TEST(MathTest, ExpIsWithinTwoUnits) {
  using T = TypeParam;
  double end = sizeof(T) == 4 ? 87 : 708;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<T> wide(T(-end), T(end)), narrow(T(-1), T(1));
  for (int i = 0; i < 200000; ++i) {
    T x = i % 2 ? wide(random) : narrow(random);
    ASSERT_LE(this->units(this->exp(x), std::exp((long double)x)), 2) << x;
  }
}

TYPED_TEST(MathTest, ExpCoversEdges) {
  using T = TypeParam;
  const T infinity = std::numeric_limits<T>::infinity();
  const T overflow = sizeof(T) == 4 ? T(89) : T(710);
  EXPECT_EQ(this->exp(0), T(1));
  EXPECT_EQ(this->exp(-infinity), T(0));
  EXPECT_EQ(this->exp(infinity), infinity);
  EXPECT_EQ(this->exp(overflow), infinity);
  EXPECT_EQ(this->exp(T(-1e4)), T(0));
  EXPECT_TRUE(std::isnan(this->exp(std::numeric_limits<T>::quiet_NaN())));
  // Below the normal range the result loses bits, but stays in place.
  T small = sizeof(T) == 4 ? T(-95) : T(-720);
  EXPECT_NEAR(this->exp(small) / std::exp(small), 1, 1e-2);
  T large = sizeof(T) == 4 ? T(88.7) : T(709.7);
  EXPECT_NEAR(this->exp(large) / std::exp(large), 1, 1e-6);
}

TYPED_TEST(MathTest, ExpNegativeIsExpOfWhatIsNotPositive) {
  using T = TypeParam;
  const T smallest = std::numeric_limits<T>::min();
  const T infinity = std::numeric_limits<T>::infinity();
  double end = sizeof(T) == 4 ? 87.33 : 708.39;
  std::mt19937_64 random(4);
  std::uniform_real_distribution<T> wide(T(-end), T(0)), narrow(T(-1), T(0));
  for (int i = 0; i < 200000; ++i) {
    T x = i % 2 ? wide(random) : narrow(random);
    ASSERT_LE(this->units(this->expNegative(x), std::exp((long double)x)), 2)
        << x;
  }
  EXPECT_EQ(this->expNegative(T(0)), T(1));
  EXPECT_EQ(this->expNegative(-infinity), T(0));
  EXPECT_TRUE(
      std::isnan(this->expNegative(std::numeric_limits<T>::quiet_NaN())));
  // Around the smallest normal number it is that number, or 0.
  T x = std::log(smallest);
  for (int i = 0; i < 100; ++i, x = std::nextafter(x, -infinity)) {
    T got = this->expNegative(x);
    EXPECT_TRUE(got == T(0) || this->units(got, std::exp((long double)x)) <= 2)
        << x;
  }
  EXPECT_EQ(this->expNegative(T(1.01) * std::log(smallest)), T(0));
}

TYPED_TEST(MathTest, Exp2OfNegativeNumbers) {
  using T = TypeParam;
  const T infinity = std::numeric_limits<T>::infinity();
  const T end = sizeof(T) == 4 ? T(-126) : T(-1022);
  std::mt19937_64 random(5);
  std::uniform_real_distribution<T> wide(end, T(0)), narrow(T(-1), T(0));
  for (int i = 0; i < 200000; ++i) {
    T x = i % 2 ? wide(random) : narrow(random);
    ASSERT_LE(this->units(this->exp2Negative(x), std::exp2((long double)x)), 2)
        << x;
  }
  for (T x = 0; x >= end; --x)
    EXPECT_EQ(this->exp2Negative(x), std::exp2(x));
  EXPECT_EQ(this->exp2Negative(std::nextafter(end, -infinity)), T(0));
  EXPECT_EQ(this->exp2Negative(T(-1e6)), T(0));
  EXPECT_EQ(this->exp2Negative(std::numeric_limits<T>::lowest()), T(0));
  EXPECT_EQ(this->exp2Negative(-infinity), T(0));
  EXPECT_TRUE(
      std::isnan(this->exp2Negative(std::numeric_limits<T>::quiet_NaN())));
}

TYPED_TEST(MathTest, SoftplusKeepsItsRelativePrecision) {
  using T = TypeParam;
  double end = sizeof(T) == 4 ? 80 : 700;
  std::mt19937_64 random(2);
  std::uniform_real_distribution<T> wide(T(-end), T(end)), narrow(T(-3), T(3));
  for (int i = 0; i < 100000; ++i) {
    T x = i % 2 ? wide(random) : narrow(random);
    long double exact = x > 0 ? x + std::log1p(std::exp(-(long double)x))
                              : std::log1p(std::exp((long double)x));
    ASSERT_LE(this->units(this->softplus(x), exact), 4) << x;
    ASSERT_LE(this->units(reference::softplus(x), exact), 2) << x;
  }
  EXPECT_EQ(this->softplus(T(-1e5)), T(0));
  EXPECT_EQ(this->softplus(T(1e5)), T(1e5));
  EXPECT_EQ(this->softplus(std::numeric_limits<T>::infinity()),
            std::numeric_limits<T>::infinity());
  EXPECT_EQ(reference::softplus(T(1e5)), T(1e5));
}

TYPED_TEST(MathTest, SiluMatchesDefinition) {
  using T = TypeParam;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<T> draw(T(-40), T(40));
  for (int i = 0; i < 100000; ++i) {
    T x = draw(random);
    long double exact = x / (1 + std::exp(-(long double)x));
    ASSERT_LE(this->units(this->silu(x), exact), 3) << x;
    ASSERT_LE(this->units(reference::silu(x), exact), 3) << x;
  }
  EXPECT_EQ(this->silu(T(-1e5)), T(0));
  EXPECT_EQ(reference::silu(T(-1e5)), T(0));
  EXPECT_EQ(reference::silu(T(1e5)), T(1e5));
  EXPECT_TRUE(std::isnan(this->silu(T(NAN))));
  EXPECT_TRUE(std::isinf(this->silu(std::numeric_limits<T>::infinity())));
}

TYPED_TEST(MathTest, SlopeOfSiluMatchesDefinition) {
  using T = TypeParam;
  std::mt19937_64 random(4);
  std::uniform_real_distribution<T> draw(T(-40), T(40));
  for (int i = 0; i < 100000; ++i) {
    T x = draw(random);
    long double logistic = 1 / (1 + std::exp(-(long double)x));
    long double product = x * logistic * (std::exp(-(long double)x) * logistic);
    // Both parts are as exact as numbers are; near -1.28 their sum is not.
    long double unit =
        std::numeric_limits<T>::epsilon() * (logistic + std::fabs(product));
    long double exact = logistic + product;
    ASSERT_LE(std::fabs(this->siluSlope(x) - exact), 4 * unit) << x;
    ASSERT_LE(std::fabs(reference::siluSlope(x) - exact), 4 * unit) << x;
  }
  EXPECT_EQ(this->siluSlope(T(-1e5)), T(0));
  EXPECT_EQ(this->siluSlope(T(1e5)), T(1));
  EXPECT_EQ(this->siluSlope(-std::numeric_limits<T>::infinity()), T(0));
  EXPECT_EQ(reference::siluSlope(-std::numeric_limits<T>::infinity()), T(0));
  EXPECT_EQ(this->siluSlope(std::numeric_limits<T>::infinity()), T(1));
  EXPECT_EQ(reference::siluSlope(std::numeric_limits<T>::infinity()), T(1));
  EXPECT_TRUE(std::isnan(this->siluSlope(T(NAN))));
  EXPECT_TRUE(std::isnan(reference::siluSlope(T(NAN))));
}

/// Where gates and convolutions are, the derivative is as near as rounding its
/// few steps lets it be: what a sum of many is made of.
TYPED_TEST(MathTest, SlopeOfSiluIsNearOnAverage) {
  using T = TypeParam;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<T> draw(T(-4), T(4));
  long double wrong = 0, all = 0;
  for (int i = 0; i < 100000; ++i) {
    T x = draw(random);
    long double logistic = 1 / (1 + std::exp(-(long double)x));
    long double exact = logistic * (1 + x * (1 - logistic));
    wrong += std::pow(this->siluSlope(x) - exact, 2);
    all += exact * exact;
  }
  EXPECT_LE(std::sqrt(wrong / all), T(0.4) * std::numeric_limits<T>::epsilon());
}
} // namespace
