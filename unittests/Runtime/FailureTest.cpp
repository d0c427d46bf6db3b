//===- FailureTest.cpp - What goes wrong on one rank reaches all ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "gtest/gtest.h"

#include <chrono>
#include <thread>

using namespace cp::test;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

namespace {

constexpr int64_t deadlineMs = 200;

void gather(cprt_context *context, int64_t id = 0, Sizes axes = {0},
            int64_t ranks = 4, int64_t rows = 2) {
  Tensor in(CPRT_F32, Sizes{rows}), out(CPRT_F32, Sizes{rows * ranks});
  Call(id)
      .array(axes)
      .attr(int64_t(0))
      .attr(int64_t(0))
      .in(in)
      .out(out)
      .run(cprt_all_gather, context);
}

void shift(cprt_context *context, int64_t id = 0) {
  Tensor in(CPRT_F32, Sizes{2}), out(CPRT_F32, Sizes{2});
  Call(id).array({0}).attr(1).in(in).out(out).run(cprt_shift, context);
}

void scan(cprt_context *context, int64_t algorithm) {
  Tensor decay(CPRT_F32, Sizes{1}), state(CPRT_F32, Sizes{1, 2});
  Tensor outDecay(CPRT_F32, Sizes{1}), outState(CPRT_F32, Sizes{1, 2});
  Call call;
  call.in(decay).in(state).out(outDecay).out(outState);
  call.attr(algorithm).array({0}).attr(0).attr(0).attr(0).run(cprt_scan_state,
                                                              context);
}

/// Runs a program that must fail on all ranks, in time, and a sound one in a
/// new world after it.
class Failing {
public:
  explicit Failing(Sizes mesh, int64_t deadline = deadlineMs)
      : world(mesh, deadline), mesh(mesh) {}

  /// `comes` says whether all ranks come to the end of it.
  void run(const std::function<void(int64_t, cprt_context *)> &body,
           bool comes = true) {
    Clock::time_point start = Clock::now();
    world.run([&](int64_t rank, cprt_context *context) {
      body(rank, context);
      if (comes)
        meetAll(context, mesh);
    });
    EXPECT_LT(Clock::now() - start, Milliseconds(deadlineMs + 1000));
    World fresh({4});
    fresh.run([](int64_t, cprt_context *context) { gather(context); });
    EXPECT_EQ(fresh.failures(), "");
  }

  void expect(int64_t rank, cprt_status status, const std::string &text) {
    cprt_context *context = world.context(rank);
    EXPECT_STREQ(cprt_status_name(cprt_context_status(context)),
                 cprt_status_name(status));
    EXPECT_NE(std::string(cprt_context_message(context)).find(text),
              std::string::npos)
        << "rank " << rank << " says: " << cprt_context_message(context);
  }

  World world;
  Sizes mesh;
};

void sleepMs(int64_t time) { std::this_thread::sleep_for(Milliseconds(time)); }

} // namespace

TEST(Failure, RankThatFailsBeforeTheCollective) {
  Failing test({4}, 0);
  test.run([](int64_t rank, cprt_context *context) {
    if (rank == 2)
      cprt_context_fail(context, CPRT_OUT_OF_MEMORY, "no room for weights");
    gather(context);
  });
  test.expect(2, CPRT_OUT_OF_MEMORY, "no room for weights");
  for (int64_t rank : {0, 1, 3})
    test.expect(rank, CPRT_PEER_FAILED,
                "rank 2 failed with CPRT_OUT_OF_MEMORY: no room for weights");
}

TEST(Failure, RankThatFailsWhileTheOthersWait) {
  for (int64_t algorithm : {0, 1}) {
    Failing test({4}, 0);
    test.run([&](int64_t rank, cprt_context *context) {
      if (rank == 1) {
        sleepMs(100);
        cprt_context_fail(context, CPRT_UNSUPPORTED, "half way");
      }
      scan(context, algorithm);
    });
    test.expect(1, CPRT_UNSUPPORTED, "half way");
    for (int64_t rank : {0, 2, 3})
      test.expect(rank, CPRT_PEER_FAILED, "rank 1 failed");
  }
}

