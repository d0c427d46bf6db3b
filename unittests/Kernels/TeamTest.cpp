//===- TeamTest.cpp - Work shared between threads -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Team.h"

#include "OpCalls.h"
#include "Scratch.h"

#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <pthread.h>
#include <set>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

TEST(TeamTest, EveryItemIsTakenOnce) {
  for (int64_t threads : {1, 2, 3, 7}) {
    WithThreads with(threads);
    for (int64_t count : {0, 1, 2, 5, 1000}) {
      std::vector<std::atomic<int>> taken(size_t(count) + 1);
      EXPECT_EQ(share(count, INT64_MAX,
                      [&](Items &items) -> const char * {
                        for (int64_t i; items.take(i);)
                          ++taken[size_t(i)];
                        return nullptr;
                      }),
                nullptr);
      for (int64_t i = 0; i < count; ++i)
        EXPECT_EQ(taken[size_t(i)], 1);
      EXPECT_EQ(taken[size_t(count)], 0);
    }
  }
}

TEST(TeamTest, SeveralItemsAreTakenTogetherAndFewerAtTheEnd) {
  for (int64_t threads : {1, 2, 3, 7})
    for (int64_t count : {0, 1, 2, 5, 1000}) {
      Items items(count, threads);
      int64_t next = 0, last = 8, first;
      while (int64_t some = items.takeSome(8, first)) {
        EXPECT_EQ(first, next);
        EXPECT_LE(some, last);
        next += last = some;
      }
      EXPECT_EQ(next, count);
      EXPECT_EQ(last, count == 0 ? 8 : threads > 1 ? 1 : (count - 1) % 8 + 1);
    }
}

/// How many threads take part in work of this size.
size_t numAtWork(int64_t count, int64_t cost) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  share(count, cost, [&](Items &) -> const char * {
    std::lock_guard<std::mutex> lock(mutex);
    seen.insert(std::this_thread::get_id());
    return nullptr;
  });
  return seen.size();
}

TEST(TeamTest, AllThreadsWorkUnlessThereIsLittle) {
  WithThreads with(3);
  EXPECT_EQ(numAtWork(100, INT64_MAX), 3u);
  EXPECT_EQ(numAtWork(1, INT64_MAX), 1u);
  EXPECT_EQ(numAtWork(100, leastShare), 1u);
}

TEST(TeamTest, SharedWorkSharesNoFurther) {
  WithThreads with(2);
  std::atomic<int> taken{0};
  share(4, INT64_MAX, [&](Items &items) -> const char * {
    for (int64_t i; items.take(i);)
      share(3, INT64_MAX, [&](Items &inner) -> const char * {
        for (int64_t j; inner.take(j);)
          ++taken;
        return nullptr;
      });
    return nullptr;
  });
  EXPECT_EQ(taken, 12);
}

