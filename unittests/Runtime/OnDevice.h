//===- OnDevice.h - Worlds whose tensors are on a device ------ -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_RUNTIME_ONDEVICE_H
#define CP_UNITTESTS_RUNTIME_ONDEVICE_H

#include "FakeNccl.h"
#include "Harness.h"

#include "gtest/gtest.h"

#include <array>
#include <future>
#include <thread>

namespace cp::test {

/// Worlds of one axis, whose tensors are on a device.
class OnDevice : public testing::Test {
protected:
  void make(int64_t ranks, int64_t deadlineMs = 0) {
    numRanks = ranks;
    worlds = makeNcclWorlds(optionsOf(ranks, deadlineMs), ranks, testSeed());
  }
  /// Ranks of one process, which copy within the device's memory.
  void makeThreads(int64_t ranks) {
    numRanks = ranks;
    cprt_options options = optionsOf(ranks, 0);
    worlds.resize(1);
    EXPECT_EQ(cprt_threads_create(&options, worlds.data(), nullptr, 0),
              CPRT_OK);
  }
  cprt_options optionsOf(const int64_t &ranks, int64_t deadlineMs) const {
    cprt_options options = {};
    options.struct_size = sizeof(options);
    options.num_axes = 1;
    options.axis_sizes = &ranks;
    options.deadline_ms = deadlineMs;
    options.device = &device.table();
    return options;
  }
  void TearDown() override {
    FakeNccl::fail(cp::nccl::Success);
    // Rank 0's waits for the others'.
    for (size_t rank = worlds.size(); rank-- > 0;)
      cprt_world_destroy(worlds[rank]);
    EXPECT_EQ(FakeNccl::numComms(), 0);
    EXPECT_EQ(numRecordings(), 0);
  }
  cprt_context *context(int64_t rank) const {
    return cprt_world_context(worlds[size_t(rank) % worlds.size()], rank);
  }
  void run(const std::function<void(int64_t, cprt_context *)> &body) {
    std::vector<std::thread> threads;
    for (int64_t rank = 0; rank < numRanks; ++rank)
      threads.emplace_back([&, rank] { body(rank, context(rank)); });
    for (std::thread &thread : threads)
      thread.join();
  }
  /// Gathers one number a rank on the device.
  struct Gather {
    /// axes = [0], dim = 0, order = contiguous.
    std::array<int64_t, 16> words;
    std::array<void *, 2> buffers;

    Gather(cprt_context *context, int64_t ranks, float number)
        : words{1, 1, 4, 3, 0, 1, 1, 1, 0, 1, ranks, 1, 1, 0, 0, 0},
          buffers{cprt_device_alloc(context, sizeof number),
                  cprt_device_alloc(context, ranks * sizeof number)} {
      cprt_upload(context, buffers[0], &number, sizeof number);
    }
    void make(cprt_context *context) {
      cprt_all_gather(context, nullptr, words.data(), buffers.data());
    }
    void begin(cprt_context *context) {
      cprt_begin(context, nullptr, words.data(), buffers.data(),
                 cprt_all_gather);
    }
    void wait(cprt_context *context) const {
      const std::array<int64_t, 8> outs = {0, 1, 0, -1, 0, 1, words[10], 1};
      cprt_wait(context, nullptr, outs.data(), &buffers[1]);
    }
  };
  /// Gives the device what gathers, and says where.
  void *beginToGather(int64_t rank, cprt_context *context) {
    Gather gather(context, numRanks, float(10 * rank));
    gather.make(context);
    return gather.buffers[1];
  }
  std::vector<float> numbers(cprt_context *context, const void *place,
                             size_t count) {
    std::vector<float> all(count);
    cprt_download(context, all.data(), place, int64_t(count * sizeof(float)));
    return all;
  }
  /// Of one number a rank, from memory of the device to it.
  std::vector<float> gather(int64_t rank, cprt_context *context) {
    void *place = beginToGather(rank, context);
    return numbers(context, place, size_t(numRanks));
  }
  /// Brings two numbers a rank from one order to the other; both are on the
  /// device.
  void reorder(cprt_context *context, void *from, void *to, bool isZigzag) {
    // axes = [0], dim = 0, orders.
    const int64_t words[] = {1, 1, 5, 4, 0, 1, 2,         1,       0,
                             1, 2, 1, 1, 0, 0, !isZigzag, isZigzag};
    void *buffers[] = {from, to};
    cprt_reorder(context, nullptr, words, buffers);
  }
  static cprt_status awaitFailure(cprt_context *context) {
    while (cprt_context_status(context) == CPRT_OK)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return cprt_context_status(context);
  }

  /// A stream that comes to nothing before all ranks have returned, or gives
  /// up.
  void *closedGate() {
    // `wait_for` takes it by reference, and the stream outlives this call.
    static constexpr std::chrono::seconds patience{20};
    void *gate = device.openQueue();
    StreamDevice::at(gate).add([&] {
      isLate = haveReturned.get_future().wait_for(patience) !=
               std::future_status::ready;
    });
    return gate;
  }
  void open(void *gate) {
    haveReturned.set_value();
    device.table().close(gate);
    EXPECT_FALSE(isLate);
  }
  std::promise<void> haveReturned;
  bool isLate = false;

  StreamDevice device{testSeed()};
  int64_t numRanks = 0;
  /// One, or one for each rank.
  std::vector<cprt_world *> worlds;
};

} // namespace cp::test

#endif // CP_UNITTESTS_RUNTIME_ONDEVICE_H
