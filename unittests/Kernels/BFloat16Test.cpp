//===- BFloat16Test.cpp - Rounding to bf16 --------------------------------===//
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
constexpr float infinity = std::numeric_limits<float>::infinity();

BFloat16 fromBits(int64_t bits) {
  BFloat16 value;
  value.bits = static_cast<uint16_t>(bits);
  return value;
}

/// Rounds by arithmetic on the exact value instead of on bits: to a whole
/// number of units in the last place, of two to the even one.
double nearest(double value) {
  if (value == 0 || !std::isfinite(value))
    return value;
  int exponent = std::max(std::ilogb(value), -126);
  double unit = std::ldexp(1.0, exponent - 7);
  double rounded = std::nearbyint(value / unit) * unit;
  bool isBeyond = std::fabs(rounded) >= std::ldexp(1.0, 128);
  return isBeyond ? std::copysign(infinity, value) : rounded;
}

bool isSame(BFloat16 got, double expected) {
  return std::isnan(expected) ? std::isnan(float(got)) : got == expected;
}

TEST(BFloat16Test, WideningAndBackChangesNothing) {
  for (int64_t bits = 0; bits < 0x10000; ++bits) {
    BFloat16 value = fromBits(bits);
    if (std::isnan(float(value)))
      EXPECT_EQ(BFloat16(value).bits | 0x40, bits | 0x40);
    else
      EXPECT_EQ(BFloat16(float(value)).bits, bits);
  }
}

TEST(BFloat16Test, RoundsToTheNearest) {
  for (uint64_t seed = 0; seed < 200000; ++seed) {
    Random random(seed);
    // Half of them ties, or just beside one.
    uint32_t bits = static_cast<uint32_t>(random());
    if (seed % 2)
      bits = (bits & 0xffff0000) + 0x8000 + uint32_t(pick(random, -1, 1));
    float value;
    std::memcpy(&value, &bits, sizeof value);
    ASSERT_TRUE(isSame(BFloat16(value), nearest(value))) << "seed " << seed;
  }
}

TEST(BFloat16Test, KeepsWhatIsNoNumber) {
  EXPECT_EQ(BFloat16(infinity).bits, 0x7f80);
  EXPECT_EQ(BFloat16(-infinity).bits, 0xff80);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  // The payload of the first lies in the lower half, that of the second is
  // where an increment would run over.
  for (uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff80ffffu, 0xffffffffu}) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    BFloat16 narrow(value);
    EXPECT_TRUE(std::isnan(float(narrow)));
    EXPECT_EQ(narrow.bits >> 15, bits >> 31);
  }
}

/// Fast kernels count numbers too small to be normal as 0 (FlushToZero.h).
bool isProduct(BFloat16 got, double x, double weight) {
  constexpr double normal = std::numeric_limits<float>::min();
  bool isSmall = std::fabs(x) < normal || std::fabs(x * weight) < normal;
  return isSame(got, nearest(x * weight)) || (isSmall && float(got) == 0);
}

/// y = x weight for single numbers, as a convolution of width 1. The product of
/// two bf16 is exact in f32, so y is its one rounding.
void checkProducts(const Implementation &implementation, Tensor<BFloat16> &x,
                   Tensor<BFloat16> &weight, Lay lay) {
  SCOPED_TRACE(implementation.name);
  Random random(1);
  Tensor<BFloat16> y(x.sizes, lay, random);
  ASSERT_EQ(run(implementation.find("conv1d", DType::BF16),
                {x.buffer(), weight.buffer()}, {y.buffer()}, {0}),
            "");
  for (int64_t t = 0; t < x.sizes[1]; ++t)
    for (int64_t c = 0; c < x.sizes[2]; ++c)
      ASSERT_TRUE(
          isProduct(y(0, t, c), double(x(0, t, c)), double(weight(c, 0))))
          << t << ' ' << c << ": " << x(0, t, c) << " * " << weight(c, 0)
          << " gives " << y(0, t, c);
}

TEST(BFloat16Test, KernelsRoundToTheNearest) {
  Random random(2);
  Tensor<BFloat16> x({1, 1000, 67}, Lay::Dense, random),
      weight({67, 1}, Lay::Dense, random);
  // Every bit pattern once, and some twice.
  for (int64_t i = 0; i < x.count(); ++i)
    x[i] = fromBits(i & 0xffff);
  for (const Implementation &implementation : implementations()) {
    for (float factor : {1.0f, 3.0f, 1.0078125f, 1000.0f}) {
      weight.fill(random, factor, factor);
      checkProducts(implementation, x, weight, Lay::Dense);
      checkProducts(implementation, x, weight, Lay::Scattered);
    }
  }
}
} // namespace