TEST(TeamTest, WakesWhoHasParked) {
  WithThreads with(2);
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(numAtWork(2, INT64_MAX), 2u);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// How many of four threads take part, in a process whose memory has room for
/// the stacks of `stacks` more.
[[noreturn]] void exitWithNumAtWork(rlim_t stacks) {
  pthread_attr_t attributes;
  size_t stackBytes = 0;
  pthread_attr_init(&attributes);
  pthread_attr_getstacksize(&attributes, &stackBytes);
  std::FILE *sizes = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  if (!sizes || std::fscanf(sizes, "%lu", &pages) != 1)
    std::exit(100);
  rlim_t bytes = pages * rlim_t(sysconf(_SC_PAGESIZE)) + stacks * stackBytes +
                 stackBytes / 2;
  rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
  setNumThreads(4);
  std::exit(int(numAtWork(100, INT64_MAX)));
}

TEST(TeamTest, FewerThreadsWhereThereAreNoMore) {
  if (CP_SANITIZED)
    GTEST_SKIP() << "a sanitizer's own memory has no such limit";
  // A process of its own, which keeps no stacks of threads that have ended.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exitWithNumAtWork(0), testing::ExitedWithCode(1), "");
  EXPECT_EXIT(exitWithNumAtWork(2), testing::ExitedWithCode(3), "");
}

TEST(TeamTest, FailuresAndAllocationsReachTheCaller) {
  WithThreads with(3);
  // One byte more in each round: every thread's buffer grows.
  size_t bytes = 1 << 24;
  for (bool fails : {true, false}) {
    bytes *= 2;
    int64_t before = numScratchAllocations();
    const char *message =
        share(3, INT64_MAX, [&](Items &items) -> const char * {
          scratch(Slot::Kernel, bytes);
          int64_t i;
          return items.take(i) && fails ? "failed" : nullptr;
        });
    EXPECT_STREQ(message ? message : "", fails ? "failed" : "");
    EXPECT_EQ(numScratchAllocations() - before, 3);
  }
}

const int64_t inf = bitsOf(std::numeric_limits<double>::infinity());

/// Large enough to be shared. Odd sizes; more than one block of everything that
/// a kernel cuts.
const std::vector<OpCall> sharedCalls = {
    {"matmul", {{600, 70}, {90, 70}}, {{600, 90}}, {0, 1}},
    {"matmul", {{1100, 70}, {90, 70}}, {{1100, 90}}, {0, 1}},
    {"matmul", {{3, 700}, {700, 1203}}, {{3, 1203}}, {0, 0}},
    {"conv1d",
     {{2, 300, 333}, {333, 4}, {333}, {2, 3, 333}},
     {{2, 300, 333}},
     {1}},
    {"rms_norm",
     {{700, 330}, {330}, {700, 330}},
     {{700, 330}},
     {bitsOf(1e-5), 1, 2}},
    {"ssd",
     {{1, 150, 6, 33},
      {1, 150, 6},
      {6},
      {1, 150, 2, 17},
      {1, 150, 2, 17},
      {6},
      {6},
      {1, 6, 33, 17}},
     {{1, 150, 6, 33}, {1, 6, 33, 17}},
     {64, inf, 0}},
    {"ssd_states",
     {{1, 300, 7, 33}, {1, 300, 7}, {7}, {1, 300, 1, 17}, {7}},
     {{1, 7}, {1, 7, 33, 17}, {1, 4, 7, 33, 17}, {1, 300, 7}},
     {80, inf, 0},
     SIZE_MAX,
     0},
    {"ssd_scan",
     {{1, 150, 7, 33},
      {7},
      {1, 150, 1, 17},
      {1, 150, 1, 17},
      {7},
      {1, 2, 7, 33, 17},
      {1, 150, 7},
      {1, 7},
      {1, 7, 33, 17}},
     {{1, 150, 7, 33}, {1, 7, 33, 17}},
     {80},
     5,
     1},
    {"attention",
     {{1, 200, 6, 20}, {1, 200, 3, 20}, {1, 200, 3, 10}},
     {{1, 200, 6, 10}, {1, 6, 200}},
     {1, bitsOf(0.2), 0, 3, 0, 200, 1, 3, 0, 200, 1},
     SIZE_MAX,
     1},
};

template <typename T> class TeamKernelTest : public testing::Test {};
using Floats = testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(TeamKernelTest, Floats);

TYPED_TEST(TeamKernelTest, NumberOfThreadsChangesNoBit) {
  for (const OpCall &shared : sharedCalls)
    for (const Implementation &implementation : implementations()) {
      SCOPED_TRACE(testing::Message()
                   << shared.op << " " << implementation.name);
      KernelFn kernel =
          implementation.find(shared.op, Element<TypeParam>::dtype);
      std::string expected;
      for (int64_t threads : {1, 2, 3, 5}) {
        WithThreads with(threads);
        Tensors<TypeParam> ins(shared.ins, shared.firstSumIn, 1);
        Tensors<TypeParam> outs(shared.outs, shared.firstSumOut, 2);
        ASSERT_EQ(
            test::run(kernel, ins.buffers(), outs.buffers(), shared.attrs), "");
        if (threads == 1)
          expected = outs.bytes();
        ASSERT_TRUE(outs.bytes() == expected) << threads << " threads";
      }
    }
}

} // namespace
