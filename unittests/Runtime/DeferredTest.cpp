//===- DeferredTest.cpp - Calls that go on while a rank computes ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include "Mailbox.h"
#include "cp/Runtime/cprt_history.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <chrono>
#include <thread>

using namespace cp::test;
using std::chrono::milliseconds;
using testing::HasSubstr;

namespace {

constexpr int64_t numRanks = 3;

/// A sum over all ranks, with an id of its own.
struct Sum {
  Tensor in, out;
  Call call;

  Sum(int64_t id, int64_t rank, int64_t size)
      : in(CPRT_F64, filled(size, double(id * 100 + rank))),
        out(CPRT_F64, Sizes{size}), call(id) {
    call.in(in).out(out).array({0});
  }
  static Array filled(int64_t size, double value) {
    Array array(Sizes{size});
    std::fill(array.values.begin(), array.values.end(), value);
    return array;
  }
  void make(cprt_context *context) { call.run(cprt_all_reduce, context); }
  /// What is handed over is gone when this returns.
  void begin(cprt_context *context) {
    table = call.table();
    std::vector<void *> pointers = call.pointers();
    cprt_begin(context, nullptr, table.data(), pointers.data(),
               cprt_all_reduce);
    std::fill(pointers.begin(), pointers.end(), nullptr);
  }
  void wait(cprt_context *context) {
    Call outs;
    outs.out(out);
    cprt_wait(context, nullptr, outs.table().data(), outs.pointers().data());
  }
  Array expected(int64_t id) const {
    double sum = 0;
    for (int64_t rank = 0; rank < numRanks; ++rank)
      sum += double(id * 100 + rank);
    return filled(out.sizes[0], sum);
  }

private:
  std::vector<int64_t> table;
};

void gather(cprt_context *context, int64_t id) {
  Tensor in(CPRT_F64, Sum::filled(2, double(id))),
      out(CPRT_F64, Sizes{2 * numRanks});
  Call(id).in(in).out(out).array({0}).attr(0).attr(0).run(cprt_all_gather,
                                                          context);
  EXPECT_EQ(out.read(), Sum::filled(2 * numRanks, double(id)));
}

} // namespace

/// Other calls are made meanwhile, and waits come in another order than calls.
TEST(Deferred, CallsGiveWhatTheyGiveAtOnce) {
  World atOnce({numRanks}), deferred({numRanks});
  atOnce.run([&](int64_t rank, cprt_context *context) {
    for (int64_t id = 1; id <= 4; ++id)
      Sum(id, rank, 5000).make(context);
    gather(context, 9);
  });
  for (int64_t round = 0; round < 50; ++round)
    deferred.run([&](int64_t rank, cprt_context *context) {
      cprt_context_reset_counters(context);
      Sum a(1, rank, 5000), b(2, rank, 5000), c(3, rank, 5000),
          d(4, rank, 5000);
      a.begin(context);
      b.begin(context);
      gather(context, 9);
      b.wait(context);
      EXPECT_EQ(a.out.read(), a.expected(1));
      EXPECT_EQ(b.out.read(), b.expected(2));
      c.begin(context);
      a.wait(context);
      d.make(context);
      c.wait(context);
      EXPECT_EQ(c.out.read(), c.expected(3));
      EXPECT_EQ(d.out.read(), d.expected(4));
    });
  EXPECT_EQ(atOnce.failures() + deferred.failures(), "");
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    cprt_counter expected = atOnce.counter(rank, "all_reduce", 1),
                 got = deferred.counter(rank, "all_reduce", 1);
    EXPECT_EQ(got.calls, 4);
    EXPECT_EQ(got.calls, expected.calls);
    EXPECT_EQ(got.bytes_sent, expected.bytes_sent);
  }
}

/// Two messages after each other, whose way is shorter than the work.
TEST(Deferred, SumsTravelWhileTheRankWorks) {
  constexpr milliseconds way{30};
  double least = INFINITY;
  for (int attempt = 0; attempt < 20 && least > 0.03; ++attempt) {
    World world({numRanks}, Mailbox(numRanks, testSeed(), way));
    world.run([&](int64_t rank, cprt_context *context) {
      Sum sum(1, rank, 5000);
      sum.begin(context);
      std::this_thread::sleep_for(5 * way);
      sum.wait(context);
      EXPECT_EQ(sum.out.read(), sum.expected(1));
    });
    EXPECT_EQ(world.failures(), "");
    for (int64_t rank = 0; rank < numRanks; ++rank)
      least =
          std::min(least, world.counter(rank, "all_reduce", 1).exposed_seconds);
  }
  EXPECT_LT(least, 0.03);
}