TEST(Failure, RankThatIsFailedFromOutsideWhileItWaits) {
  Failing test({4}, 0);
  test.run([&](int64_t rank, cprt_context *context) {
    if (rank == 3) {
      sleepMs(50);
      cprt_context_fail(test.world.context(0), CPRT_INVALID_ARGUMENT, "stop");
    }
    gather(context);
  });
  test.expect(0, CPRT_INVALID_ARGUMENT, "stop");
  for (int64_t rank : {1, 2, 3})
    test.expect(rank, CPRT_PEER_FAILED, "rank 0 failed");
}

TEST(Failure, BadDescriptorOnOneRank) {
  Failing test({4}, 0);
  test.run([](int64_t rank, cprt_context *context) {
    gather(context, 5, {rank == 1 ? 9 : 0});
  });
  test.expect(1, CPRT_INVALID_ARGUMENT,
              "all_gather (call 5): attribute 'axes'");
  test.expect(0, CPRT_PEER_FAILED, "rank 1 failed with CPRT_INVALID_ARGUMENT");
}

TEST(Failure, RankThatStalls) {
  Failing test({4});
  test.run([](int64_t rank, cprt_context *context) {
    if (rank == 2)
      sleepMs(600);
    gather(context, 8);
  });
  for (int64_t rank : {0, 1, 2, 3})
    test.expect(rank, CPRT_TIMEOUT,
                "all_gather (call 8): waited 200 ms for ranks [2]");
}

TEST(Failure, RankThatNeverComes) {
  Failing test({4});
  test.run(
      [](int64_t rank, cprt_context *context) {
        if (rank != 0)
          gather(context);
      },
      /*comes=*/false);
  for (int64_t rank : {1, 2, 3})
    test.expect(rank, CPRT_TIMEOUT, "for ranks [0]");
  test.expect(0, CPRT_OK, "");
}

/// Ranks 0 and 1 wait for each other's row; rank 3 stalls, rank 1 waits for it.
TEST(Failure, StallSeenThroughAnotherGroup) {
  Failing test({2, 2});
  test.run(
      [](int64_t rank, cprt_context *context) {
        if (rank == 1) {
          gather(context, 0, {0}, 2);
        } else if (rank == 0) {
          sleepMs(50);
          gather(context, 1, {1}, 2);
        }
      },
      /*comes=*/false);
  test.expect(0, CPRT_TIMEOUT, "for ranks [3]");
  test.expect(1, CPRT_TIMEOUT, "for ranks [3]");
}

TEST(Failure, DifferentCollectives) {
  Failing test({4}, 0);
  test.run([](int64_t rank, cprt_context *context) {
    rank == 3 ? shift(context, 4) : gather(context, 4);
  });
  for (int64_t rank = 0; rank < 4; ++rank) {
    test.expect(rank, CPRT_MISMATCH, "all_gather (call 4) ins f32[2]");
    test.expect(rank, CPRT_MISMATCH, "shift (call 4) ins f32[2]");
  }
}

TEST(Failure, DifferentShapes) {
  Failing test({4}, 0);
  test.run([](int64_t rank, cprt_context *context) {
    gather(context, 0, {0}, 4, rank == 1 ? 3 : 2);
  });
  for (int64_t rank = 0; rank < 4; ++rank) {
    test.expect(rank, CPRT_MISMATCH, "f32[3] outs f32[12]");
    test.expect(rank, CPRT_MISMATCH, "f32[2] outs f32[8]");
  }
}

TEST(Failure, DifferentAttributes) {
  Failing test({4}, 0);
  test.run([](int64_t rank, cprt_context *context) {
    scan(context, rank == 2 ? 1 : 0);
  });
  for (int64_t rank = 0; rank < 4; ++rank)
    test.expect(rank, CPRT_MISMATCH, "rank 2 is at scan_state");
}

TEST(Failure, SameCollectiveAtAnotherPlaceOfTheProgram) {
  Failing test({4}, 0);
  test.run([](int64_t rank, cprt_context *context) {
    gather(context, rank == 0 ? 6 : 3);
  });
  for (int64_t rank = 0; rank < 4; ++rank)
    test.expect(rank, CPRT_MISMATCH, "rank 0 is at all_gather (call 6)");
}

