//===- RecordingTest.cpp - Programs that a device keeps -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OnDevice.h"
#include "RecordedPrograms.h"

#include "gmock/gmock.h"

#include <vector>

using namespace cp::test;
using namespace cp::test::recorded;
using testing::HasSubstr;

namespace {

class RecordingTest : public OnDevice {
protected:
  void SetUp() override {
    numRuns = 0;
    numCalls = 3;
  }
  void makeRanks(int64_t ranks, bool isNccl = false) {
    recorded::numRanks = ranks;
    if (isNccl)
      make(ranks);
    else
      makeThreads(ranks);
  }
  /// Of sums that are 0.
  static std::vector<void *> buffersOf(cprt_context *context, float one) {
    std::vector<void *> buffers;
    const std::vector<float> zeros(static_cast<size_t>(recorded::numRanks));
    auto bytes = int64_t(zeros.size() * sizeof(float));
    for (int i = 0; i < Micro; ++i) {
      buffers.push_back(cprt_device_alloc(context, bytes));
      cprt_upload(context, buffers.back(), zeros.data(), bytes);
    }
    cprt_upload(context, buffers[One], &one, sizeof one);
    const int64_t micro = 1;
    buffers.push_back(cprt_device_alloc(context, sizeof micro));
    cprt_upload(context, buffers.back(), &micro, sizeof micro);
    return buffers;
  }
  static void runTimes(int times, cprt_context *context, cprt_program_run *run,
                       const std::vector<void *> &buffers) {
    for (int i = 0; i < times; ++i)
      cprt_run_recorded(context, run, buffers.data(), buffers.size());
  }
  float numberOf(cprt_context *context, const void *place) {
    return numbers(context, place, 1)[0];
  }
  /// That after so many runs the sums over all ranks, of the number 1 more than
  /// the rank, are those of sums which grew from run to run.
  void expectTotals(cprt_context *context, const std::vector<void *> &buffers,
                    int runs) {
    std::vector<float> total =
        numbers(context, buffers[Total], size_t(numRanks));
    for (int64_t rank = 0; rank < numRanks; ++rank)
      EXPECT_EQ(total[size_t(rank)], float(runs * (runs + 1) / 2 * (rank + 1)));
    EXPECT_STREQ(cprt_context_message(context), "");
  }
  int64_t numAdded() const { return device.numStarted("accumulate"); }
};

} // namespace

// The first run is as ever, the second is recorded, and then nothing of the
// program is called.
TEST_F(RecordingTest, APieceIsStartedAgain) {
  makeRanks(1);
  run([&](int64_t, cprt_context *context) {
    std::vector<void *> buffers = buffersOf(context, 2);
    for (int step = 1; step <= 5; ++step) {
      runTimes(1, context, runAlone, buffers);
      EXPECT_EQ(numberOf(context, buffers[Sum]), float(6 * step));
    }
    EXPECT_STREQ(cprt_context_message(context), "");
  });
  EXPECT_EQ(numRuns, 2);
  EXPECT_EQ(numAdded(), 6);
}

// Kernels before an exchange are a piece, and those behind it; nobody waits
// between the steps.
TEST_F(RecordingTest, ExchangesStandBetweenPieces) {
  constexpr int steps = 6;
  makeRanks(3);
  run([&](int64_t rank, cprt_context *context) {
    std::vector<void *> buffers = buffersOf(context, float(rank + 1));
    runTimes(steps, context, runTogether, buffers);
    expectTotals(context, buffers, steps);
  });
  EXPECT_EQ(numRuns, 3 * steps);
  EXPECT_EQ(numAdded(), 3 * 2 * 2);
}

TEST_F(RecordingTest, ExchangesComeFirst) {
  makeRanks(2);
  run([&](int64_t rank, cprt_context *context) {
    std::vector<void *> buffers = buffersOf(context, float(rank + 1));
    runTimes(5, context, runBehind, buffers);
    EXPECT_EQ(numbers(context, buffers[Total], 2), (std::vector<float>{5, 10}));
    EXPECT_STREQ(cprt_context_message(context), "");
  });
  EXPECT_EQ(numRuns, 2 * 5);
  EXPECT_EQ(numAdded(), 2 * 2);
}

TEST_F(RecordingTest, AProgramWithoutCallsIsNothing) {
  makeRanks(1);
  numCalls = 0;
  run([&](int64_t, cprt_context *context) {
    runTimes(4, context, runAlone, buffersOf(context, 1));
    EXPECT_STREQ(cprt_context_message(context), "");
  });
  EXPECT_EQ(numRuns, 4);
}

TEST_F(RecordingTest, ExchangesOverNcclStandBetweenPieces) {
  constexpr int steps = 6;
  makeRanks(3, /*isNccl=*/true);
  run([&](int64_t rank, cprt_context *context) {
    std::vector<void *> buffers = buffersOf(context, float(rank + 1));
    runTimes(steps, context, runTogether, buffers);
    expectTotals(context, buffers, steps);
  });
  EXPECT_EQ(numAdded(), 3 * 2 * 2);
}

