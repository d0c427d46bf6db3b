//===- RecordingTest.cpp - Programs that a device keeps -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OnDevice.h"

#include "gmock/gmock.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <vector>

using namespace cp::test;
using testing::HasSubstr;

namespace {

/// What the programs below know beside their buffers; set before they run.
int64_t numRanks = 1;
std::atomic<int> numRuns = 0;
/// How many of its calls a program makes, and whether its first is another one.
std::atomic<int> numCalls = 3;
std::atomic<bool> isOther = false;

/// Buffers of a program: a number, two sums of it over its runs, one number a
/// rank, their sums over its runs, and the number 1 as an integer.
enum { One, Sum, Other, All, Total, Micro, NumBuffers };

/// A table that stays, one for equal words, as those of compiled programs.
const int64_t *constant(std::vector<int64_t> words) {
  static std::mutex mutex;
  static std::set<std::vector<int64_t>> all;
  std::lock_guard<std::mutex> lock(mutex);
  return all.insert(std::move(words)).first->data();
}

/// `sum` += `one`, of as many numbers.
void add(cprt_context *context, void *const *buffers, int one, int sum) {
  int64_t count = one == One ? 1 : numRanks;
  // grad, sum, micro_batch: updated.
  const int64_t *words =
      constant({3, 1, 0, 7, CPRT_F32, 1, count, 1, CPRT_F32, 1, count, 1,
                CPRT_I64, 0, CPRT_F32, 1, count, 1});
  void *all[] = {buffers[one], buffers[sum], buffers[Micro], buffers[sum]};
  cprt_accumulate(context, nullptr, words, all);
}

const int64_t *gatherWords() {
  return constant({1, 1, 4, 3, CPRT_F32, 1, 1, 1, CPRT_F32, 1, numRanks, 1,
                   /*axes=*/1, 0, /*dim=*/0, /*order=*/0});
}

void runAlone(cprt_context *context, cprt_stream *, void *const *buffers) {
  ++numRuns;
  for (int call = 0; call < numCalls; ++call)
    add(context, buffers, One, Sum);
}

void runTogether(cprt_context *context, cprt_stream *, void *const *buffers) {
  ++numRuns;
  add(context, buffers, One, Sum);
  void *exchanged[] = {buffers[Sum], buffers[All]};
  cprt_all_gather(context, nullptr, gatherWords(), exchanged);
  add(context, buffers, All, Total);
}

/// Two exchanges behind each other, and the only piece at the end.
void runBehind(cprt_context *context, cprt_stream *, void *const *buffers) {
  ++numRuns;
  void *exchanged[] = {buffers[One], buffers[All]};
  cprt_all_gather(context, nullptr, gatherWords(), exchanged);
  cprt_all_gather(context, nullptr, gatherWords(), exchanged);
  add(context, buffers, All, Total);
}

/// Adds while numbers travel.
void runBeside(cprt_context *context, cprt_stream *, void *const *buffers) {
  ++numRuns;
  add(context, buffers, One, Sum);
  void *exchanged[] = {buffers[Sum], buffers[All]};
  cprt_begin(context, nullptr, gatherWords(), exchanged, cprt_all_gather);
  add(context, buffers, One, Other);
  const int64_t outs[] = {0, 1, 0, -1, 0, 1, numRanks, 1};
  cprt_wait(context, nullptr, outs, &exchanged[1]);
  add(context, buffers, All, Total);
}

/// Brings another number over in its midst.
void runWithHost(cprt_context *context, cprt_stream *, void *const *buffers) {
  ++numRuns;
  for (float number : {1.0F, 10.0F}) {
    cprt_upload(context, buffers[One], &number, sizeof number);
    add(context, buffers, One, Sum);
  }
}

/// From its second run on.
void runInNewMemory(cprt_context *context, cprt_stream *,
                    void *const *buffers) {
  add(context, buffers, One, Sum);
  void *block = ++numRuns > 1 ? cprt_alloc(context, 64) : nullptr;
  add(context, buffers, One, Sum);
  cprt_free(context, block);
}

void copy(cprt_context *context, void *from, void *to) {
  const int64_t *words = constant({1, 1, 0, 7, 0, 1, 1, 1, 0, 1, 1, 1});
  void *both[] = {from, to};
  cprt_copy(context, nullptr, words, both);
}

/// By way of the arena.
template <int64_t Bytes>
void runInArena(cprt_context *context, cprt_stream *, void *const *buffers) {
  ++numRuns;
  void *there[NumBuffers];
  std::copy(buffers, buffers + NumBuffers, there);
  there[Sum] = cprt_arena(context, Bytes);
  copy(context, buffers[Sum], there[Sum]);
  add(context, there, One, Sum);
  copy(context, there[Sum], buffers[Sum]);
}

/// Gathers behind so many calls, unless there are none.
void runElsewhere(cprt_context *context, cprt_stream *none,
                  void *const *buffers) {
  if (isOther)
    copy(context, buffers[One], buffers[Sum]);
  else
    add(context, buffers, One, Sum);
  runAlone(context, none, buffers);
  if (numCalls > 0)
    runBehind(context, none, buffers);
}

void runInTwo(cprt_context *context, void *const *buffers,
              const std::function<void()> &between) {
  void *exchanged[] = {buffers[Sum], buffers[All]};
  cprt_all_gather(context, nullptr, gatherWords(), exchanged);
  add(context, buffers, One, Sum);
  between();
  add(context, buffers, One, Sum);
}

/// The host waits in the midst of its first two runs, or of all behind these.
template <bool Early>
void runWithPause(cprt_context *context, cprt_stream *, void *const *buffers) {
  runInTwo(context, buffers, [&, runs = ++numRuns] {
    if ((runs <= 2) == Early)
      cprt_synchronize(context);
  });
}

/// From its third run on.
void runWithBlock(cprt_context *context, cprt_stream *, void *const *buffers) {
  runInTwo(context, buffers, [&, runs = ++numRuns] {
    if (runs > 2)
      cprt_free(context, cprt_alloc(context, 64));
  });
}

/// Exchanges numbers of the host's, which are behind the other buffers.
void runOnHost(cprt_context *context, cprt_stream *, void *const *buffers) {
  cprt_on_host(context, cprt_all_gather, gatherWords(), buffers + NumBuffers);
  add(context, buffers, One, Sum);
}

/// Fails in its second run.
void runToAnEnd(cprt_context *context, cprt_stream *, void *const *buffers) {
  add(context, buffers, One, Sum);
  if (++numRuns == 2)
    cprt_context_fail(context, CPRT_INVALID_ARGUMENT, "no more");
  add(context, buffers, One, Sum);
}

class RecordingTest : public OnDevice {
protected:
  void SetUp() override {
    numRuns = 0;
    numCalls = 3;
  }
  void makeRanks(int64_t ranks, bool isNccl = false) {
    ::numRanks = ranks;
    if (isNccl)
      make(ranks);
    else
      makeThreads(ranks);
  }
  /// Of sums that are 0.
  static std::vector<void *> buffersOf(cprt_context *context, float one) {
    std::vector<void *> buffers;
    const std::vector<float> zeros(size_t(::numRanks));
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
      const int64_t outs[] = {0, 1, 0, -1, 0, 1, ::numRanks, 1};
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
  ::numRanks = 1;
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
