//===- WorldTest.cpp - Worlds, contexts, memory, counters -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CProgram.h"
#include "Harness.h"

#include "gtest/gtest.h"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <malloc.h>
#include <thread>

using namespace cp::test;

namespace {

cprt_options soundOptions(const int64_t *sizes, int32_t axes) {
  cprt_options options = {};
  options.struct_size = sizeof(options);
  options.num_axes = axes;
  options.axis_sizes = sizes;
  return options;
}

void expectRefused(const cprt_options *options, const std::string &text) {
  cprt_world *world = reinterpret_cast<cprt_world *>(1);
  char message[512] = "old";
  EXPECT_EQ(cprt_threads_create(options, &world, message, sizeof(message)),
            CPRT_INVALID_ARGUMENT);
  EXPECT_EQ(world, nullptr);
  EXPECT_NE(std::string(message).find(text), std::string::npos) << message;
}

} // namespace

TEST(World, RefusesBadOptions) {
  const int64_t sizes[] = {2, 2}, zero[] = {0}, huge[] = {1 << 20};
  expectRefused(nullptr, "the options are null");
  cprt_options options = soundOptions(sizes, 2);
  for (size_t size : {0, 8, 20, 47, 1 << 20}) {
    options.struct_size = size;
    expectRefused(&options, "struct_size is " + std::to_string(size) +
                                ", expected " +
                                std::to_string(sizeof(cprt_options)));
  }
  options = soundOptions(sizes, -1);
  expectRefused(&options, "num_axes is -1, expected 0 to 64");
  options = soundOptions(sizes, 65);
  expectRefused(&options, "num_axes is 65");
  options = soundOptions(nullptr, 2);
  expectRefused(&options, "with axis_sizes");
  options = soundOptions(zero, 1);
  expectRefused(&options, "threads_create: ");
  options = soundOptions(huge, 1);
  expectRefused(&options, "1048576 ranks, expected at most 4096");
  options = soundOptions(sizes, 2);
  options.deadline_ms = -1;
  expectRefused(&options, "deadline_ms is -1");
  options.deadline_ms = INT64_MAX;
  expectRefused(&options, "deadline_ms is 9223372036854775807");
  options.deadline_ms = 0;
  options.threads = 1025;
  expectRefused(&options, "threads is 1025, expected 0");
  options = soundOptions(sizes, 2);
  const unsigned two = 2;
  std::memcpy(&options.kernels, &two, sizeof(two));
  expectRefused(&options, "kernels is 2");
  options = soundOptions(sizes, 2);
  options.device_number = -1;
  expectRefused(&options, "device_number is -1, expected 0 (in turn)");
  EXPECT_EQ(cprt_threads_create(&options, nullptr, nullptr, 0),
            CPRT_INVALID_ARGUMENT);
}

/// Nothing behind struct_size is read: the sanitizers look on.
TEST(World, TakesTheOptionsOfAnOlderHeader) {
  const int64_t sizes[] = {2, 2};
  cprt_options whole = soundOptions(sizes, 2);
  // Wrong where they are read.
  whole.deadline_ms = -1;
  whole.threads = -1;
  for (size_t size :
       {offsetof(cprt_options, deadline_ms), offsetof(cprt_options, threads),
        offsetof(cprt_options, device)}) {
    std::vector<unsigned char> older(size);
    whole.struct_size = size;
    whole.deadline_ms = size < offsetof(cprt_options, threads) ? -1 : 5;
    whole.threads = size < offsetof(cprt_options, device) ? -1 : 1;
    whole.device_fallback = -1;
    std::memcpy(older.data(), &whole, size);
    cprt_world *world = nullptr;
    EXPECT_EQ(cprt_threads_create(
                  reinterpret_cast<const cprt_options *>(older.data()), &world,
                  nullptr, 0),
              CPRT_OK)
        << size;
    EXPECT_EQ(cprt_world_size(world), 4);
    cprt_world_destroy(world);
  }
}

