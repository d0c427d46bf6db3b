//===- RmsNormTest.cpp - Gated RMS norm -----------------------------------===//
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
template <typename T> class RmsNormTest : public testing::Test {};
using Floats = testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(RmsNormTest, Floats);

double silu(double x) { return x / (1 + std::exp(-x)); }

template <typename T> struct Problem {
  int64_t rows, groups, width;
  bool gateFirst, hasGate, hasWeight;
  double eps;
  Tensor<T> x, weight, gate, y;

  explicit Problem(Random &random)
      : rows(pick(random, 0, 5)), groups(pick(random, 1, 4)),
        width(pick(random, 1, 50)), gateFirst(pick(random, 0, 1)),
        hasGate(pick(random, 0, 1)), hasWeight(pick(random, 0, 1)),
        eps(pick(random, 0, 1) ? 1e-5 : 0.5),
        x({2, rows, groups * width}, pickLay(random), random),
        weight({groups * width}, pickLay(random), random),
        gate(x.sizes, pickLay(random), random),
        y(x.sizes, pickLay(random), random) {
    for (Tensor<T> *tensor : {&x, &weight, &gate})
      tensor->fill(random, -2, 2);
  }

  std::string run(KernelFn kernel) {
    std::vector<Buffer> ins = {x.buffer(),
                               hasWeight ? weight.buffer() : absent};
    if (hasGate)
      ins.push_back(gate.buffer());
    return test::run(kernel, ins, {y.buffer()},
                     {bitsOf(eps), gateFirst, groups});
  }

  double value(int64_t i, int64_t row, int64_t c) {
    double value = x(i, row, c);
    return hasGate && gateFirst ? value * silu(gate(i, row, c)) : value;
  }
  Expected expected(int64_t i, int64_t row, int64_t c) {
    double mean = 0;
    for (int64_t k = 0; k < width; ++k)
      mean += std::pow(value(i, row, c / width * width + k), 2) / double(width);
    double result = value(i, row, c) / std::sqrt(mean + eps);
    if (hasWeight)
      result *= weight(c);
    if (hasGate && !gateFirst)
      result *= silu(gate(i, row, c));
    return {result, std::fabs(result)};
  }
};

TYPED_TEST(RmsNormTest, MatchesDefinitionOnRandomShapes) {
  for (uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem<TypeParam> problem(random);
    for (const Implementation &implementation : implementations()) {
      SCOPED_TRACE(implementation.name);
      ASSERT_EQ(problem.run(
                    implementation.find("rms_norm", Element<TypeParam>::dtype)),
                "");
      EXPECT_TRUE(problem.y.isIntact());
      for (int64_t i = 0; i < 2; ++i)
        for (int64_t row = 0; row < problem.rows; ++row)
          for (int64_t c = 0; c < problem.groups * problem.width; ++c)
            ASSERT_TRUE(
                isClose(problem.y(i, row, c), problem.expected(i, row, c)))
                << i << ' ' << row << ' ' << c << " got "
                << problem.y(i, row, c);
    }
  }
}

/// So many results that they go past the caches, in rows that start with a line
/// and in rows that do not, gated before and after.
TYPED_TEST(RmsNormTest, LargeResultsMatchThePlainKernel) {
  using T = TypeParam;
  Random random(3);
  const int64_t rows = 2100, c = 4128, used = 4110;
  Tensor<T> x({rows, used}, Lay::Dense, random), plain = x;
  Tensor<T> gate({rows, used}, Lay::Dense, random);
  for (Tensor<T> *tensor : {&x, &gate})
    tensor->fill(random, -2, 2);
  for (int64_t gateFirst : {0, 1}) {
    const std::vector<int64_t> attrs = {bitsOf(1e-5), gateFirst, 2};
    ASSERT_EQ(
        run(findCpuKernel("rms_norm", Element<T>::dtype, KernelSet::Reference),
            {x.buffer(), absent, gate.buffer()}, {plain.buffer()}, attrs),
        "");
    for (const Implementation &implementation : implementations())
      for (size_t shift : {0, 1}) {
        SCOPED_TRACE(implementation.name);
        std::vector<T> data(size_t(rows * c) + shift, T(7));
        const int64_t sizes[] = {rows, used}, strides[] = {c, 1};
        Buffer y = {data.data() + shift, Element<T>::dtype, 2, sizes, strides};
        ASSERT_EQ(run(implementation.find("rms_norm", Element<T>::dtype),
                      {x.buffer(), absent, gate.buffer()}, {y}, attrs),
                  "");
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t i = 0; i < c; ++i) {
            double got = data[size_t(row * c + i) + shift];
            double expected = i < used ? double(plain(row, i)) : 7;
            ASSERT_LE(std::fabs(got - expected),
                      tolerance<T>() +
                          2 * storageRounding<T>() * std::fabs(expected))
                << row << ' ' << i;
          }
      }
  }
}
} // namespace
