//===- Conv1dTest.cpp - Causal convolution --------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Documents.h"

#include <gtest/gtest.h>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {
template <typename T> class Conv1dTest : public testing::Test {};
using Floats = testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(Conv1dTest, Floats);

template <typename T> struct Problem {
  int64_t b, l, c, w;
  bool hasBias, hasInitial, silu;
  Tensor<T> x, weight, bias, initial, y;
  Batch documents;

  explicit Problem(Random &random)
      : Problem(pick(random, 1, 2), pick(random, 0, 12), pick(random, 1, 70),
                pick(random, 0, 1) ? 4 : pick(random, 1, 6), random) {}
  Problem(int64_t b, int64_t l, int64_t c, int64_t w, Random &random)
      : b(b), l(l), c(c), w(w), hasBias(pick(random, 0, 1)),
        hasInitial(pick(random, 0, 1)), silu(pick(random, 0, 1)),
        x({b, l, c}, pickLay(random), random),
        weight({c, w}, pickLay(random), random),
        bias({c}, pickLay(random), random),
        initial({b, w - 1, c}, pickLay(random), random),
        y({b, l, c}, pickLay(random), random) {
    for (Tensor<T> *tensor : {&x, &weight, &bias, &initial})
      tensor->fill(random, -3, 3);
  }

  std::string run(KernelFn kernel) {
    std::vector<Buffer> ins = {x.buffer(), weight.buffer(),
                               hasBias ? bias.buffer() : absent};
    ins.push_back(hasInitial ? initial.buffer() : absent);
    ins.push_back(documents.isEmpty() ? absent : documents.places.buffer());
    return test::run(kernel, ins, {y.buffer()}, {silu});
  }

  /// Scatters instead of gathering: what each input row adds to row t.
  Expected expected(int64_t i, int64_t t, int64_t channel) {
    Expected sum;
    if (!documents.hasToken(i, t))
      return sum;
    if (hasBias)
      sum.add(bias(channel));
    int64_t begin = documents.isEmpty() ? 1 - w : documents.beginAt(i, t);
    for (int64_t s = std::max<int64_t>(begin, 0); s <= t; ++s)
      if (t - s < w)
        sum.add(double(x(i, s, channel)) *
                double(weight(channel, w - 1 - (t - s))));
    for (int64_t s = 0; s < w - 1 && hasInitial; ++s)
      if (s - t >= 0 && s - (w - 1) >= begin)
        sum.add(double(initial(i, s, channel)) *
                double(weight(channel, s - t)));
    if (silu)
      sum.value /= 1 + std::exp(-sum.value);
    return sum;
  }
};

template <typename T> void check(Problem<T> &problem) {
  for (const Implementation &implementation : implementations()) {
    SCOPED_TRACE(implementation.name);
    ASSERT_EQ(problem.run(implementation.find("conv1d", Element<T>::dtype)),
              "");
    EXPECT_TRUE(problem.y.isIntact());
    for (int64_t i = 0; i < problem.b; ++i)
      for (int64_t t = 0; t < problem.l; ++t)
        for (int64_t c = 0; c < problem.c; ++c)
          ASSERT_TRUE(isClose(problem.y(i, t, c), problem.expected(i, t, c)))
              << i << ' ' << t << ' ' << c;
  }
}

TYPED_TEST(Conv1dTest, MatchesDefinitionOnRandomShapes) {
  for (uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem<TypeParam> problem(random);
    check(problem);
    if (this->HasFatalFailure())
      return;
  }
}

TYPED_TEST(Conv1dTest, MatchesDefinitionOnDocuments) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem<TypeParam> problem(pick(random, 1, 2), pick(random, 0, 300),
                               pick(random, 1, 40), pick(random, 1, 6), random);
    problem.documents = Batch(problem.b, problem.l, random);
    check(problem);
    if (this->HasFatalFailure())
      return;
  }
}

/// The rows after a cut, given the rows before it as `initial`, have the same
/// bits as in the whole sequence.
TYPED_TEST(Conv1dTest, SequenceCutsChangeNoBit) {
  using T = TypeParam;
  Random random(3);
  Problem<T> whole(2, 20, 33, 4, random);
  const int64_t cut = 9, before = whole.w - 1;
  for (const Implementation &implementation : implementations()) {
    SCOPED_TRACE(implementation.name);
    KernelFn kernel = implementation.find("conv1d", Element<T>::dtype);
    ASSERT_EQ(whole.run(kernel), "");
    Problem<T> part = whole;
    part.hasInitial = true;
    part.x = Tensor<T>({2, 20 - cut, 33}, Lay::Gaps, random);
    part.initial = Tensor<T>({2, before, 33}, Lay::Scattered, random);
    part.y = part.x;
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t c = 0; c < 33; ++c) {
        for (int64_t t = cut; t < 20; ++t)
          part.x(i, t - cut, c) = whole.x(i, t, c);
        for (int64_t t = 0; t < before; ++t)
          part.initial(i, t, c) = whole.x(i, cut - before + t, c);
      }
    }
    ASSERT_EQ(part.run(kernel), "");
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t t = cut; t < 20; ++t)
        for (int64_t c = 0; c < 33; ++c)
          ASSERT_EQ(part.y(i, t - cut, c), whole.y(i, t, c));
  }
}

