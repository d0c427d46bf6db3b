//===- RotaryTest.cpp - Rotation of queries and keys ----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <complex>
#include <gtest/gtest.h>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {
template <typename T> class RotaryTest : public testing::Test {};
using Floats = testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(RotaryTest, Floats);

template <typename T> struct Problem {
  int64_t pairs;
  double theta;
  Tensor<T> x, y;
  Tensor<int64_t> positions;

  Problem(Random &random, int64_t latest)
      : pairs(pick(random, 1, 9)), theta(pick(random, 0, 1) ? 10000 : 7.5),
        x({pick(random, 0, 2), pick(random, 0, 6), pick(random, 1, 3),
           2 * pairs + pick(random, 0, 5)},
          pickLay(random), random),
        y(x.sizes, pickLay(random), random),
        positions({x.sizes[1]}, pickLay(random), random) {
    // Elements of the batch may differ.
    if (pick(random, 0, 1))
      positions =
          Tensor<int64_t>({x.sizes[0], x.sizes[1]}, pickLay(random), random);
    x.fill(random, -2, 2);
    for (int64_t i = 0; i < positions.count(); ++i)
      positions[i] = pick(random, 0, latest);
  }

  std::string run(KernelFn kernel) {
    return test::run(kernel, {x.buffer(), positions.buffer()}, {y.buffer()},
                     {2 * pairs, bitsOf(theta)});
  }

  int64_t positionOf(int64_t b, int64_t row) {
    return positions.sizes.size() == 1 ? positions(row) : positions(b, row);
  }

  /// A pair as a complex number that is turned.
  Expected expected(int64_t b, int64_t row, int64_t h, int64_t i) {
    if (i >= 2 * pairs)
      return {double(x(b, row, h, i)), 0};
    int64_t pair = i % pairs;
    long double angle =
        (long double)(positionOf(b, row)) *
        std::exp(-std::log((long double)(theta)) * pair / pairs);
    std::complex<long double> value(double(x(b, row, h, pair)),
                                    double(x(b, row, h, pair + pairs)));
    std::complex<long double> turned = value * std::polar(1.0L, angle);
    return {double(i < pairs ? turned.real() : turned.imag()),
            double(std::abs(value.real()) + std::abs(value.imag()))};
  }

  void expectAll() {
    EXPECT_TRUE(y.isIntact());
    for (int64_t b = 0; b < x.sizes[0]; ++b)
      for (int64_t row = 0; row < x.sizes[1]; ++row)
        for (int64_t h = 0; h < x.sizes[2]; ++h)
          for (int64_t i = 0; i < x.sizes[3]; ++i)
            ASSERT_TRUE(isClose(y(b, row, h, i), expected(b, row, h, i)))
                << b << ' ' << row << ' ' << h << ' ' << i << " got "
                << y(b, row, h, i);
  }
};

TYPED_TEST(RotaryTest, MatchesDefinitionOnRandomShapes) {
  for (uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem<TypeParam> problem(random, /*latest=*/200);
    for (KernelFn kernel : kernelsOf("rotary", Element<TypeParam>::dtype)) {
      ASSERT_EQ(problem.run(kernel), "");
      problem.expectAll();
    }
  }
}

/// A float's 24 bits would leave an angle of a million no digit to spare.
TEST(Rotary, LatePositionsKeepTheirAngles) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    Problem<float> problem(random, /*latest=*/int64_t(1) << 21);
    for (KernelFn kernel : kernelsOf("rotary", DType::F32)) {
      ASSERT_EQ(problem.run(kernel), "");
      problem.expectAll();
    }
  }
}

/// Queries and keys turned by their places have scores of their distance.
TEST(Rotary, ScoresDependOnDistance) {
  Random random(1);
  Tensor<double> x({1, 2, 1, 8}, Lay::Dense, random), y = x;
  Tensor<int64_t> positions({2}, Lay::Dense, random);
  x.fill(random, -1, 1);
  double first = 0;
  for (int64_t start : {0, 5, 1000}) {
    positions[0] = start;
    positions[1] = start + 3;
    ASSERT_EQ(test::run(findCpuKernel("rotary", DType::F64, KernelSet::Fast),
                        {x.buffer(), positions.buffer()}, {y.buffer()},
                        {8, bitsOf(10000.0)}),
              "");
    double score = 0;
    for (int64_t i = 0; i < 8; ++i)
      score += y(0, 0, 0, i) * y(0, 1, 0, i);
    first = start == 0 ? score : first;
    EXPECT_NEAR(score, first, 1e-12);
  }
}
} // namespace