TEST(Failure, DifferentOrderOfTwoCollectives) {
  Failing test({4}, 0);
  test.run([](int64_t rank, cprt_context *context) {
    if (rank == 0)
      shift(context, 1);
    gather(context, 0);
    if (rank != 0)
      shift(context, 1);
  });
  // Rank 0's shift only sends: where rank 1's gather takes that, it goes on,
  // and its gather serves others, who may then be the ones at the shift.
  for (int64_t rank = 0; rank < 4; ++rank) {
    test.expect(rank, CPRT_MISMATCH, "is at all_gather (call 0)");
    test.expect(rank, CPRT_MISMATCH,
                takesAnyMessage() ? "is at shift (call 1)"
                                  : "rank 0 is at shift (call 1)");
  }
}

TEST(Failure, AxesInAnotherOrder) {
  Failing test({2, 2}, 0);
  test.run([](int64_t rank, cprt_context *context) {
    gather(context, 0, rank == 0 ? Sizes{0, 1} : Sizes{1, 0});
  });
  for (int64_t rank = 0; rank < 4; ++rank)
    test.expect(rank, CPRT_MISMATCH, "all_gather (call 0)");
}

/// Two groups that share ranks 0 and 1, entered in different order.
TEST(Failure, RanksThatWaitForEachOtherInDifferentGroups) {
  Failing test({2, 2}, 0);
  test.run(
      [](int64_t rank, cprt_context *context) {
        rank == 0 ? gather(context, 0, {0, 1}, 4) : gather(context, 1, {1}, 2);
      },
      /*comes=*/false);
  for (int64_t rank : {0, 1})
    test.expect(rank, CPRT_MISMATCH, "wait for each other");
}

/// 0 waits for 1 in its row, 1 for 3 in its column, 3 for 2, and 2 for 0.
TEST(Failure, FourRanksThatWaitInACircle) {
  Failing test({2, 2}, 0);
  test.run([](int64_t rank, cprt_context *context) {
    bool isRow = rank == 0 || rank == 3;
    gather(context, isRow, {isRow ? 1 : 0}, 2);
  });
  for (int64_t rank = 0; rank < 4; ++rank)
    test.expect(rank, CPRT_MISMATCH, "different groups");
}

TEST(Failure, FirstFailureStaysAndSilencesLaterCalls) {
  World world({1});
  cprt_context *context = world.context(0);
  cprt_context_fail(context, CPRT_OK, nullptr);
  cprt_context_fail(context, CPRT_TIMEOUT, "later");
  EXPECT_EQ(cprt_context_status(context), CPRT_INVALID_ARGUMENT);
  EXPECT_STREQ(cprt_context_message(context), "");
  EXPECT_EQ(cprt_alloc(context, 8), nullptr);
  cprt_free(context, context);
  cprt_all_gather(context, nullptr, nullptr, nullptr);
  static bool hasRun = false;
  cprt_launch(context, nullptr, [](void *const *) { hasRun = true; }, nullptr);
  EXPECT_FALSE(hasRun);
  EXPECT_EQ(cprt_context_status(context), CPRT_INVALID_ARGUMENT);
  EXPECT_EQ(cprt_context_counters(context, nullptr, 0), 0u);
}

/// Many worlds, each failing at a random moment: nobody hangs or touches what
/// is gone.
TEST(Failure, RandomMoments) {
  for (int64_t round = 0; round < 50; ++round) {
    World world({8}, 5000);
    world.run([&](int64_t rank, cprt_context *context) {
      for (int64_t i = 0; i < 20; ++i) {
        if (rank == round % 8 && i == round % 20)
          cprt_context_fail(context, CPRT_OUT_OF_MEMORY, "now");
        scan(context, i % 2);
        gather(context, i, {0}, 8);
      }
    });
    for (int64_t rank = 0; rank < 8; ++rank)
      EXPECT_EQ(cprt_context_status(world.context(rank)),
                rank == round % 8 ? CPRT_OUT_OF_MEMORY : CPRT_PEER_FAILED);
  }
}
