//===- CallerTest.cpp - Streams and memory of a caller's own --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamDevice.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <chrono>
#include <cstdlib>
#include <set>

using namespace cp::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Memory that knows what it has given, and for which stream.
struct CountingAllocator {
  explicit CountingAllocator(const cprt_device *device = nullptr)
      : device(device) {
    table.struct_size = sizeof(table);
    table.state = this;
    table.allocate = [](void *state, int64_t bytes, void *stream) {
      return static_cast<CountingAllocator *>(state)->allocate(bytes, stream);
    };
    table.release = [](void *state, void *pointer, void *stream) {
      static_cast<CountingAllocator *>(state)->release(pointer, stream);
    };
  }
  ~CountingAllocator() { EXPECT_TRUE(live.empty()) << "not given back"; }

  void *allocate(int64_t bytes, void *stream) {
    std::lock_guard<std::mutex> lock(mutex);
    if (bytes > mostBytes)
      return nullptr;
    ++count;
    void *block = device ? device->allocate(stream, bytes)
                         : std::aligned_alloc(64, size_t(bytes / 64 + 1) * 64);
    live[block] = stream;
    return block;
  }
  void release(void *pointer, void *stream) {
    std::lock_guard<std::mutex> lock(mutex);
    EXPECT_EQ(live.at(pointer), stream);
    live.erase(pointer);
    if (device)
      device->release(stream, pointer);
    else
      std::free(pointer);
  }

  cprt_allocator table = {};
  const cprt_device *device;
  int64_t mostBytes = 1 << 20;
  std::mutex mutex;
  int count = 0;
  std::map<void *, void *> live;
};

class CallerTest : public testing::Test {
protected:
  ~CallerTest() override { end(); }
  /// Before what the world uses goes.
  void end() {
    cprt_world_destroy(world);
    world = nullptr;
  }

  /// The text of what is wrong with the options, or "".
  std::string make(int64_t ranks = 1) {
    options.struct_size = sizeof(options);
    options.num_axes = 1;
    options.axis_sizes = &ranks;
    char message[512] = "";
    cprt_threads_create(&options, &world, message, sizeof message);
    return message;
  }
  cprt_context *context(int64_t rank = 0) {
    return cprt_world_context(world, rank);
  }

  cprt_options options = {};
  cprt_world *world = nullptr;
};

// f32[2], dense, to the same.
const int64_t copyTwo[] = {1, 1, 0, 7, 0, 1, 2, 1, 0, 1, 2, 1};

} // namespace

/// A caller's stream writes what a context reads, and reads what it has
/// written, and nobody waits in between: what is late is late on purpose.
TEST_F(CallerTest, StreamsAreOrdered) {
  StreamDevice device(/*seed=*/1);
  options.device = &device.table();
  ASSERT_EQ(make(), "");
  auto *mine = &StreamDevice::at(device.openQueue());
  constexpr int64_t bytes = 2 * sizeof(float);
  void *in = cprt_device_alloc(context(), bytes);
  void *out = cprt_device_alloc(context(), bytes);
  auto *here = reinterpret_cast<float *>(device.reach(in, bytes));
  auto *there = reinterpret_cast<float *>(device.reach(out, bytes));
  constexpr int steps = 50;
  std::vector<float> results(2 * steps);
  auto beLate = [] {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  };
  for (int step = 0; step < steps; ++step) {
    mine->add([=] {
      beLate();
      here[0] = float(step);
      here[1] = float(-step);
    });
    cprt_run_after(context(), mine);
    void *buffers[] = {in, out};
    cprt_copy(context(), nullptr, copyTwo, buffers);
    cprt_run_before(context(), mine);
    mine->add([=, &results] {
      beLate();
      results[size_t(2 * step)] = there[0];
      results[size_t(2 * step + 1)] = there[1];
      // For the next step's copy to be seen.
      there[0] = there[1] = -1000;
    });
  }
  mine->drain();
  EXPECT_STREQ(cprt_context_message(context()), "");
  for (int step = 0; step < steps; ++step) {
    EXPECT_EQ(results[size_t(2 * step)], float(step));
    EXPECT_EQ(results[size_t(2 * step + 1)], float(-step));
  }
  delete mine;
  end();
}

TEST_F(CallerTest, WithoutADeviceThereIsNothingToOrder) {
  ASSERT_EQ(make(), "");
  cprt_run_after(context(), nullptr);
  cprt_run_before(context(), nullptr);
  EXPECT_STREQ(cprt_context_message(context()), "");
}

TEST_F(CallerTest, ADeviceWithoutStreams) {
  StreamDevice device(/*seed=*/2);
  cprt_device older = device.table();
  older.run_after = older.run_before = nullptr;
  options.device = &older;
  ASSERT_EQ(make(2), "");
  cprt_run_after(context(0), nullptr);
  EXPECT_EQ(cprt_context_status(context(0)), CPRT_UNSUPPORTED);
  EXPECT_THAT(cprt_context_message(context(0)),
              HasSubstr("run_after: stream has no order with streams of "
                        "others; call cprt_synchronize"));
  cprt_run_before(context(1), nullptr);
  EXPECT_THAT(cprt_context_message(context(1)), HasSubstr("run_before: "));
  end();
}

