//===- LaunchTest.cpp - How many kernels a call starts --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Executor.h"
#include "SsdSupport.h"

#include <gtest/gtest.h>

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

} // namespace
