//===- SsdTest.cpp - The scan against its quadratic form ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SsdSupport.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {
template <typename T> class SsdTest : public testing::Test {};
using Floats = testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(SsdTest, Floats);

template <typename T> void check(SsdProblem<T> &problem) {
  problem.prepare();
  for (const Implementation &implementation : implementations()) {
    SCOPED_TRACE(implementation.name);
    ASSERT_EQ(problem.run(implementation.find("ssd", Element<T>::dtype)), "");
    problem.allowFor(implementation);
    expectMatches(problem);
  }
}

TYPED_TEST(SsdTest, MatchesQuadraticFormOnRandomShapes) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    SsdProblem<TypeParam> problem(pickShape(random), Fading(seed % 3), random);
    check(problem);
    if (this->HasFatalFailure())
      return;
  }
}

TYPED_TEST(SsdTest, MatchesQuadraticFormOnDocuments) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    SsdProblem<TypeParam> problem(pickShape(random), Fading(seed % 3), random);
    problem.documents = Batch(problem.s.b, problem.s.l, random);
    check(problem);
    if (this->HasFatalFailure())
      return;
  }
}

TYPED_TEST(SsdTest, MatchesQuadraticFormAtSpecialLengths) {
  for (int64_t l : {0, 1, 2, 63, 64, 65, 128}) {
    SCOPED_TRACE(testing::Message() << "length " << l);
    Random random(static_cast<uint64_t>(l));
    SsdProblem<TypeParam> problem({1, l, 4, 33, 4, 17, 64}, Fading::Slow,
                                  random);
    check(problem);
  }
}

TYPED_TEST(SsdTest, AcceptsEmptyStatesAndHeads) {
  Random random(5);
  for (SsdShape shape :
       {SsdShape{1, 9, 2, 4, 1, 0, 4}, SsdShape{1, 9, 2, 0, 1, 4, 4},
        SsdShape{0, 9, 2, 4, 1, 4, 4}, SsdShape{1, 9, 0, 4, 0, 4, 4}}) {
    SsdProblem<TypeParam> problem(shape, Fading::Mixed, random);
    check(problem);
  }
}

/// Steps of extreme size neither overflow nor lose the state.
TYPED_TEST(SsdTest, SurvivesExtremeSteps) {
  Random random(6);
  SsdProblem<TypeParam> problem({1, 70, 2, 8, 1, 8, 64}, Fading::Mixed, random);
  problem.dtMax = std::numeric_limits<double>::infinity();
  problem.dtMin = 0;
  for (int64_t t = 0; t < 70; ++t)
    for (int64_t h = 0; h < 2; ++h)
      problem.dt(0, t, h) = TypeParam(t % 3 == 0 ? -70 : t % 3 == 1 ? 90 : 0);
  check(problem);
}

/// A state that no token leaves anything of: 0, whatever a tile is padded with.
TYPED_TEST(SsdTest, SurvivesAnInfiniteRate) {
  Random random(11);
  SsdProblem<TypeParam> problem({1, 65, 1, 2, 1, 3, 64}, Fading::Mixed, random);
  problem.aLog(0) = TypeParam(1000);
  for (const Implementation &implementation : implementations()) {
    SCOPED_TRACE(implementation.name);
    ASSERT_EQ(
        problem.run(implementation.find("ssd", Element<TypeParam>::dtype)), "");
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t t = 0; t < 65; ++t)
        EXPECT_FALSE(std::isnan(double(problem.y(0, t, 0, i)))) << t;
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 3; ++j)
        EXPECT_FALSE(std::isnan(double(problem.finalState(0, 0, i, j))));
  }
}

