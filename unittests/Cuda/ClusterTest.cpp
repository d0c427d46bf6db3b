//===- ClusterTest.cpp - Blocks that share what they load -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the executor sees of clusters, in kernels with one mistake each.
//
//===----------------------------------------------------------------------===//

#include "Cluster.h"
#include "Launch.h"

#include <gmock/gmock.h>

using namespace cp::kernels;
using namespace cp::kernels::cuda;
using testing::HasSubstr;

namespace {

struct Memory {
  alignas(16) float values[8];
  Arrivals arrivals;
};

/// Runs `body` as two blocks of a warp each.
template <typename Body> std::string runTwo(const Body &body) {
  const char *message =
      exec::run("test", {2, 1, 1, 2}, 32, sizeof(Memory), body);
  return message ? message : "";
}

void meetCluster() {
  arriveAtCluster();
  waitForCluster();
}

Memory &prepared() {
  Memory &memory = shared<Memory>();
  if (thread() == 0)
    setArrivals(&memory.arrivals);
  meetCluster();
  return memory;
}

/// Each block gives both of them four of eight numbers.
class ClusterTest : public testing::Test {
protected:
  void share(Memory &memory, int announced = 32) {
    if (thread())
      return;
    announce(&memory.arrivals, announced);
    int first = rankInCluster() * 4;
    copyToCluster(memory.values + first, from + first, 16, &memory.arrivals, 2);
  }

  alignas(16) float from[8] = {1, 2, 3, 4, 5, 6, 7, 8};
};

TEST_F(ClusterTest, WhatIsCopiedIsThereWhenItWasWaitedFor) {
  int early = 0, wrong = 0;
  EXPECT_EQ(runTwo([&] {
              Memory &memory = prepared();
              share(memory);
              if (thread() == 0)
                early += !std::isnan(
                    sharedLoad(memory.values + rankInCluster() * 4));
              waitForArrivals(&memory.arrivals, false);
              for (int i = 0; i < 8; ++i)
                wrong += sharedLoad(memory.values + i) != float(i + 1);
            }),
            "");
  EXPECT_EQ(early, 0);
  EXPECT_EQ(wrong, 0);
}

/// In phases, whose bytes may come before they are announced.
TEST_F(ClusterTest, PhasesFollowEachOther) {
  int wrong = 0;
  EXPECT_EQ(runTwo([&] {
              Memory &memory = prepared();
              for (int phase = 0; phase < 3; ++phase) {
                if (thread() == 0)
                  copyToCluster(memory.values + rankInCluster() * 4,
                                from + phase % 2 * 4, 16, &memory.arrivals, 2);
                if (thread() == 5)
                  announce(&memory.arrivals, 32);
                waitForArrivals(&memory.arrivals, phase % 2);
                for (int i = 0; i < 8; ++i)
                  wrong += sharedLoad(memory.values + i) !=
                           float(phase % 2 * 4 + i % 4 + 1);
                meetCluster();
              }
            }),
            "");
  EXPECT_EQ(wrong, 0);
}

/// A barrier of the block says nothing of what another block reads.
TEST_F(ClusterTest, ABarrierOfTheClusterIsBetweenReadsAndCopies) {
  int reads = 0, copies = 0;
  auto run = [&](auto between) {
    return runTwo([&, between] {
      Memory &memory = prepared();
      reads = __LINE__ + 1;
      (void)sharedLoad(&memory.values[thread() % 8]);
      between();
      copies = __LINE__ + 2;
      if (thread() == 0 && rankInCluster() == 0)
        copyToCluster(memory.values, from, 32, &memory.arrivals, 2);
      if (thread() == 0)
        announce(&memory.arrivals, 32);
      waitForArrivals(&memory.arrivals, false);
    });
  };
  std::string message = run([] { barrier(); });
  EXPECT_THAT(message, HasSubstr("a race on byte 0: a block of the cluster "
                                 "copies to it in line " +
                                 std::to_string(copies)));
  EXPECT_THAT(message, HasSubstr("reads in line " + std::to_string(reads)));
  EXPECT_THAT(message, HasSubstr("no barrier of the cluster is between them"));
  // Half of one is none.
  EXPECT_THAT(run([] { arriveAtCluster(); }), HasSubstr("a race on byte 0"));
  EXPECT_EQ(run([] { meetCluster(); }), "");
}

TEST_F(ClusterTest, HalvesOfBarriersTakeTurns) {
  EXPECT_THAT(runTwo([] {
                arriveAtCluster();
                arriveAtCluster();
              }),
              HasSubstr("has not passed the one before"));
  EXPECT_THAT(runTwo([] { waitForCluster(); }),
              HasSubstr("that it has not come to"));
  EXPECT_THAT(runTwo([] {
                if (rankInCluster())
                  meetCluster();
              }),
              HasSubstr("of block 1 of the cluster thread 0 in line"));
}

TEST_F(ClusterTest, ArrivalsAreSetAndAnnouncedAndWaitedFor) {
  auto prepare = [this](int announced) {
    return runTwo([=] {
      Memory &memory = prepared();
      share(memory, announced);
      waitForArrivals(&memory.arrivals, false);
    });
  };
  EXPECT_EQ(prepare(32), "");
  EXPECT_THAT(prepare(48), HasSubstr("threads wait for others"));
  EXPECT_THAT(runTwo([this] { share(shared<Memory>()); }),
              HasSubstr("have not been set"));
  EXPECT_THAT(runTwo([this] {
                Memory &memory = prepared();
                share(memory);
                if (rankInCluster())
                  waitForArrivals(&memory.arrivals, false);
              }),
              HasSubstr("has not waited for what is copied to it"));
  EXPECT_THAT(runTwo([] {
                Memory &memory = prepared();
                announce(&memory.arrivals, 32);
              }),
              HasSubstr("before those that were have come"));
}

TEST_F(ClusterTest, CopiesAreAlignedAndWithinTheCluster) {
  auto copy = [this](int first, int bytes, int blocks) {
    return runTwo([=] {
      Memory &memory = prepared();
      copyToCluster(memory.values, from + first, bytes, &memory.arrivals,
                    blocks);
    });
  };
  EXPECT_THAT(copy(1, 16, 2), HasSubstr("is not aligned"));
  EXPECT_THAT(copy(0, 8, 2), HasSubstr("is not aligned"));
  EXPECT_THAT(copy(0, 16, 3), HasSubstr("is to 3 blocks, of 2"));
  EXPECT_THAT(copy(0, 64, 2), HasSubstr("is outside of shared memory"));
}

TEST_F(ClusterTest, GridsAreWholeClusters) {
  EXPECT_STREQ(exec::run("test", {3, 1, 1, 2}, 32, 0, [] {}),
               "test: 3 blocks are not clusters of 2");
  EXPECT_STREQ(exec::run("test", {16, 1, 1, 16}, 32, 0, [] {}),
               "test: 16 blocks are not clusters of 16");
}

} // namespace
