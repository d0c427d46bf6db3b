//===- RingFailureTest.cpp - Rings that break while blocks go round -------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What rings share with all collectives is in CollectiveFailureTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace cp::test;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int64_t numRanks = 5, deadlineMs = 5000;

/// Contiguous and causal: the first ranks have little to do and wait for the
/// last ones.
void attend(cprt_context *context) {
  Sizes sizes = {1, 64, 2, 16};
  Array numbers(sizes);
  Tensor q(CPRT_F32, numbers), k(CPRT_F32, numbers), v(CPRT_F32, numbers),
      o(CPRT_F32, sizes), lse(CPRT_F32, Sizes{1, 2, 64});
  Call call;
  call.in(q).in(k).in(v).out(o).out(lse).array({0}).attr(1).array({0});
  call.attr(0).attr(0).run(cprt_ring_attention, context);
}

} // namespace

/// Failed from outside while it and its peers hand blocks on: some ranks are at
/// work, some wait for a block. None waits for the deadline.
TEST(RingFailure, RankThatIsFailedAtARandomMoment) {
  uint64_t seed = testSeed();
  SCOPED_TRACE(testing::Message() << "CP_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    int64_t culprit = round % numRanks;
    World busy({numRanks}, deadlineMs);
    std::atomic<int64_t> numRings{0};
    uint64_t delay = random() % 2000;
    Clock::time_point failed;
    std::thread outside([&] {
      while (numRings < numRanks)
        std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::microseconds(delay));
      failed = Clock::now();
      cprt_context_fail(busy.context(culprit), CPRT_OUT_OF_MEMORY, "now");
    });
    busy.run([&](int64_t, cprt_context *context) {
      while (cprt_context_status(context) == CPRT_OK) {
        attend(context);
        ++numRings;
      }
    });
    outside.join();
    EXPECT_LT(Clock::now() - failed, std::chrono::milliseconds(deadlineMs / 2));
    for (int64_t rank = 0; rank < numRanks; ++rank)
      EXPECT_EQ(cprt_context_status(busy.context(rank)),
                rank == culprit ? CPRT_OUT_OF_MEMORY : CPRT_PEER_FAILED);
  }
}
