//===- ArenaPlanTest.cpp - Places for buffers in one arena ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lower/ArenaPlan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace cp;

namespace {

/// Every pair that lives at one time is apart, inside the arena, and aligned.
void expectValid(const std::vector<BufferLife> &lives, const ArenaPlan &plan) {
  ASSERT_EQ(plan.offsets.size(), lives.size());
  for (size_t i = 0; i < lives.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % arenaAlignment, 0);
    EXPECT_GE(plan.offsets[i], 0);
    EXPECT_LE(plan.offsets[i] + lives[i].bytes, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      bool together =
          lives[i].first <= lives[j].last && lives[j].first <= lives[i].last;
      bool apart = plan.offsets[i] + lives[i].bytes <= plan.offsets[j] ||
                   plan.offsets[j] + lives[j].bytes <= plan.offsets[i];
      EXPECT_TRUE(!together || apart) << "buffers " << i << " and " << j;
    }
  }
}

/// The largest live set, op by op.
int64_t largestLiveSet(const std::vector<BufferLife> &lives) {
  int64_t most = 0, last = 0;
  for (const BufferLife &life : lives)
    last = std::max(last, life.last);
  for (int64_t op = 0; op <= last; ++op) {
    int64_t live = 0;
    for (const BufferLife &life : lives)
      if (life.first <= op && op <= life.last)
        live += std::max<int64_t>(1, (life.bytes + arenaAlignment - 1) /
                                         arenaAlignment) *
                arenaAlignment;
    most = std::max(most, live);
  }
  return most;
}

TEST(ArenaPlan, Nothing) {
  ArenaPlan plan = planArena({});
  EXPECT_EQ(plan.bytes, 0);
  EXPECT_EQ(plan.largestLiveSet, 0);
}

TEST(ArenaPlan, OneAfterTheOtherShareAPlace) {
  std::vector<BufferLife> lives = {{640, 0, 1}, {640, 2, 3}, {320, 4, 5}};
  ArenaPlan plan = planArena(lives);
  expectValid(lives, plan);
  EXPECT_EQ(plan.bytes, 640);
}

// An op reads one buffer and writes another: they may not share bytes.
TEST(ArenaPlan, InputAndOutputOfOneOpAreApart) {
  std::vector<BufferLife> lives = {{64, 0, 1}, {64, 1, 2}};
  ArenaPlan plan = planArena(lives);
  expectValid(lives, plan);
  EXPECT_EQ(plan.bytes, 128);
}

TEST(ArenaPlan, EmptyAndOddSizes) {
  std::vector<BufferLife> lives = {{0, 0, 3}, {1, 0, 3}, {65, 1, 2}};
  ArenaPlan plan = planArena(lives);
  expectValid(lives, plan);
  EXPECT_EQ(plan.bytes, 64 + 64 + 128);
}

TEST(ArenaPlan, RandomLives) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 engine(seed);
  auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(engine);
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<BufferLife> lives;
    for (int64_t i = 0, count = draw(1, 60); i < count; ++i) {
      int64_t first = draw(0, 80);
      lives.push_back({draw(0, 5000), first, first + draw(0, 12)});
    }
    ArenaPlan plan = planArena(lives);
    expectValid(lives, plan);
    EXPECT_EQ(plan.largestLiveSet, largestLiveSet(lives));
    EXPECT_GE(plan.bytes, plan.largestLiveSet);
  }
}

// Above the number of buffers for which both heuristics run.
TEST(ArenaPlan, ManyBuffersOfEqualLayers) {
  std::vector<BufferLife> lives;
  for (int64_t layer = 0; layer < 1500; ++layer) {
    int64_t op = 4 * layer;
    lives.push_back({4096, op, op + 4});
    lives.push_back({8192, op + 1, op + 2});
    lives.push_back({1024, op + 2, op + 3});
  }
  ArenaPlan plan = planArena(lives);
  expectValid(lives, plan);
  // As little as a few layers take, which both heuristics plan.
  ArenaPlan few = planArena(llvm::ArrayRef(lives).take_front(300));
  EXPECT_EQ(plan.bytes, few.bytes);
}

} // namespace
