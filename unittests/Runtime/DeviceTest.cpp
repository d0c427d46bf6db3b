//===- DeviceTest.cpp - Ranks whose tensors are on a device ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The device is the host, with its memory set apart: what is on it is kept as
// its complement, so that a byte that is read where it should have been brought
// over is a wrong one.
//
//===----------------------------------------------------------------------===//

#include "cp/Runtime/cprt_device.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

void flip(void *to, const void *from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; ++i)
    static_cast<char *>(to)[i] = char(~static_cast<const char *>(from)[i]);
}

/// One device with one queue a rank, and what its ranks did with it.
struct FakeDevice {
  struct Queue {
    FakeDevice *of;
    std::set<void *> blocks;
    std::string text;
  };

  cprt_device table = {};
  std::set<std::string> kernels = {"copy"};
  std::vector<std::string> calls;
  int64_t mostBytes = 1 << 20;
  // Ranks count at the same time.
  std::atomic<int> openQueues = 0, hostBlocks = 0, launches = 0;
  std::string fault;

  FakeDevice() {
    table.struct_size = sizeof(table);
    table.state = this;
    table.name = "fake";
    table.open = [](void *state, int64_t, void **queue, char *, size_t) {
      auto *of = static_cast<FakeDevice *>(state);
      ++of->openQueues;
      *queue = new Queue{of, {}, ""};
      return CPRT_OK;
    };
    table.close = [](void *opaque) {
      auto *queue = static_cast<Queue *>(opaque);
      --queue->of->openQueues;
      EXPECT_TRUE(queue->blocks.empty()) << "not released";
      delete queue;
    };
    table.allocate = [](void *opaque, int64_t bytes) -> void * {
      auto *queue = static_cast<Queue *>(opaque);
      if (bytes > queue->of->mostBytes)
        return nullptr;
      return *queue->blocks
                  .insert(
                      std::aligned_alloc(256, size_t(bytes / 256 + 1) * 256))
                  .first;
    };
    table.release = [](void *opaque, void *pointer) {
      static_cast<Queue *>(opaque)->blocks.erase(pointer);
      std::free(pointer);
    };
    table.allocate_host = [](void *opaque, int64_t bytes) -> void * {
      ++static_cast<Queue *>(opaque)->of->hostBlocks;
      return std::malloc(size_t(bytes));
    };
    table.release_host = [](void *opaque, void *pointer) {
      --static_cast<Queue *>(opaque)->of->hostBlocks;
      std::free(pointer);
    };
    table.free_bytes = [](void *opaque) {
      return static_cast<Queue *>(opaque)->of->mostBytes;
    };
    table.has_kernel = [](void *state, const char *op, cprt_dtype) {
      return int(static_cast<FakeDevice *>(state)->kernels.count(op));
    };
    table.run = run;
    table.launch = [](void *opaque, const cprt_kernel *kernel, void *const *) {
      auto *queue = static_cast<Queue *>(opaque);
      ++queue->of->launches;
      queue->text = "no code";
      return kernel->code ? CPRT_OK : CPRT_UNSUPPORTED;
    };
    table.upload =
        table.download = [](void *, void *to, const void *from, int64_t bytes) {
          flip(to, from, bytes);
          return CPRT_OK;
        };
    table.synchronize = [](void *opaque) {
      auto *queue = static_cast<Queue *>(opaque);
      queue->text = queue->of->fault;
      return queue->text.empty() ? CPRT_OK : CPRT_DEVICE_FAILED;
    };
    table.error = [](void *queue) {
      return static_cast<Queue *>(queue)->text.c_str();
    };
  }

  /// Copies of f32 in two dimensions, with any strides; nothing of others.
  static cprt_status run(void *opaque, const cprt_device_call *call) {
    auto *queue = static_cast<Queue *>(opaque);
    queue->of->calls.push_back(call->op);
    const cprt_buffer &from = call->ins[0], &to = call->outs[0];
    if (std::string(call->op) != "copy" || from.rank != 2)
      return CPRT_OK;
    for (int64_t i = 0; i < from.sizes[0]; ++i)
      for (int64_t j = 0; j < from.sizes[1]; ++j)
        static_cast<float *>(to.data)[i * to.strides[0] + j * to.strides[1]] =
            static_cast<float *>(
                from.data)[i * from.strides[0] + j * from.strides[1]];
    return CPRT_OK;
  }
};