TEST(World, TakesTheOptionsOfANewerHeaderWithoutItsNewOnes) {
  const int64_t sizes[] = {2, 2};
  struct {
    cprt_options known;
    int64_t more[2];
  } newer = {soundOptions(sizes, 2), {0, 0}};
  newer.known.struct_size = sizeof(newer);
  cprt_world *world = nullptr;
  EXPECT_EQ(cprt_threads_create(&newer.known, &world, nullptr, 0), CPRT_OK);
  cprt_world_destroy(world);
  newer.more[1] = 1;
  expectRefused(&newer.known,
                "struct_size is " + std::to_string(sizeof(newer)) +
                    ", and behind " + std::to_string(sizeof(cprt_options)) +
                    " bytes");
}

TEST(World, CutsMessagesToTheirRoom) {
  char message[8];
  std::memset(message, 'x', sizeof(message));
  cprt_world *world = nullptr;
  cprt_threads_create(nullptr, &world, message, 5);
  EXPECT_STREQ(message, "thre");
  EXPECT_EQ(message[5], 'x');
}

TEST(World, RanksAndNames) {
  World world({2, 3});
  EXPECT_EQ(world.size(), 6);
  EXPECT_EQ(cprt_context_rank(world.context(5)), 5);
  EXPECT_EQ(world.context(6), nullptr);
  EXPECT_EQ(world.context(-1), nullptr);
  EXPECT_EQ(cprt_context_status(world.context(0)), CPRT_OK);
  EXPECT_STREQ(cprt_context_message(world.context(0)), "");
  World alone(Sizes{});
  EXPECT_EQ(alone.size(), 1);
  EXPECT_EQ(cprt_api_version(),
            uint32_t(CPRT_VERSION_MAJOR << 16 | CPRT_VERSION_MINOR));
  EXPECT_STREQ(cprt_status_name(CPRT_TIMEOUT), "CPRT_TIMEOUT");
  EXPECT_NE(cprt_status_name(static_cast<cprt_status>(8)), nullptr);
  EXPECT_EQ(cprt_dtype_size(CPRT_BF16), 2u);
  EXPECT_EQ(cprt_dtype_size(static_cast<cprt_dtype>(7)), 0u);
}

TEST(World, NullContextsAreHarmless) {
  EXPECT_EQ(cprt_world_size(nullptr), 0);
  EXPECT_EQ(cprt_world_context(nullptr, 0), nullptr);
  EXPECT_EQ(cprt_context_status(nullptr), CPRT_INVALID_ARGUMENT);
  EXPECT_STREQ(cprt_context_message(nullptr), "the context is null");
  EXPECT_EQ(cprt_context_rank(nullptr), -1);
  EXPECT_EQ(cprt_context_counters(nullptr, nullptr, 0), 0u);
  EXPECT_EQ(cprt_context_peak_bytes(nullptr), 0);
  EXPECT_EQ(cprt_context_allocations(nullptr), 0);
  EXPECT_EQ(cprt_alloc(nullptr, 8), nullptr);
  cprt_context_fail(nullptr, CPRT_TIMEOUT, "");
  cprt_context_reset_counters(nullptr);
  cprt_free(nullptr, nullptr);
  cprt_launch(nullptr, nullptr, nullptr, nullptr);
  cprt_world_destroy(nullptr);
}

TEST(Memory, CountsThePeakAndTheAllocations) {
  World world({1});
  cprt_context *context = world.context(0);
  void *first = cprt_alloc(context, 100), *second = cprt_alloc(context, 50);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  cprt_free(context, first);
  cprt_free(context, nullptr);
  EXPECT_NE(cprt_alloc(context, 0), nullptr);
  EXPECT_EQ(cprt_context_peak_bytes(context), 150);
  EXPECT_EQ(cprt_context_allocations(context), 3);
  cprt_context_reset_counters(context);
  EXPECT_EQ(cprt_context_peak_bytes(context), 50);
  EXPECT_EQ(cprt_context_allocations(context), 0);
  cprt_free(context, second);
  EXPECT_EQ(world.failures(), "");
  // What is still there goes with the world: the leak checker looks on.
}