/// Results that go past the caches, as large ones do that are aligned, are
/// those that do not.
TYPED_TEST(SsdTest, LargeResultsHaveTheSameBits) {
  using T = TypeParam;
  constexpr int64_t h = 64, p = 64, alignment = 64;
  const int64_t l = (int64_t(1) << 24) / (h * p * int64_t(sizeof(T)));
  Random random(10);
  SsdProblem<T> problem({1, l, h, p, 1, 3, 64}, Fading::Mixed, random);
  problem.y = Tensor<T>({1, l, h, p}, Lay::Gaps, random);
  std::unique_ptr<T, void (*)(void *)> data(
      static_cast<T *>(
          std::aligned_alloc(alignment, size_t(l * h * p) * sizeof(T))),
      std::free);
  ASSERT_TRUE(data);
  const int64_t strides[] = {l * h * p, h * p, p, 1};
  for (const Implementation &implementation : implementations()) {
    SCOPED_TRACE(implementation.name);
    KernelFn kernel = implementation.find("ssd", Element<T>::dtype);
    ASSERT_EQ(problem.run(kernel), "");
    Buffer aligned = problem.y.buffer();
    aligned.data = data.get();
    aligned.strides = strides;
    ASSERT_EQ(problem.run(kernel, aligned), "");
    int64_t different = 0;
    for (int64_t i = 0; i < l * h * p; ++i)
      different += std::memcmp(&data.get()[i], &problem.y[i], sizeof(T)) != 0;
    EXPECT_EQ(different, 0);
  }
}

/// Each tile of 64 tokens adds an eighth of bf16's unit to a state of 1: a
/// state carried on in bf16 would still be 1 at the end.
TYPED_TEST(SsdTest, TheCarriedStateKeepsAllBits) {
  using T = TypeParam;
  constexpr int64_t tiles = 64;
  Random random(7);
  SsdProblem<T> problem({1, 64 * tiles, 2, 1, 1, 2, 64}, Fading::Slow, random);
  problem.hasD = problem.hasBias = false;
  problem.hasInitial = true;
  problem.dtMin = problem.dtMax = std::ldexp(1.0, -10);
  auto fillAll = [](Tensor<T> &tensor, double value) {
    for (int64_t i = 0; i < tensor.count(); ++i)
      tensor[i] = T(value);
  };
  fillAll(problem.x, std::ldexp(1.0, -6));
  fillAll(problem.aLog, -40);
  fillAll(problem.B, 1);
  fillAll(problem.initial, 1);
  for (const Implementation &implementation : implementations()) {
    SCOPED_TRACE(implementation.name);
    ASSERT_EQ(problem.run(implementation.find("ssd", Element<T>::dtype)), "");
    for (int64_t i = 0; i < problem.finalState.count(); ++i)
      EXPECT_NEAR(double(problem.finalState[i]),
                  1 + tiles * std::ldexp(1.0, -10), 1.0 / 256);
  }
}

/// Fewer heads than threads: the sequence is cut between them.
TYPED_TEST(SsdTest, SegmentsMatchQuadraticForm) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    int64_t h = pick(random, 1, 2);
    SsdProblem<TypeParam> problem({pick(random, 1, 2), pick(random, 400, 450),
                                   h, 40, pick(random, 1, h), 17,
                                   pick(random, 1, 100)},
                                  Fading(seed % 3), random);
    if (seed % 2)
      problem.documents = Batch(problem.s.b, problem.s.l, random);
    setNumThreads(pick(random, 4, 9));
    check(problem);
    setNumThreads(1);
    if (this->HasFatalFailure())
      return;
  }
}

/// The relative distance of two tensors, by the squares of their elements.
template <typename T> double distance(Tensor<T> &a, Tensor<T> &b) {
  double errors = 0, squares = 0;
  for (int64_t i = 0; i < b.count(); ++i) {
    double error = double(a[i]) - double(b[i]);
    errors += error * error;
    squares += double(b[i]) * double(b[i]);
  }
  return std::sqrt(errors / squares);
}