/// Otherwise they are the rank's loss.
TEST(Deferred, SumsThatAreWaitedForAreExposed) {
  constexpr milliseconds way{30};
  World world({numRanks}, Mailbox(numRanks, testSeed(), way));
  world.run([&](int64_t rank, cprt_context *context) {
    Sum begun(1, rank, 5000);
    begun.begin(context);
    begun.wait(context);
    gather(context, 2);
  });
  EXPECT_EQ(world.failures(), "");
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    EXPECT_GE(world.counter(rank, "all_reduce", 1).exposed_seconds, 0.06);
    EXPECT_GE(world.counter(rank, "all_gather", 1).exposed_seconds, 0.03);
  }
}

TEST(Deferred, StandInTheHistoryWithTheirOwnTimes) {
  constexpr milliseconds way{10};
  World world({numRanks}, Mailbox(numRanks, testSeed(), way));
  world.run([&](int64_t rank, cprt_context *context) {
    Sum sum(1, rank, 5000);
    sum.begin(context);
    gather(context, 2);
    sum.wait(context);
  });
  ASSERT_EQ(world.failures(), "");
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    cprt_record records[3];
    ASSERT_EQ(cprt_context_history(world.context(rank), records, 3), 2u);
    bool isFirst = records[0].is_deferred;
    const cprt_record &sum = records[isFirst ? 0 : 1],
                      &gather = records[isFirst ? 1 : 0];
    EXPECT_EQ(sum.id, 1);
    EXPECT_EQ(sum.is_deferred, 1);
    EXPECT_GE(sum.seconds, 0.01);
    EXPECT_EQ(sum.bytes_sent, world.counter(rank, "all_reduce", 1).bytes_sent);
    // In which the rank waited for it.
    EXPECT_GT(sum.exposed_seconds, 0);
    EXPECT_NEAR(sum.exposed_seconds,
                world.counter(rank, "all_reduce", 1).exposed_seconds, 1e-8);
    EXPECT_EQ(gather.id, 2);
    EXPECT_EQ(gather.is_deferred, 0);
  }
}

TEST(Deferred, NothingIsAllocatedTwice) {
  World world({numRanks});
  world.run([&](int64_t rank, cprt_context *context) {
    for (int step = 0; step < 3; ++step) {
      cprt_context_reset_counters(context);
      Sum sum(1, rank, 5000);
      sum.begin(context);
      sum.wait(context);
      EXPECT_EQ(cprt_context_allocations(context) > 0, step == 0);
    }
  });
  EXPECT_EQ(world.failures(), "");
}

TEST(Deferred, RankThatStaysAwayIsTheFailureOfThoseWhoWait) {
  World world({numRanks}, /*deadlineMs=*/300);
  world.run([&](int64_t rank, cprt_context *context) {
    if (rank == 2)
      return;
    Sum sum(1, rank, 5000);
    sum.begin(context);
    sum.wait(context);
    EXPECT_NE(cprt_context_status(context), CPRT_OK);
    EXPECT_THAT(cprt_context_message(context), HasSubstr("all_reduce"));
    // Made no more, and waited for at once.
    Sum next(2, rank, 5000);
    next.begin(context);
    next.wait(context);
  });
}

TEST(Deferred, WhatIsWrongWithACallIsItsRanksFailure) {
  World world({numRanks}, /*deadlineMs=*/2000);
  world.run([&](int64_t rank, cprt_context *context) {
    Sum sum(1, rank, 5000);
    Call wrong(1);
    wrong.in(sum.in).out(sum.out).array({rank == 1 ? 7 : 0});
    std::vector<int64_t> table = wrong.table();
    std::vector<void *> buffers = wrong.pointers();
    cprt_begin(context, nullptr, table.data(), buffers.data(), cprt_all_reduce);
    sum.wait(context);
    EXPECT_STREQ(cprt_status_name(cprt_context_status(context)),
                 rank == 1 ? "CPRT_INVALID_ARGUMENT" : "CPRT_PEER_FAILED");
    EXPECT_THAT(cprt_context_message(context), HasSubstr("axes"));
  });
}

TEST(Deferred, RefusesWhatIsNoCall) {
  World world({1});
  cprt_context *context = world.context(0);
  // Nothing to wait for.
  cprt_wait(context, nullptr, nullptr, nullptr);
  EXPECT_EQ(cprt_context_status(context), CPRT_OK);
  cprt_begin(context, nullptr, nullptr, nullptr, nullptr);
  EXPECT_EQ(cprt_context_status(context), CPRT_INVALID_ARGUMENT);
  EXPECT_THAT(cprt_context_message(context), HasSubstr("operation is null"));
}
