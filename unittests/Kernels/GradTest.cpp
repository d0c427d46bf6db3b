//===- GradTest.cpp - Adjoints against finite differences -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Documents.h"
#include "GradProblems.h"

#include <gtest/gtest.h>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

TEST(GradTest, Conv1d) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem problem = convProblem(random, Extent::Small);
    problem.differentiate(random);
    problem.check();
  }
}

TEST(GradTest, RmsNorm) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem problem = normProblem(random, Extent::Small);
    problem.differentiate(random);
    problem.check();
  }
}

TEST(GradTest, Embedding) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem problem = embeddingProblem(random, Extent::Small);
    problem.differentiate(random);
    problem.check();
  }
}

TEST(GradTest, Ssd) {
  int checked = 0;
  for (Decay decay : {Decay::Slow, Decay::Strong, Decay::Resets})
    for (uint64_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(testing::Message()
                   << "seed " << seed << ", decay " << int(decay));
      Random random(seed);
      Problem problem = ssdProblem(random, decay, Extent::Small);
      if (isNearLimit(problem))
        continue;
      ++checked;
      problem.differentiate(random);
      problem.check();
    }
  EXPECT_GT(checked, 60);
}

/// What a rank's tokens alone pass back to the state in front of them is what
/// the whole adjoint does where nothing is behind them.
TEST(GradTest, SsdStates) {
  for (Decay decay : {Decay::Slow, Decay::Strong, Decay::Resets})
    for (uint64_t seed = 0; seed < 30; ++seed) {
      SCOPED_TRACE(testing::Message()
                   << "seed " << seed << ", decay " << int(decay));
      Random random(seed);
      Problem problem = ssdProblem(random, decay, Extent::Small);
      problem.gradIns[9] = "nothing";
      problem.differentiate(random);
      Doubles &want = problem.gradients["dinitial"];
      Doubles got(want.sizes, pickLay(random), random);
      ASSERT_EQ(test::run(findCpuKernel("ssd_grad_states", DType::F64,
                                        KernelSet::Reference),
                          problem.buffersOf(
                              {"y", "dt", "A_log", "C", "dt_bias", "places"}),
                          {got.buffer()}, problem.attrs),
                "");
      EXPECT_TRUE(got.isIntact());
      for (int64_t i = 0; i < want.count(); ++i)
        ASSERT_NEAR(got[i], want[i], 1e-12 * (1 + std::fabs(want[i]))) << i;
    }
}

TEST(GradTest, Attention) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem problem = attentionProblem(random, Extent::Small);
    problem.differentiate(random);
    problem.check();
  }
}

/// What is not a number in one document reaches no gradient of another's.
TEST(GradTest, DocumentsKeepToThemselves) {
  for (bool isScan : {false, true}) {
    SCOPED_TRACE(isScan ? "ssd" : "conv1d");
    Random random(3);
    Problem problem;
    do
      problem = isScan ? ssdProblem(random, Decay::Slow, Extent::Small)
                       : convProblem(random, Extent::Small);
    while (problem.tensors["x"].sizes[1] < 9 || problem.hasPlaces);
    int64_t b = problem.tensors["x"].sizes[0];
    problem.hasPlaces = true;
    problem.places = Tensor<int64_t>({b, 9}, Lay::Dense, random);
    for (int64_t row = 0; row < b; ++row)
      for (int64_t t = 0; t < 9; ++t)
        problem.places(row, t) = t % 3;
    problem.differentiate(random);
    std::map<std::string, Doubles> before = problem.gradients;
    Doubles &x = problem.tensors["x"];
    int64_t eachRow = x.count() / (b * 9);
    for (int64_t t = 3; t < 6; ++t)
      for (int64_t i = 0; i < eachRow; ++i)
        x[t * eachRow + i] = std::numeric_limits<double>::quiet_NaN();
    problem.differentiate(random);
    for (int64_t i = 0; i < x.count(); ++i)
      if (i / eachRow < 3 || i / eachRow >= 6)
        EXPECT_EQ(problem.gradients["dx"][i], before["dx"][i]) << i;
  }
}

} // namespace
