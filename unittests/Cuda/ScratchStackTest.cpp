//===- ScratchStackTest.cpp - Memory for the length of calls --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScratchStack.h"

#include "gtest/gtest.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

using cp::kernels::cuda::ScratchStack;

namespace {

class ScratchStackTest : public testing::Test {
protected:
  void TearDown() override {
    stack.clear();
    EXPECT_TRUE(blocks.empty());
  }
  void *allocate(size_t bytes) {
    if (bytes > most)
      return nullptr;
    ++numAllocations;
    void *block = std::aligned_alloc(256, bytes);
    blocks[block] = bytes;
    return block;
  }
  void release(void *block) {
    EXPECT_EQ(blocks.erase(block), 1U);
    std::free(block);
  }
  /// A call that takes so much, writes it, and gives it back.
  void call(const std::vector<size_t> &sizes) {
    ScratchStack::Mark begin = stack.mark();
    std::vector<char *> taken;
    for (size_t size : sizes) {
      taken.push_back(static_cast<char *>(stack.allocate(size)));
      ASSERT_NE(taken.back(), nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(taken.back()) % 256, 0U);
      std::memset(taken.back(), int(taken.size()), size);
    }
    // Nobody has what another one has.
    for (size_t i = 0; i < sizes.size(); ++i)
      for (size_t byte = 0; byte < sizes[i]; ++byte)
        ASSERT_EQ(taken[i][byte], char(i + 1));
    stack.releaseTo(begin);
  }
  size_t all() const {
    size_t sum = 0;
    for (const auto &[block, bytes] : blocks)
      sum += bytes;
    return sum;
  }

  std::map<void *, size_t> blocks;
  int numAllocations = 0;
  size_t most = SIZE_MAX;
  ScratchStack stack{[this](size_t bytes) { return allocate(bytes); },
                     [this](void *block) { release(block); }};
};

} // namespace

TEST_F(ScratchStackTest, AStepLikeOneBeforeItAllocatesNothing) {
  auto step = [&] {
    call({1000, 1, 300});
    call({5000});
    call({});
    call({256, 4000, 0, 700});
  };
  step();
  // One block, of no more than the largest call has taken.
  EXPECT_EQ(blocks.size(), 1U);
  EXPECT_EQ(all(), 5376U);
  int before = numAllocations;
  step();
  step();
  EXPECT_EQ(numAllocations, before);
}

TEST_F(ScratchStackTest, CallsWithinCallsHaveTheirOwn) {
  for (int step = 0; step < 2; ++step) {
    int before = numAllocations;
    ScratchStack::Mark begin = stack.mark();
    auto *outer = static_cast<char *>(stack.allocate(100));
    std::memset(outer, 'o', 100);
    call({2000, 30});
    call({3000});
    EXPECT_EQ(std::string(outer, 100), std::string(100, 'o'));
    auto *behind = static_cast<char *>(stack.allocate(100));
    EXPECT_NE(behind, outer);
    stack.releaseTo(begin);
    EXPECT_EQ(blocks.size(), 1U);
    if (step)
      EXPECT_EQ(numAllocations, before);
  }
}

TEST_F(ScratchStackTest, WhatMustNotGrowGivesNoMore) {
  call({1000});
  int before = numAllocations;
  stack.grow(false);
  ScratchStack::Mark begin = stack.mark();
  EXPECT_NE(stack.allocate(500), nullptr);
  EXPECT_EQ(stack.allocate(1000), nullptr);
  EXPECT_NE(stack.allocate(500), nullptr);
  stack.releaseTo(begin);
  EXPECT_EQ(numAllocations, before);
  stack.grow(true);
  call({1000, 1000});
  EXPECT_EQ(blocks.size(), 1U);
}

// A graph that was captured has the addresses of then.
TEST_F(ScratchStackTest, WhatIsHeldOutlivesGrowing) {
  call({1000});
  void *first = blocks.begin()->first;
  stack.hold();
  stack.hold();
  call({1000, 3000});
  call({9000});
  EXPECT_EQ(blocks.count(first), 1U);
  int before = numAllocations;
  call({9000});
  EXPECT_EQ(numAllocations, before);
  stack.drop();
  EXPECT_EQ(blocks.count(first), 1U);
  stack.drop();
  EXPECT_EQ(blocks.count(first), 0U);
  EXPECT_EQ(blocks.size(), 1U);
  call({1000, 20000});
  EXPECT_EQ(blocks.size(), 1U);
}

TEST_F(ScratchStackTest, WhereThereIsNoMemory) {
  call({1000});
  most = 2000;
  ScratchStack::Mark begin = stack.mark();
  EXPECT_EQ(stack.allocate(4000), nullptr);
  EXPECT_NE(stack.allocate(800), nullptr);
  EXPECT_NE(stack.allocate(1500), nullptr);
  // All of it does not fit one block, but it can be had again.
  stack.releaseTo(begin);
  EXPECT_TRUE(blocks.empty());
  call({1000});
}
