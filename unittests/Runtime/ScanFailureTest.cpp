//===- ScanFailureTest.cpp - What goes wrong during a scan ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every algorithm waits in its own places. Whatever the moment, all ranks come
// back with a typed error in time, and a new world works. What scans share with
// all collectives is in CollectiveFailureTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace cp::test;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

namespace {

constexpr int64_t deadlineMs = 100;
constexpr int64_t numRanks = 5;

/// `order` 0 contiguous, 1 zigzag.
struct Way {
  int64_t algorithm, order;
};

struct ScanFailure : testing::TestWithParam<std::tuple<int64_t, int64_t>> {
  using Body = std::function<void(int64_t rank, cprt_context *)>;

  /// One scan, large enough for several blocks where `states` is.
  static void scan(cprt_context *context, Way way, int64_t states = 2) {
    int64_t parts = way.order + 1;
    Tensor decay(CPRT_F32, Sizes{parts}), state(CPRT_F32, {parts, states});
    Tensor outDecay(CPRT_F32, Sizes{parts});
    Tensor outState(CPRT_F32, {parts, states});
    Call call;
    call.in(decay).in(state).out(outDecay).out(outState);
    call.attr(way.algorithm).array({0}).attr(way.order).attr(0).attr(0);
    call.run(cprt_scan_state, context);
  }
  static Way way() {
    return {std::get<0>(GetParam()), std::get<1>(GetParam())};
  }

  /// Runs `body` to its end in time, then the same scan in a new world.
  void run(const Body &body) {
    Clock::time_point start = Clock::now();
    world.run([&](int64_t rank, cprt_context *context) {
      body(rank, context);
      meetAll(context, {numRanks});
    });
    EXPECT_LT(Clock::now() - start, Milliseconds(deadlineMs + 1000));
    World fresh({numRanks});
    fresh.run([](int64_t, cprt_context *context) { scan(context, way()); });
    EXPECT_EQ(fresh.failures(), "");
  }

  void expect(cprt_status status) {
    for (int64_t rank = 0; rank < numRanks; ++rank)
      EXPECT_STREQ(cprt_status_name(cprt_context_status(world.context(rank))),
                   cprt_status_name(status))
          << "rank " << rank << ": "
          << cprt_context_message(world.context(rank));
  }

  World world{{numRanks}, deadlineMs};
};

std::string nameOf(const testing::TestParamInfo<ScanFailure::ParamType> &info) {
  const char *const names[] = {"Chain", "Gather", "Doubling", "Pipelined",
                               "Transposed"};
  return std::string(std::get<1>(info.param) ? "Zigzag" : "") +
         names[std::get<0>(info.param)];
}

} // namespace

TEST_P(ScanFailure, RankWithAnotherAlgorithm) {
  run([](int64_t rank, cprt_context *context) {
    Way mine = way();
    if (rank == 4)
      mine.algorithm = (mine.algorithm + 1) % 5;
    scan(context, mine);
  });
  expect(CPRT_MISMATCH);
}

TEST_P(ScanFailure, RankWithAnotherOrder) {
  run([](int64_t rank, cprt_context *context) {
    Way mine = way();
    if (rank == 4)
      mine.order = 1 - mine.order;
    scan(context, mine);
  });
  expect(CPRT_MISMATCH);
}

/// Failed from outside while it and its peers hand blocks on: some ranks are
/// between two waits, some in one.
TEST_P(ScanFailure, RankThatIsFailedAtARandomMoment) {
  uint64_t seed = testSeed();
  SCOPED_TRACE(testing::Message() << "CP_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 5; ++round) {
    World busy({numRanks}, 5000);
    std::atomic<int64_t> numScans{0};
    uint64_t delay = random() % 2000;
    std::thread outside([&] {
      while (numScans < numRanks)
        std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::microseconds(delay));
      cprt_context_fail(busy.context(round), CPRT_OUT_OF_MEMORY, "now");
    });
    busy.run([&](int64_t, cprt_context *context) {
      while (cprt_context_status(context) == CPRT_OK) {
        scan(context, way(), 20'000);
        ++numScans;
      }
    });
    outside.join();
    for (int64_t rank = 0; rank < numRanks; ++rank)
      EXPECT_EQ(cprt_context_status(busy.context(rank)),
                rank == round ? CPRT_OUT_OF_MEMORY : CPRT_PEER_FAILED);
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, ScanFailure,
                         testing::Combine(testing::Range<int64_t>(0, 5),
                                          testing::Range<int64_t>(0, 2)),
                         nameOf);