class DeviceTest : public testing::Test {
protected:
  cprt_world *make(int64_t ranks, bool fallsBack = false) {
    cprt_options options = {};
    options.struct_size = sizeof(options);
    options.num_axes = 1;
    options.axis_sizes = &ranks;
    options.device = &device.table;
    options.device_fallback = fallsBack;
    char message[256] = "";
    EXPECT_EQ(cprt_threads_create(&options, &world, message, sizeof message),
              CPRT_OK)
        << message;
    return world;
  }
  cprt_context *only(bool fallsBack = false) {
    return cprt_world_context(make(1, fallsBack), 0);
  }
  void TearDown() override {
    cprt_world_destroy(world);
    EXPECT_EQ(device.openQueues, 0);
    EXPECT_EQ(device.hostBlocks, 0);
  }

  static float *bring(cprt_context *context, std::vector<float> values) {
    auto bytes = int64_t(values.size() * sizeof(float));
    void *there = cprt_device_alloc(context, bytes);
    cprt_upload(context, there, values.data(), bytes);
    return static_cast<float *>(there);
  }
  static std::vector<float> fetch(cprt_context *context, const void *there,
                                  size_t count) {
    std::vector<float> values(count);
    cprt_download(context, values.data(), there,
                  int64_t(count * sizeof(float)));
    return values;
  }

  FakeDevice device;
  cprt_world *world = nullptr;
};

// f32[2, 2], the input with rows 3 apart, to a dense one.
const int64_t copyRows[] = {1, 1, 0, 7, 0, 2, 2, 2, 3, 1, 0, 2, 2, 2, 2, 1};
// repeat of f32[2, 2] along dim 0, by 2, from rows 3 apart to rows 4 apart.
const int64_t repeatRows[] = {1, 1, 3, 8, 0, 2, 2, 2, 3, 1,
                              0, 2, 4, 2, 4, 1, 0, 2, 1};

TEST_F(DeviceTest, KernelsRunWhereTensorsAre) {
  cprt_context *context = only();
  float *in = bring(context, {1, 2, 9, 3, 4, 9});
  float *out = bring(context, {0, 0, 0, 0});
  void *buffers[] = {in, out};
  cprt_copy(context, nullptr, copyRows, buffers);
  EXPECT_STREQ(cprt_context_message(context), "");
  EXPECT_THAT(device.calls, ElementsAre("copy"));
  EXPECT_THAT(fetch(context, out, 4), ElementsAre(1, 2, 3, 4));
}

TEST_F(DeviceTest, WhatHasNoKernelIsRefused) {
  cprt_context *context = only();
  void *buffers[] = {bring(context, std::vector<float>(6)),
                     bring(context, std::vector<float>(16))};
  cprt_repeat(context, nullptr, repeatRows, buffers);
  EXPECT_EQ(cprt_context_status(context), CPRT_UNSUPPORTED);
  EXPECT_THAT(cprt_context_message(context),
              HasSubstr("repeat (call 8): fake has no kernel of it for "
                        "f32[2, 2]; let the host compute what is missing"));
}

TEST_F(DeviceTest, AllThatIsMissingIsToldAtOnce) {
  cprt_context *context = only();
  cprt_require(context, "copy 0\nhalo 2\n");
  EXPECT_STREQ(cprt_context_message(context), "");
  cprt_require(context, "attention 2\ncopy 0\nhalo 2\nssd_grad 1\n");
  EXPECT_EQ(cprt_context_status(context), CPRT_UNSUPPORTED);
  EXPECT_THAT(cprt_context_message(context),
              HasSubstr("fake has no kernel of attention (bf16), ssd_grad "
                        "(f64), which the program calls"));
}

TEST_F(DeviceTest, WhatTheHostComputesIsNotMissing) {
  cprt_context *context = only(/*fallsBack=*/true);
  cprt_require(context, "attention 2\n");
  EXPECT_STREQ(cprt_context_message(context), "");
}