TEST(Memory, RefusesWhatItCannotGive) {
  World world({3});
  EXPECT_EQ(cprt_alloc(world.context(0), -1), nullptr);
  EXPECT_EQ(cprt_context_status(world.context(0)), CPRT_INVALID_ARGUMENT);
  EXPECT_EQ(cprt_alloc(world.context(1), INT64_MAX), nullptr);
  EXPECT_EQ(cprt_context_status(world.context(1)), CPRT_OUT_OF_MEMORY);
  int other = 0;
  cprt_free(world.context(2), &other);
  EXPECT_EQ(cprt_context_status(world.context(2)), CPRT_INVALID_ARGUMENT);
}

TEST(Memory, AnArenaHasASizeAndIsNotFreed) {
  World world({3});
  for (int64_t rank : {0, 1}) {
    cprt_context *context = world.context(rank);
    // With an arena and without.
    if (rank == 1)
      EXPECT_NE(cprt_arena(context, 64), nullptr);
    EXPECT_EQ(cprt_arena(context, -1), nullptr);
    EXPECT_EQ(cprt_context_status(context), CPRT_INVALID_ARGUMENT);
    EXPECT_STREQ(cprt_context_message(context),
                 "arena: found -1 bytes, expected 0 or more");
  }
  cprt_context *context = world.context(2);
  cprt_free(context, cprt_arena(context, 64));
  EXPECT_EQ(cprt_context_status(context), CPRT_INVALID_ARGUMENT);
}

namespace {

void noKernel(void *const *) {}

/// Every program call of another form, to be made while one is under way.
const std::vector<std::pair<const char *, void (*)(cprt_context *)>>
    secondCalls = {
        {"alloc", [](cprt_context *context) { cprt_alloc(context, 8); }},
        {"arena", [](cprt_context *context) { cprt_arena(context, 8); }},
        {"free",
         [](cprt_context *context) {
           int other = 0;
           cprt_free(context, &other);
         }},
        {"launch",
         [](cprt_context *context) {
           cprt_launch(context, nullptr, noKernel, nullptr);
         }},
        {"copy",
         [](cprt_context *context) {
           Tensor in(CPRT_F32, Sizes{2}), out(CPRT_F32, Sizes{2});
           Call().in(in).out(out).run(cprt_copy, context);
         }},
};

} // namespace

TEST(Context, TakesOneCallAtATime) {
  for (auto [name, second] : secondCalls) {
    World world({1});
    cprt_context *context = world.context(0);
    std::atomic<bool> isInside{false}, isOver{false};
    void *buffers[] = {&isInside, &isOver};
    std::thread other([&] {
      cprt_launch(
          context, nullptr,
          [](void *const *list) {
            *static_cast<std::atomic<bool> *>(list[0]) = true;
            while (!*static_cast<std::atomic<bool> *>(list[1]))
              std::this_thread::yield();
          },
          buffers);
    });
    while (!isInside)
      std::this_thread::yield();
    second(context);
    isOver = true;
    other.join();
    EXPECT_EQ(cprt_context_status(context), CPRT_INVALID_ARGUMENT) << name;
    EXPECT_EQ(std::string(cprt_context_message(context)),
              std::string(name) +
                  ": another call is inside this context, expected one after "
                  "the other; give each rank a thread of its own");
  }
}

/// A call that waits for its peers is inside too; and they hear of it.
TEST(Context, TakesNoCallWhileItWaits) {
  World world({2});
  cprt_context *context = world.context(0);
  world.run([&](int64_t rank, cprt_context *own) {
    Tensor in(CPRT_F32, Sizes{2}), out(CPRT_F32, Sizes{2});
    Call sum;
    sum.array({0}).in(in).out(out);
    if (rank == 0)
      return sum.run(cprt_all_reduce, own);
    while (cprt_context_status(context) == CPRT_OK)
      secondCalls.back().second(context);
    sum.run(cprt_all_reduce, own);
    meetAll(own, {2});
  });
  EXPECT_EQ(cprt_context_status(context), CPRT_INVALID_ARGUMENT);
  EXPECT_EQ(cprt_context_status(world.context(1)), CPRT_PEER_FAILED);
}

