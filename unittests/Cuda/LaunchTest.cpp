//===- LaunchTest.cpp - How many kernels a call starts --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "Executor.h"
#include "SsdSupport.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <thread>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

int64_t launchesOf(const SsdShape &shape, bool hasInitial) {
  Random random(1);
  SsdProblem<BFloat16> problem(shape, Fading::Mixed, random);
  problem.hasInitial = hasInitial;
  int64_t before = cuda::exec::launches();
  EXPECT_EQ(problem.run(implementations().back().find("ssd", DType::BF16)), "");
  return cuda::exec::launches() - before;
}

/// Steps and tiles; one more where a state comes in, and three where the
/// sequence is cut.
TEST(LaunchTest, OfAScan) {
  EXPECT_EQ(launchesOf({1, 64, 20, 8, 1, 8, 64}, false), 2);
  EXPECT_EQ(launchesOf({1, 64, 20, 8, 1, 8, 64}, true), 3);
  EXPECT_EQ(launchesOf({1, 600, 1, 8, 1, 8, 64}, true), 5);
}

/// Of few words more tokens than a grid has rows have logits at once.
TEST(LaunchTest, LossOfMoreTokensThanAGridHasRows) {
  constexpr int64_t tokens = 65600;
  Random random(1);
  Tensor<float> h({1, tokens, 1}, Lay::Dense, random),
      weight({2, 1}, Lay::Dense, random), loss({1, tokens}, Lay::Dense, random),
      lse = loss, dloss = loss, dh = h, dweight = weight;
  h.fill(random, -2, 2);
  weight.fill(random, -1, 1);
  dloss.fill(random, -1, 1);
  Tensor<int32_t> labels({1, tokens}, Lay::Dense, random);
  for (int64_t t = 0; t < tokens; ++t)
    labels[t] = int32_t(t % 2);
  const Implementation &cuda = implementations().back();
  ASSERT_EQ(run(plainImplementation().find("linear_cross_entropy", DType::F32),
                {h.buffer(), weight.buffer(), labels.buffer()},
                {loss.buffer(), lse.buffer()}, {-100, 0}),
            "");
  ASSERT_EQ(run(cuda.find("linear_cross_entropy_grad", DType::F32),
                {h.buffer(), weight.buffer(), labels.buffer(), absent,
                 lse.buffer(), dloss.buffer(), absent},
                {dh.buffer(), dweight.buffer()}, {-100, 0}),
            "");
  for (int64_t t = 0; t < tokens; ++t) {
    // Of two words the other one's share.
    double apart = double(weight[1]) - double(weight[0]);
    double sign = labels[t] ? -1 : 1;
    double share = 1 / (1 + std::exp(-sign * apart * double(h[t])));
    ASSERT_NEAR(dh[t], sign * apart * share * double(dloss[t]), 1e-5) << t;
  }
}

/// What threads that begin now, as ranks do, take of the environment.
TEST(LaunchTest, ThreadsTakeFormsOfTheEnvironment) {
  auto expect = [](const char *clusters, const char *warpgroups, int limit,
                   bool byWarpgroups) {
    setenv("CP_CUDA_CLUSTERS", clusters, 1);
    setenv("CP_CUDA_WARPGROUPS", warpgroups, 1);
    std::thread([=] {
      EXPECT_EQ(cuda::clusterLimit(), limit) << clusters;
      EXPECT_EQ(cuda::multipliesByWarpgroups(), byWarpgroups) << warpgroups;
    }).join();
    unsetenv("CP_CUDA_CLUSTERS");
    unsetenv("CP_CUDA_WARPGROUPS");
  };
  expect("1", "1", 1, true);
  expect("6", "0", 4, false);
  expect("100", "", 8, false);
  std::thread([] {
    EXPECT_EQ(cuda::clusterLimit(), 8);
    EXPECT_FALSE(cuda::multipliesByWarpgroups());
  }).join();
}

} // namespace