/// So many results that they go past the caches; rows whose first element is
/// not at the start of a line, and channels that do not fill the last vector.
template <typename T> void testLarge(int64_t l, int64_t c, int64_t used) {
  Random random(3);
  Tensor<T> x({1, l, used}, Lay::Dense, random);
  Tensor<T> weight({used, 4}, Lay::Dense, random);
  Tensor<T> plain({1, l, used}, Lay::Dense, random);
  x.fill(random, -1, 1);
  weight.fill(random, -1, 1);
  ASSERT_EQ(
      run(findCpuKernel("conv1d", Element<T>::dtype, KernelSet::Reference),
          {x.buffer(), weight.buffer()}, {plain.buffer()}, {1}),
      "");
  // Two roundings to bf16 lie up to a unit in the last place apart.
  for (const Implementation &implementation : implementations())
    for (size_t shift : {0, 1}) {
      SCOPED_TRACE(implementation.name);
      std::vector<T> data(size_t(l * c) + shift, T(7));
      const int64_t sizes[] = {1, l, used}, strides[] = {l * c, c, 1};
      Buffer y = {data.data() + shift, Element<T>::dtype, 3, sizes, strides};
      ASSERT_EQ(run(implementation.find("conv1d", Element<T>::dtype),
                    {x.buffer(), weight.buffer()}, {y}, {1}),
                "");
      for (int64_t t = 0; t < l; ++t)
        for (int64_t i = 0; i < c; ++i) {
          double got = data[size_t(t * c + i) + shift];
          double expected = i < used ? double(plain(0, t, i)) : 7;
          ASSERT_LE(std::fabs(got - expected),
                    tolerance<T>() +
                        2 * storageRounding<T>() * std::fabs(expected))
              << t << ' ' << i;
        }
    }
}

TYPED_TEST(Conv1dTest, LargeResultsMatchThePlainKernel) {
  testLarge<TypeParam>(2100, 4128, 4101);
}

/// More channels than go by at a time.
TYPED_TEST(Conv1dTest, ManyChannelsMatchThePlainKernel) {
  testLarge<TypeParam>(11, 13056, 13001);
}

/// A window of one token and a weight of 1 leave silu alone, as each set of
/// instructions does it.
template <typename T> void testSilu(KernelFn kernel) {
  const int64_t count = 20011;
  Random random(5);
  Tensor<T> x({1, 1, count}, Lay::Dense, random), y = x;
  Tensor<T> weight({count, 1}, Lay::Dense, random);
  x.fill(random, -40, 40);
  weight.fill(random, 1, 1);
  const T infinity = std::numeric_limits<T>::infinity();
  const T special[] = {T(-1e5), T(1e5), infinity, T(-0.0)};
  for (size_t i = 0; i < std::size(special); ++i)
    x(0, 0, int64_t(i)) = special[i];
  x(0, 0, 100) = std::numeric_limits<T>::quiet_NaN();
  ASSERT_EQ(run(kernel, {x.buffer(), weight.buffer()}, {y.buffer()}, {1}), "");
  EXPECT_EQ(y(0, 0, 0), T(0));
  EXPECT_EQ(y(0, 0, 1), T(1e5));
  EXPECT_EQ(y(0, 0, 2), infinity);
  EXPECT_EQ(y(0, 0, 3), T(0));
  EXPECT_TRUE(std::isnan(y(0, 0, 100)));
  for (int64_t i = 4; i < count; ++i) {
    if (i == 100)
      continue;
    long double exact =
        x(0, 0, i) / (1 + std::exp(-static_cast<long double>(x(0, 0, i))));
    long double unit =
        std::nextafter(std::fabs(T(exact)), infinity) - std::fabs(T(exact));
    // Where products are not rounded, f32 takes ln 2 as one number.
    int64_t most = x(0, 0, i) < -20 ? 5 : 3;
    ASSERT_LE(std::fabs(y(0, 0, i) - exact), most * unit) << x(0, 0, i);
  }
}

TEST(SiluTest, IsWithinAFewUnits) {
  for (const Implementation &implementation : implementations()) {
    SCOPED_TRACE(implementation.name);
    testSilu<float>(implementation.find("conv1d", DType::F32));
    testSilu<double>(implementation.find("conv1d", DType::F64));
  }
}
} // namespace
