//===- CollectiveFailureTest.cpp - Every collective, every failure --------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table of collectives, each with a rank that dies, one that stalls, and
// one that is at another collective. Every rank comes back with a typed error
// in time, and the same collective works in a new world.
//
//===----------------------------------------------------------------------===//

#include "CollectiveCases.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

using namespace cp::test;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

namespace {

constexpr int64_t numRanks = Collective::numRanks;
constexpr Milliseconds spare{1000};

/// A world in which all ranks must fail in time.
class Failing {
public:
  explicit Failing(Milliseconds deadline)
      : world({numRanks}, deadline.count()) {}

  /// Every rank must be back from its own `body` within `limit`.
  void run(Milliseconds limit,
           const std::function<void(int64_t, cprt_context *)> &body) {
    std::vector<Clock::duration> times(numRanks);
    Clock::time_point start = Clock::now();
    world.run([&](int64_t rank, cprt_context *context) {
      body(rank, context);
      times[size_t(rank)] = Clock::now() - start;
    });
    for (Clock::duration time : times)
      EXPECT_LT(time, limit);
  }

  /// Every rank has `status`, but `culprit` has `own`.
  void expect(cprt_status status, int64_t culprit, cprt_status own) const {
    for (int64_t rank = 0; rank < numRanks; ++rank)
      EXPECT_STREQ(cprt_status_name(cprt_context_status(world.context(rank))),
                   cprt_status_name(rank == culprit ? own : status))
          << "rank " << rank << ": "
          << cprt_context_message(world.context(rank));
  }
  /// Every rank that did nothing wrong says `text`.
  void expectText(int64_t culprit, const std::string &text) const {
    for (int64_t rank = 0; rank < numRanks; ++rank) {
      std::string message = cprt_context_message(world.context(rank));
      EXPECT_TRUE(rank == culprit || message.find(text) != std::string::npos)
          << "rank " << rank << ": " << message;
    }
  }

private:
  World world;
};

void expectWorksInANewWorld(const Collective &collective) {
  World fresh({numRanks});
  fresh.run([&](int64_t, cprt_context *context) { collective.run(context); });
  EXPECT_EQ(fresh.failures(), "");
}

struct CollectiveFailure : testing::TestWithParam<size_t> {
  const Collective &collective() const { return collectives()[GetParam()]; }
};

std::string nameOf(const testing::TestParamInfo<size_t> &info) {
  const Collective &collective = collectives()[info.param];
  return std::string(collective.name) + collective.variant;
}

} // namespace

/// Half way between two collectives: nobody waits for the deadline.
TEST_P(CollectiveFailure, RankThatDies) {
  for (int64_t culprit = 0; culprit < numRanks; ++culprit) {
    SCOPED_TRACE(culprit);
    Failing test(Milliseconds(0));
    test.run(spare, [&](int64_t rank, cprt_context *context) {
      collective().run(context);
      if (rank == culprit) {
        std::this_thread::sleep_for(Milliseconds(20));
        cprt_context_fail(context, CPRT_UNSUPPORTED, "half way");
      }
      collective().run(context);
    });
    test.expect(CPRT_PEER_FAILED, culprit, CPRT_UNSUPPORTED);
    test.expectText(culprit, "rank " + std::to_string(culprit) +
                                 " failed with CPRT_UNSUPPORTED: half way");
    expectWorksInANewWorld(collective());
  }
}

/// The others give up at the deadline; the late one learns of it when it comes.
TEST_P(CollectiveFailure, RankThatStalls) {
  constexpr Milliseconds deadline{200}, stall{400};
  for (int64_t culprit : {int64_t(0), numRanks - 1}) {
    SCOPED_TRACE(culprit);
    Failing test(deadline);
    test.run(deadline + spare, [&](int64_t rank, cprt_context *context) {
      if (rank == culprit)
        std::this_thread::sleep_for(stall);
      collective().run(context);
    });
    test.expect(CPRT_TIMEOUT, culprit, CPRT_TIMEOUT);
    test.expectText(-1, "waited 200 ms for ranks [" + std::to_string(culprit) +
                            "]");
    expectWorksInANewWorld(collective());
  }
}

/// A thread that is gone is like one that stalls for ever.
TEST_P(CollectiveFailure, RankThatNeverComes) {
  constexpr Milliseconds deadline{200};
  Failing test(deadline);
  test.run(deadline + spare, [&](int64_t rank, cprt_context *context) {
    if (rank != 1)
      collective().run(context);
  });
  test.expect(CPRT_TIMEOUT, 1, CPRT_OK);
  test.expectText(1, "for ranks [1]");
  expectWorksInANewWorld(collective());
}

TEST_P(CollectiveFailure, RankAtAnyOtherCollective) {
  for (size_t other = 0; other < collectives().size(); ++other) {
    if (other == GetParam())
      continue;
    const Collective &wrong = collectives()[other];
    int64_t culprit = int64_t(other) % numRanks;
    SCOPED_TRACE(std::string(wrong.name) + wrong.variant);
    Failing test(Milliseconds(0));
    test.run(spare, [&](int64_t rank, cprt_context *context) {
      (rank == culprit ? wrong : collective()).run(context);
    });
    test.expect(CPRT_MISMATCH, culprit, CPRT_MISMATCH);
    test.expectText(-1, std::string("is at ") + wrong.name);
    test.expectText(-1, std::string("is at ") + collective().name);
    expectWorksInANewWorld(collective());
  }
}

INSTANTIATE_TEST_SUITE_P(All, CollectiveFailure,
                         testing::Range<size_t>(0, collectives().size()),
                         nameOf);

/// The table has every operation but those that move nothing between ranks.
TEST(CollectiveTable, HasEveryCollective) {
  std::set<std::string> known = {"accumulate",
                                 "adamw",
                                 "attention",
                                 "attention_grad",
                                 "contract_rows",
                                 "conv1d",
                                 "conv1d_grad",
                                 "copy",
                                 "document_positions",
                                 "embedding",
                                 "embedding_grad",
                                 "linear_cross_entropy",
                                 "linear_cross_entropy_grad",
                                 "matmul",
                                 "positions",
                                 "repeat",
                                 "rms_norm",
                                 "rms_norm_grad",
                                 "rotary",
                                 "sgd",
                                 "slice",
                                 "squared_norm",
                                 "ssd",
                                 "ssd_grad",
                                 "ssd_grad_states",
                                 "ssd_scan",
                                 "ssd_states",
                                 "sum",
                                 "unslice"};
  std::set<std::string> all = {
#define CPRT_OPERATION(symbol) #symbol,
#include "cp/Runtime/OperationList.inc"
  };
  for (const Collective &collective : collectives())
    known.insert(collective.name);
  EXPECT_EQ(known, all);
}

/// And every scan, in both orders: the numbers after the last are refused.
TEST(CollectiveTable, HasEveryScan) {
  int64_t count = std::count_if(
      collectives().begin(), collectives().end(),
      [](const Collective &each) { return each.op == cprt_scan_state; });
  for (int64_t order : {0, 1}) {
    World world({1});
    scanCase("", count / 2 - 1, order).run(world.context(0), /*ranks=*/1);
    EXPECT_EQ(world.failures(), "");
    scanCase("", count / 2, order).run(world.context(0), /*ranks=*/1);
    EXPECT_EQ(cprt_context_status(world.context(0)), CPRT_INVALID_ARGUMENT);
  }
  World world({1});
  scanCase("", 0, 2).run(world.context(0), /*ranks=*/1);
  EXPECT_EQ(cprt_context_status(world.context(0)), CPRT_UNSUPPORTED);
}