/// One after the other, from two threads, is in order.
TEST(Context, TakesCallsOfSeveralThreadsInTurn) {
  World world({1});
  cprt_context *context = world.context(0);
  for (int step = 0; step < 2; ++step)
    std::thread([&] {
      for (auto [name, call] : secondCalls)
        if (std::string(name) != "free")
          call(context);
    }).join();
  EXPECT_EQ(world.failures(), "");
}

/// What a process has open, and the bytes that it has not given back.
static std::pair<int64_t, int64_t> held() {
  int64_t open = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    (void)entry;
    ++open;
  }
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  return {open, int64_t(mallinfo2().uordblks)};
#else
  return {open, 0};
#endif
}

/// As programs of bridges have them, whose groups are of several axes.
TEST(World, AThousandLeaveNothing) {
  auto live = [] {
    World world({2, 2, 2});
    world.run([](int64_t, cprt_context *context) {
      for (const Sizes &axes : {Sizes{1}, Sizes{0, 1}, Sizes{1, 2}}) {
        Tensor in(CPRT_F64, Sizes{4}), out(CPRT_F64, Sizes{4});
        Call(1).in(in).out(out).array(axes).run(cprt_all_reduce, context);
      }
    });
    EXPECT_EQ(world.failures(), "");
  };
  for (int i = 0; i < 100; ++i)
    live();
  auto [openBefore, bytesBefore] = held();
  for (int i = 100; i < 1000; ++i)
    live();
  auto [open, bytes] = held();
  EXPECT_EQ(open, openBefore);
  // Less than a word for each world: threads that end leave what they cache.
  EXPECT_LT(bytes - bytesBefore, 900 * 8);
}

TEST(Launch, RunsTheProgramsOwnCode) {
  World world({2});
  int number = 1;
  void *buffers[] = {&number};
  cprt_launch(
      world.context(0), nullptr,
      [](void *const *list) { *static_cast<int *>(list[0]) = 2; }, buffers);
  EXPECT_EQ(number, 2);
  cprt_launch(world.context(1), nullptr, nullptr, buffers);
  EXPECT_EQ(cprt_context_status(world.context(1)), CPRT_INVALID_ARGUMENT);
}

TEST(CProgram, Sums) {
  World world({3});
  world.run([](int64_t rank, cprt_context *context) {
    EXPECT_EQ(cpTestSumInC(context, double(rank + 1)), 6);
  });
  EXPECT_EQ(world.failures(), "");
}

TEST(Counters, AreSortedAndReset) {
  World world({2, 2});
  world.run([](int64_t, cprt_context *context) {
    Tensor in(CPRT_F32, Array({2})), out(CPRT_F32, Sizes{2});
    for (int64_t axis : {1, 0})
      Call().array({axis}).attr(1).in(in).out(out).run(cprt_shift, context);
    Call().array({0}).in(in).out(out).run(cprt_all_reduce, context);
  });
  cprt_counter counters[3];
  ASSERT_EQ(cprt_context_counters(world.context(0), counters, 2), 3u);
  ASSERT_EQ(cprt_context_counters(world.context(0), counters, 3), 3u);
  EXPECT_STREQ(counters[0].op, "all_reduce");
  EXPECT_STREQ(counters[1].op, "shift");
  EXPECT_EQ(counters[1].axes, 1u);
  EXPECT_EQ(counters[2].axes, 2u);
  cprt_context_reset_counters(world.context(0));
  EXPECT_EQ(cprt_context_counters(world.context(0), nullptr, 0), 0u);
}
