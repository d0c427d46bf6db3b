//===- LaunchTest.cpp - How many kernels a call starts --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "Executor.h"
#include "SsdSupport.h"

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
