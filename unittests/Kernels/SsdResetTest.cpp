//===- SsdResetTest.cpp - Scans that forget suddenly ----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A token with a large step makes a state forget what came before, and its sum
// of log decays large: what the tokens behind it fade by is the small
// difference of two such sums. Trained models do so at the ends of sentences;
// smooth random steps do not. Each form of the scan is held to what a plain
// recurrence in f64 gives.
//
//===----------------------------------------------------------------------===//

#include "SsdParts.h"

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

/// What a token fades by, as -log a, and what each 40th fades by.
struct Rates {
  double usual, reset;
};
const Rates drawnRates[] = {{1, 1},      {0.01, 100},   {0.01, 1000},
                            {0.01, 1e4}, {0.0001, 1e6}, {0.3, 80}};

/// The argument of softplus that gives `delta`.
double stepFor(double delta) {
  return delta > 30 ? delta : std::log(std::expm1(delta));
}

SsdProblem<float> drawn(const Rates &rates, int64_t chunk, Random &random) {
  SsdProblem<float> problem({1, 330, 4, 16, 2, 16, chunk}, Fading::Slow,
                            random);
  problem.dtMax = std::numeric_limits<double>::infinity();
  problem.dtMin = 0;
  problem.hasBias = false;
  for (int64_t h = 0; h < 4; ++h) {
    problem.aLog[h] = 0;
    for (int64_t t = 0; t < problem.s.l; ++t)
      problem.dt(0, t, h) =
          float(stepFor(t % 40 == 10 * h ? rates.reset : rates.usual));
  }
  return problem;
}

/// y, token by token in f64.
std::vector<double> recurrence(SsdProblem<float> &of) {
  const SsdShape &s = of.s;
  std::vector<double> y, states(size_t(s.h * s.p * s.n), 0);
  for (int64_t h = 0; h < s.h; ++h)
    for (int64_t i = 0; i < s.p; ++i)
      for (int64_t j = 0; j < s.n && of.hasInitial; ++j)
        states[size_t((h * s.p + i) * s.n + j)] = of.initial(0, h, i, j);
  for (int64_t t = 0; t < s.l; ++t)
    for (int64_t h = 0; h < s.h; ++h) {
      int64_t g = h * s.g / s.h;
      double delta = std::log1p(std::exp(-std::fabs(double(of.dt(0, t, h))))) +
                     std::fmax(double(of.dt(0, t, h)), 0);
      double decay = std::exp(-std::exp(double(of.aLog(h))) * delta);
      for (int64_t i = 0; i < s.p; ++i) {
        double sum =
            of.hasD ? double(of.D.sizes.size() == 1 ? of.D(h) : of.D(h, i)) *
                          of.x(0, t, h, i)
                    : 0;
        for (int64_t j = 0; j < s.n; ++j) {
          double &state = states[size_t((h * s.p + i) * s.n + j)];
          state = decay * state + delta * of.x(0, t, h, i) * of.B(0, t, g, j);
          sum += state * of.C(0, t, g, j);
        }
        y.push_back(sum);
      }
    }
  return y;
}

double distance(SsdProblem<float> &from, const std::vector<double> &oracle) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < oracle.size(); ++i) {
    double difference = double(from.y[int64_t(i)]) - oracle[i];
    error += difference * difference;
    norm += oracle[i] * oracle[i];
  }
  return std::sqrt(error / norm);
}

/// In parts a scan is at most half as far again from f64 as in one.
TEST(SsdResetTest, HalvesAreAsExactAsTheWhole) {
  for (const Implementation &implementation : implementations())
    for (const Rates &rates : drawnRates)
      for (int64_t chunk : {16, 64, 256}) {
        SCOPED_TRACE(testing::Message()
                     << implementation.name << ", usual " << rates.usual
                     << ", reset " << rates.reset << ", chunks of " << chunk);
        Random random(7);
        SsdProblem<float> problem = drawn(rates, chunk, random);
        std::vector<double> oracle = recurrence(problem);
        ASSERT_EQ(problem.run(implementation.find("ssd", DType::F32)), "");
        double whole = distance(problem, oracle);
        EXPECT_LE(whole, 1e-6);
        double allowed = std::fmax(1.5 * whole, 2.5e-7);
        for (int64_t cut : {15, 41, 165, 320}) {
          runInParts(problem, cut, implementation, random);
          EXPECT_LE(distance(problem, oracle), allowed) << "cut at " << cut;
        }
      }
}

/// More threads than heads cut the sequence too.
TEST(SsdResetTest, SegmentsAreAsExactAsTheWhole) {
  for (const Implementation &implementation : implementations())
    for (const Rates &rates : drawnRates) {
      SCOPED_TRACE(testing::Message()
                   << implementation.name << ", usual " << rates.usual
                   << ", reset " << rates.reset);
      Random random(7);
      SsdProblem<float> problem = drawn(rates, 256, random);
      std::vector<double> oracle = recurrence(problem);
      KernelFn kernel = implementation.find("ssd", DType::F32);
      ASSERT_EQ(problem.run(kernel), "");
      double whole = distance(problem, oracle);
      WithThreads with(9);
      ASSERT_EQ(problem.run(kernel), "");
      EXPECT_LE(distance(problem, oracle), std::fmax(1.5 * whole, 2.5e-7));
    }
}

/// exp(90) is more than any float.
template <typename T> class SsdLargestRateTest : public testing::Test {};
using Floats = testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(SsdLargestRateTest, Floats);

TYPED_TEST(SsdLargestRateTest, IsFinite) {
  Random random(3);
  SsdProblem<TypeParam> problem({1, 150, 2, 8, 1, 8, 64}, Fading::Slow, random);
  problem.dtMin = 0;
  problem.aLog[0] = TypeParam(90.0f);
  problem.aLog[1] = TypeParam(std::is_same_v<TypeParam, double> ? 800 : 90);
  // A step of 0 fades nothing, however high the rate.
  for (int64_t t = 0; t < 150; t += 3)
    problem.dt(0, t, 1) = TypeParam(-2000.0f);
  for (const Implementation &implementation : implementations()) {
    SCOPED_TRACE(implementation.name);
    auto expectFinite = [&] {
      for (int64_t i = 0; i < problem.y.count(); ++i)
        ASSERT_TRUE(std::isfinite(double(problem.y[i]))) << i;
    };
    ASSERT_EQ(
        problem.run(implementation.find("ssd", Element<TypeParam>::dtype)), "");
    expectFinite();
    std::vector<double> whole;
    for (int64_t i = 0; i < problem.y.count(); ++i)
      whole.push_back(double(problem.y[i]));
    runInParts(problem, 70, implementation, random);
    expectFinite();
    for (int64_t i = 0; i < problem.y.count(); ++i)
      ASSERT_NEAR(double(problem.y[i]), whole[size_t(i)],
                  0.02 * (1 + std::fabs(whole[size_t(i)])));
  }
}

} // namespace