/// What was started before it may go on.
TEST_F(CallerTest, StreamsWaitAfterAFailureToo) {
  StreamDevice device(/*seed=*/5);
  static int befores, afters;
  befores = afters = 0;
  cprt_device table = device.table();
  table.run_before = [](void *, void *) {
    ++befores;
    return CPRT_DEVICE_FAILED;
  };
  table.run_after = [](void *, void *) {
    ++afters;
    return CPRT_OK;
  };
  options.device = &table;
  ASSERT_EQ(make(), "");
  cprt_context_fail(context(), CPRT_UNSUPPORTED, "a caller's own");
  cprt_run_after(context(), nullptr);
  cprt_run_before(context(), nullptr);
  EXPECT_EQ(afters, 0);
  EXPECT_EQ(befores, 1);
  EXPECT_STREQ(cprt_context_message(context()), "a caller's own");
  end();
}

TEST_F(CallerTest, MemoryOfTheHost) {
  CountingAllocator memory;
  options.allocator = &memory.table;
  ASSERT_EQ(make(), "");
  EXPECT_EQ(memory.count, 0);
  cprt_context *rank = context();
  void *block = cprt_alloc(rank, 100);
  EXPECT_TRUE(memory.live.count(block));
  EXPECT_TRUE(memory.live.count(cprt_device_alloc(rank, 10)));
  void *arena = cprt_arena(rank, 50);
  EXPECT_TRUE(memory.live.count(arena));
  EXPECT_NE(cprt_arena(rank, 60), nullptr);
  EXPECT_NE(cprt_alloc(rank, 0), nullptr);
  cprt_free(rank, block);
  EXPECT_EQ(memory.live.size(), 3U);
  EXPECT_EQ(cprt_context_peak_bytes(rank), 160);
  EXPECT_EQ(memory.count, 5);
  EXPECT_STREQ(cprt_context_message(rank), "");
  memory.mostBytes = 8;
  EXPECT_EQ(cprt_alloc(rank, 9), nullptr);
  EXPECT_EQ(cprt_context_status(rank), CPRT_OUT_OF_MEMORY);
  end();
}

/// Of each rank for its own queue, also what copies of constants take, and what
/// is brought to the host and is not dense.
TEST_F(CallerTest, MemoryOfADevice) {
  StreamDevice device(/*seed=*/3);
  CountingAllocator memory(&device.table());
  options.device = &device.table();
  options.allocator = &memory.table;
  ASSERT_EQ(make(2), "");
  for (int64_t rank : {0, 1}) {
    EXPECT_NE(cprt_arena(context(rank), 1000), nullptr);
    EXPECT_NE(cprt_device_alloc(context(rank), 1000), nullptr);
    const float constant[] = {1, 2};
    EXPECT_NE(cprt_constant(context(rank), constant, sizeof constant), nullptr);
    EXPECT_STREQ(cprt_context_message(context(rank)), "");
  }
  EXPECT_EQ(memory.live.size(), 6U);
  std::set<void *> streams;
  for (const auto &[block, stream] : memory.live)
    streams.insert(stream);
  EXPECT_EQ(streams.size(), 2U);
  EXPECT_EQ(streams.count(nullptr), 0U);
  end();
}

TEST_F(CallerTest, AnAllocatorThatIsNotWholeIsRefused) {
  CountingAllocator memory;
  options.allocator = &memory.table;
  memory.table.struct_size = 8;
  EXPECT_THAT(make(), HasSubstr("the allocator is not whole, expected "
                                "struct_size 32"));
  memory.table.struct_size = sizeof(cprt_allocator);
  memory.table.release = nullptr;
  EXPECT_THAT(make(), HasSubstr("allocate and release not null"));
}

TEST_F(CallerTest, RanksHaveTheCardsFromANumberOn) {
  StreamDevice device(/*seed=*/4);
  static std::vector<int64_t> numbers, shared;
  numbers.clear();
  shared.clear();
  cprt_device table = device.table();
  table.open = [](void *state, int64_t number, void **queue, char *, size_t) {
    numbers.push_back(number);
    *queue = static_cast<StreamDevice *>(state)->openQueue();
    return CPRT_OK;
  };
  table.shares_memory = [](void *, int64_t number, int64_t other) {
    shared.push_back(number);
    EXPECT_EQ(other, 3);
    return 1;
  };
  options.device = &table;
  options.device_number = 1 + 3;
  ASSERT_EQ(make(2), "");
  EXPECT_THAT(numbers, ElementsAre(3, 4));
  EXPECT_THAT(shared, ElementsAre(3, 4));
  end();
}