// What is deferred reads what the piece before it has made, and what waits for
// it comes behind.
TEST_F(RecordingTest, DeferredExchangesTravelBesidePieces) {
  constexpr int steps = 6;
  makeRanks(2, /*isNccl=*/true);
  run([&](int64_t rank, cprt_context *context) {
    std::vector<void *> buffers = buffersOf(context, float(rank + 1));
    runTimes(steps, context, runBeside, buffers);
    expectTotals(context, buffers, steps);
    EXPECT_EQ(numberOf(context, buffers[Other]), float(steps * (rank + 1)));
  });
  EXPECT_EQ(numAdded(), 2 * 2 * 3);
}

TEST_F(RecordingTest, WhatTheHostDoesStandsBetweenPieces) {
  makeRanks(1);
  run([&](int64_t, cprt_context *context) {
    std::vector<void *> buffers = buffersOf(context, 0);
    runTimes(5, context, runWithHost, buffers);
    EXPECT_EQ(numberOf(context, buffers[Sum]), 55.0F);
    EXPECT_STREQ(cprt_context_message(context), "");
  });
  EXPECT_EQ(numRuns, 5);
  EXPECT_EQ(numAdded(), 2 * 2);
}

TEST_F(RecordingTest, AProgramThatAllocatesIsRunAsItIs) {
  makeRanks(1);
  run([&](int64_t, cprt_context *context) {
    std::vector<void *> buffers = buffersOf(context, 1);
    runTimes(5, context, runInNewMemory, buffers);
    EXPECT_EQ(numberOf(context, buffers[Sum]), 10.0F);
  });
  EXPECT_EQ(numRuns, 5);
  EXPECT_EQ(numAdded(), 10);
}

// Other buffers are another recording; of nine the one that was asked for
// longest ago is forgotten.
TEST_F(RecordingTest, EightAreKept) {
  makeRanks(1);
  run([&](int64_t, cprt_context *context) {
    std::vector<std::vector<void *>> all;
    for (int i = 0; i < 9; ++i) {
      all.push_back(buffersOf(context, float(i)));
      runTimes(3, context, runAlone, all.back());
      runTimes(1, context, runAlone, all[0]);
    }
    EXPECT_EQ(numRuns, 2 * 9);
    EXPECT_EQ(numRecordings(), 8);
    for (int i : {0, 2, 3, 4, 5, 6, 7, 8})
      runTimes(1, context, runAlone, all[size_t(i)]);
    EXPECT_EQ(numRuns, 2 * 9);
    runTimes(1, context, runAlone, all[1]);
    EXPECT_EQ(numRuns, 2 * 9 + 1);
    for (int i = 1; i < 9; ++i)
      EXPECT_EQ(numberOf(context, all[size_t(i)][Sum]), float(12 * i));
  });
}

// A recording has the arena's place in it.
TEST_F(RecordingTest, AnArenaThatGrowsIsRecordedAnew) {
  makeRanks(1);
  run([&](int64_t, cprt_context *context) {
    std::vector<void *> buffers = buffersOf(context, 1);
    runTimes(4, context, runInArena<64>, buffers);
    EXPECT_EQ(numRuns, 2);
    runTimes(1, context, runInArena<4096>, buffers);
    runTimes(4, context, runInArena<64>, buffers);
    EXPECT_EQ(numRuns, 2 + 1 + 2);
    runTimes(4, context, runInArena<4096>, buffers);
    EXPECT_EQ(numRuns, 2 + 1 + 2 + 1);
    EXPECT_EQ(numberOf(context, buffers[Sum]), 13.0F);
    EXPECT_STREQ(cprt_context_message(context), "");
  });
}

// Where it has exchanges, so that it is called at all.
TEST_F(RecordingTest, AProgramThatTurnsElsewhereIsRefused) {
  const auto expectRefused = [&](int calls, bool other, const char *text) {
    numCalls = 3;
    isOther = false;
    makeRanks(1);
    run([&](int64_t, cprt_context *context) {
      std::vector<void *> buffers = buffersOf(context, 1);
      runTimes(3, context, runElsewhere, buffers);
      EXPECT_STREQ(cprt_context_message(context), "");
      numCalls = calls;
      isOther = other;
      runTimes(1, context, runElsewhere, buffers);
      EXPECT_EQ(cprt_context_status(context), CPRT_MISMATCH);
      EXPECT_THAT(cprt_context_message(context), HasSubstr(text));
    });
    cprt_world_destroy(worlds[0]);
    worlds.clear();
  };
  const char *another =
      " of the program, or what is done before it, is another one than when it "
      "was recorded; call a program that depends on data without "
      "cprt_run_recorded";
  expectRefused(4, false, another);
  expectRefused(2, false, another);
  expectRefused(3, true, another);
  expectRefused(0, false,
                "the program has made 1 calls, and 7 when it was recorded");
}