TEST_F(DeviceTest, OperationsOfOnesOwnAreRefused) {
  cprt_context *context = only();
  cprt_signature signature = {"mine", nullptr, 0, nullptr, 0, nullptr, 0};
  const int64_t none[] = {0, 0, 0, 1};
  cprt_buffer read;
  EXPECT_EQ(cprt_read_call(context, &signature, none, nullptr, &read, nullptr),
            0);
  EXPECT_EQ(cprt_context_status(context), CPRT_UNSUPPORTED);
}

TEST_F(DeviceTest, TheHostComputesWhatIsMissingOnCopies) {
  cprt_context *context = only(/*fallsBack=*/true);
  float *in = bring(context, {1, 2, 9, 3, 4, 9});
  float *out = bring(context, std::vector<float>(16, 7));
  void *buffers[] = {in, out};
  cprt_repeat(context, nullptr, repeatRows, buffers);
  EXPECT_STREQ(cprt_context_message(context), "");
  // What is between the rows stays.
  EXPECT_THAT(fetch(context, out, 16),
              ElementsAre(1, 2, 7, 7, 1, 2, 7, 7, 3, 4, 7, 7, 3, 4, 7, 7));
  EXPECT_THAT(device.calls, ElementsAre("copy", "copy"));
}

TEST_F(DeviceTest, CollectivesGoThroughTheHost) {
  make(2);
  std::vector<std::vector<float>> results(2);
  auto run = [&](int64_t rank) {
    cprt_context *context = cprt_world_context(world, rank);
    float *in = bring(context, {float(10 * rank), float(10 * rank + 1)});
    float *out = bring(context, {0, 0, 0, 0});
    // axes = [0], dim = 0, order = contiguous.
    const int64_t gather[] = {1, 1, 4, 3, 0, 1, 2, 1, 0, 1, 4, 1, 1, 0, 0, 0};
    void *buffers[] = {in, out};
    cprt_all_gather(context, nullptr, gather, buffers);
    EXPECT_STREQ(cprt_context_message(context), "");
    results[size_t(rank)] = fetch(context, out, 4);
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  for (const std::vector<float> &result : results)
    EXPECT_THAT(result, ElementsAre(0, 1, 10, 11));
}

TEST_F(DeviceTest, AConstantIsBroughtOnce) {
  cprt_context *context = only();
  float value[] = {5, 6};
  void *there = cprt_constant(context, value, sizeof value);
  EXPECT_NE(there, value);
  EXPECT_EQ(cprt_constant(context, value, sizeof value), there);
  EXPECT_THAT(fetch(context, there, 2), ElementsAre(5, 6));
}

TEST_F(DeviceTest, CodeForTheHostAloneDoesNotRun) {
  cprt_context *context = only();
  static bool ran;
  ran = false;
  cprt_kernel kernel = {[](void *const *) { ran = true; }, "code", "k", 0, 1};
  cprt_launch_kernel(context, nullptr, &kernel, nullptr);
  EXPECT_EQ(device.launches, 1);
  EXPECT_STREQ(cprt_context_message(context), "");
  kernel.code = nullptr;
  cprt_launch_kernel(context, nullptr, &kernel, nullptr);
  EXPECT_EQ(cprt_context_status(context), CPRT_UNSUPPORTED);
  EXPECT_STREQ(cprt_context_message(context), "launch: fake: no code");
  EXPECT_FALSE(ran);
}

TEST_F(DeviceTest, PlainLaunchesAreRefused) {
  cprt_context *context = only();
  cprt_launch(context, nullptr, [](void *const *) { FAIL(); }, nullptr);
  EXPECT_EQ(cprt_context_status(context), CPRT_UNSUPPORTED);
  EXPECT_THAT(cprt_context_message(context), HasSubstr("compile it with"));
}

TEST_F(DeviceTest, AFaultIsKeptWhenItIsSeen) {
  cprt_context *context = only();
  device.fault = "an address is wrong";
  cprt_synchronize(context);
  EXPECT_EQ(cprt_context_status(context), CPRT_DEVICE_FAILED);
  EXPECT_STREQ(cprt_status_name(CPRT_DEVICE_FAILED), "CPRT_DEVICE_FAILED");
  EXPECT_STREQ(cprt_context_message(context),
               "synchronize: fake: an address is wrong");
}

TEST_F(DeviceTest, MemoryThatIsNotThere) {
  cprt_context *context = only();
  EXPECT_EQ(cprt_device_free_bytes(context), 1 << 20);
  EXPECT_EQ(cprt_device_alloc(context, 1 << 21), nullptr);
  EXPECT_EQ(cprt_context_status(context), CPRT_OUT_OF_MEMORY);
  EXPECT_THAT(cprt_context_message(context), HasSubstr("2097152 bytes"));
}

TEST_F(DeviceTest, TheProgramsMemoryIsTheDevices) {
  cprt_context *context = only();
  void *arena = cprt_arena(context, 100);
  ASSERT_NE(arena, nullptr);
  EXPECT_EQ(cprt_arena(context, 50), arena);
  void *block = cprt_alloc(context, 8);
  cprt_free(context, block);
  EXPECT_STREQ(cprt_context_message(context), "");
  // Tensors of callers are none of it.
  cprt_device_alloc(context, 1000);
  EXPECT_EQ(cprt_context_peak_bytes(context), 108);
}

TEST_F(DeviceTest, ADeviceThatRecordsNothingRunsPrograms) {
  cprt_context *context = only();
  cprt_program_run *program = [](cprt_context *of, cprt_stream *none,
                                 void *const *buffers) {
    const int64_t words[] = {1, 1, 0, 7, 0, 1, 1, 1, 0, 1, 1, 1};
    cprt_copy(of, none, words, buffers);
  };
  void *buffers[] = {bring(context, {1}), bring(context, {2})};
  for (int step = 0; step < 4; ++step)
    cprt_run_recorded(context, program, buffers, 2);
  EXPECT_EQ(device.calls.size(), 4U);
  EXPECT_STREQ(cprt_context_message(context), "");
}

TEST_F(DeviceTest, OnHostTakesMemoryOfTheHost) {
  cprt_context *context = only();
  float in[] = {1, 2, 9, 3, 4, 9}, out[4] = {};
  void *buffers[] = {in, out};
  cprt_on_host(context, cprt_copy, copyRows, buffers);
  EXPECT_STREQ(cprt_context_message(context), "");
  EXPECT_THAT(out, ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(device.calls.empty());
}

TEST_F(DeviceTest, ADeviceThatIsNotWholeIsRefused) {
  device.table.struct_size = 8;
  cprt_options options = {};
  options.struct_size = sizeof(options);
  options.device = &device.table;
  char message[256] = "";
  EXPECT_EQ(cprt_threads_create(&options, &world, message, sizeof message),
            CPRT_INVALID_ARGUMENT);
  EXPECT_THAT(message, HasSubstr("the device is not whole"));
}

TEST(HostTest, TheSameCallsWorkWithoutADevice) {
  cprt_options options = {};
  options.struct_size = sizeof(options);
  cprt_world *world = nullptr;
  ASSERT_EQ(cprt_threads_create(&options, &world, nullptr, 0), CPRT_OK);
  cprt_context *context = cprt_world_context(world, 0);
  float value = 3, back = 0;
  void *there = cprt_device_alloc(context, sizeof value);
  cprt_upload(context, there, &value, sizeof value);
  cprt_download(context, &back, there, sizeof back);
  cprt_synchronize(context);
  EXPECT_EQ(back, 3);
  EXPECT_EQ(cprt_device_free_bytes(context), -1);
  EXPECT_EQ(cprt_constant(context, &value, sizeof value), &value);
  static int runs;
  runs = 0;
  cprt_kernel kernel = {[](void *const *) { ++runs; }, nullptr, "k", 0, 1};
  cprt_launch_kernel(context, nullptr, &kernel, nullptr);
  EXPECT_EQ(runs, 1);
  EXPECT_STREQ(cprt_context_message(context), "");
  cprt_upload(context, nullptr, &value, sizeof value);
  EXPECT_EQ(cprt_context_status(context), CPRT_INVALID_ARGUMENT);
  cprt_world_destroy(world);
}

} // namespace