/// A model's own shape, where the plain kernel is the yardstick.
TYPED_TEST(SsdTest, FastMatchesPlainOnModelShape) {
  using T = TypeParam;
  Random random(8);
  SsdProblem<T> problem({1, 200, 24, 64, 1, 128, 256}, Fading::Mixed, random);
  ASSERT_EQ(problem.run(
                findCpuKernel("ssd", Element<T>::dtype, KernelSet::Reference)),
            "");
  SsdProblem<T> plain = problem;
  ASSERT_EQ(
      problem.run(findCpuKernel("ssd", Element<T>::dtype, KernelSet::Fast)),
      "");
  if (std::is_same_v<T, BFloat16> && implementations().back().roundsFactors) {
    // Rounded factors and results of both; see expectMatches.
    EXPECT_LE(distance(problem.y, plain.y), 1.0 / 256);
    EXPECT_LE(distance(problem.finalState, plain.finalState), 1.0 / 256);
    return;
  }
  auto allowed = [](T value) {
    return tolerance<T>() * 20 + 2 * storageRounding<T>() * std::fabs(value);
  };
  for (int64_t i = 0; i < plain.y.count(); ++i)
    ASSERT_NEAR(problem.y[i], plain.y[i], allowed(plain.y[i])) << i;
  for (int64_t i = 0; i < plain.finalState.count(); ++i)
    ASSERT_NEAR(problem.finalState[i], plain.finalState[i],
                allowed(plain.finalState[i]))
        << i;
}

/// Makes `part`, which has one head, that head of `whole`.
template <typename T>
void copyHead(SsdProblem<T> &whole, int64_t head, int64_t group,
              SsdProblem<T> &part) {
  part.dtMax = whole.dtMax;
  part.dtMin = whole.dtMin;
  part.aLog(0) = whole.aLog(head);
  part.bias(0) = whole.bias(head);
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t t = 0; t < 40; ++t) {
      part.dt(b, t, 0) = whole.dt(b, t, head);
      for (int64_t i = 0; i < 9; ++i)
        part.x(b, t, 0, i) = whole.x(b, t, head, i);
      for (int64_t j = 0; j < 11; ++j) {
        part.B(b, t, 0, j) = whole.B(b, t, group, j);
        part.C(b, t, 0, j) = whole.C(b, t, group, j);
      }
    }
    for (int64_t i = 0; i < 9; ++i) {
      part.D(0, i) =
          whole.D.sizes.size() == 1 ? whole.D(head) : whole.D(head, i);
      for (int64_t j = 0; j < 11; ++j)
        part.initial(b, 0, i, j) = whole.initial(b, head, i, j);
    }
  }
}

/// One head of the plain kernel has the same bits as among the others.
TYPED_TEST(SsdTest, PlainHeadsDoNotDependOnTheirNumber) {
  using T = TypeParam;
  Random random(9);
  SsdProblem<T> whole({2, 40, 6, 9, 2, 11, 16}, Fading::Mixed, random);
  whole.hasD = whole.hasBias = whole.hasInitial = true;
  KernelFn kernel =
      findCpuKernel("ssd", Element<T>::dtype, KernelSet::Reference);
  ASSERT_EQ(whole.run(kernel), "");
  const int64_t head = 4, group = 1;
  SsdProblem<T> part({2, 40, 1, 9, 1, 11, 7}, Fading::Mixed, random);
  part.hasD = part.hasBias = part.hasInitial = true;
  part.D = Tensor<T>({1, 9}, Lay::Dense, random);
  copyHead(whole, head, group, part);
  ASSERT_EQ(part.run(kernel), "");
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < 9; ++i) {
      for (int64_t t = 0; t < 40; ++t)
        ASSERT_EQ(part.y(b, t, 0, i), whole.y(b, t, head, i));
      for (int64_t j = 0; j < 11; ++j)
        ASSERT_EQ(part.finalState(b, 0, i, j), whole.finalState(b, head, i, j));
    }
}
} // namespace