// What stands in the midst of a piece in one run and not in another.
TEST_F(RecordingTest, WhatStandsBetweenPiecesStaysThere) {
  for (cprt_program_run *program :
       {runWithPause<true>, runWithPause<false>, runWithBlock}) {
    numRuns = 0;
    makeRanks(1);
    run([&](int64_t, cprt_context *context) {
      std::vector<void *> buffers = buffersOf(context, 1);
      runTimes(2, context, program, buffers);
      EXPECT_EQ(numberOf(context, buffers[Sum]), 4.0F);
      EXPECT_STREQ(cprt_context_message(context), "");
      runTimes(1, context, program, buffers);
      EXPECT_EQ(cprt_context_status(context), CPRT_MISMATCH);
      EXPECT_THAT(cprt_context_message(context),
                  HasSubstr("or what is done before it, is another one"));
    });
    cprt_world_destroy(worlds[0]);
    worlds.clear();
  }
}

// An exchange of the host's memory is no call of the device's.
TEST_F(RecordingTest, WhatIsDoneOnTheHostIsDoneEachTime) {
  makeRanks(2);
  run([&](int64_t rank, cprt_context *context) {
    std::vector<void *> buffers = buffersOf(context, 1);
    float one = float(rank + 1);
    std::vector<float> all(2);
    buffers.push_back(&one);
    buffers.push_back(all.data());
    for (int step = 0; step < 4; ++step) {
      runTimes(1, context, runOnHost, buffers);
      EXPECT_EQ(all, (std::vector<float>{float(1 + step), float(2 + step)}));
      one += 1;
    }
    EXPECT_EQ(numberOf(context, buffers[Sum]), 4.0F);
    EXPECT_STREQ(cprt_context_message(context), "");
  });
}

TEST_F(RecordingTest, ProgramsWithinEachOtherAreRefused) {
  makeRanks(1);
  run([&](int64_t, cprt_context *context) {
    cprt_program_run *outer = [](cprt_context *of, cprt_stream *,
                                 void *const *buffers) {
      cprt_run_recorded(of, runAlone, buffers, NumBuffers);
    };
    runTimes(1, context, outer, buffersOf(context, 1));
    EXPECT_STREQ(cprt_context_message(context),
                 "run_recorded: called by a program that is being run so; call "
                 "the other program itself");
  });
}

// What was deferred is waited for behind a failure too.
TEST_F(RecordingTest, AFailureBesideADeferredExchange) {
  makeRanks(2, /*isNccl=*/true);
  run([&](int64_t rank, cprt_context *context) {
    cprt_program_run *program = [](cprt_context *of, cprt_stream *,
                                   void *const *buffers) {
      void *exchanged[] = {buffers[Sum], buffers[All]};
      cprt_begin(of, nullptr, gatherWords(), exchanged, cprt_all_gather);
      add(of, buffers, One, Other);
      if (++numRuns > 2)
        cprt_context_fail(of, CPRT_INVALID_ARGUMENT, "no more");
      const int64_t outs[] = {0, 1, 0, -1, 0, 1, recorded::numRanks, 1};
      cprt_wait(of, nullptr, outs, &exchanged[1]);
    };
    runTimes(3, context, program, buffersOf(context, float(rank)));
    EXPECT_NE(cprt_context_status(context), CPRT_OK);
  });
}

TEST_F(RecordingTest, NothingIsKeptOfARunThatFails) {
  makeRanks(1);
  run([&](int64_t, cprt_context *context) {
    std::vector<void *> buffers = buffersOf(context, 1);
    runTimes(4, context, runToAnEnd, buffers);
    EXPECT_EQ(cprt_context_status(context), CPRT_INVALID_ARGUMENT);
    EXPECT_STREQ(cprt_context_message(context), "no more");
  });
  EXPECT_EQ(numRuns, 2);
}

TEST_F(RecordingTest, ProgramsThatAreNullAreRefused) {
  makeRanks(1);
  run([&](int64_t, cprt_context *context) {
    cprt_run_recorded(nullptr, runAlone, nullptr, 0);
    cprt_run_recorded(context, runAlone, nullptr, 1);
    EXPECT_STREQ(cprt_context_message(context),
                 "run_recorded: the program or its buffers are null");
  });
  EXPECT_EQ(numRuns, 0);
}

// A world without a device calls the program.
TEST(RecordingOnHostTest, ThereIsNothingToRecord) {
  const int64_t ranks = 1;
  cprt_options options = {};
  options.struct_size = sizeof(options);
  options.num_axes = 1;
  options.axis_sizes = &ranks;
  cprt_world *world = nullptr;
  ASSERT_EQ(cprt_threads_create(&options, &world, nullptr, 0), CPRT_OK);
  numRuns = 0;
  recorded::numRanks = 1;
  numCalls = 3;
  float one = 2, sum = 0;
  int64_t micro = 1;
  void *buffers[NumBuffers] = {&one, &sum, nullptr, nullptr, nullptr, &micro};
  for (int step = 0; step < 4; ++step)
    cprt_run_recorded(cprt_world_context(world, 0), runAlone, buffers,
                      NumBuffers);
  EXPECT_EQ(sum, 24);
  EXPECT_EQ(numRuns, 4);
  cprt_world_destroy(world);
}
