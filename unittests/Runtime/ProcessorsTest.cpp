//===- ProcessorsTest.cpp - What ranks of a machine share -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Runtime/Processors.h"

#include "gtest/gtest.h"

#include <thread>

using cp::Processors;

TEST(ProcessorsTest, AThreadThatIsBoundMayUseOne) {
  Processors before = Processors::ofThisProcess();
  EXPECT_GE(before.all, before.allowed);
  EXPECT_GE(before.allowed, 1);
  std::thread([&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(::sched_getcpu(), &set);
    ASSERT_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
    Processors bound = Processors::ofThisProcess();
    EXPECT_EQ(bound.all, before.all);
    EXPECT_EQ(bound.allowed, 1);
  }).join();
}

TEST(ProcessorsTest, Shares) {
  Processors free = {/*all=*/16, /*allowed=*/16};
  EXPECT_EQ(free.shareInProcess(1), 16);
  EXPECT_EQ(free.shareInProcess(3), 5);
  EXPECT_EQ(free.shareInProcess(32), 1);
  EXPECT_EQ(free.shareInJob(4), 4);
  EXPECT_EQ(free.shareInJob(32), 1);
  Processors bound = {/*all=*/16, /*allowed=*/2};
  EXPECT_EQ(bound.shareInProcess(1), 2);
  EXPECT_EQ(bound.shareInProcess(2), 1);
  EXPECT_EQ(bound.shareInJob(4), 2);
  EXPECT_EQ(bound.shareInJob(16), 1);
}
