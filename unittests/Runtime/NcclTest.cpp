//===- NcclTest.cpp - Ranks whose messages go over NCCL -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeNccl.h"
#include "Harness.h"
#include "Nccl/Transport.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <dlfcn.h>
#include <thread>

using namespace cp::test;
using cp::nccl::Api;
using testing::HasSubstr;

namespace {

/// Worlds of one axis, whose tensors are on a device.
class NcclTest : public testing::Test {
protected:
  void make(int64_t ranks, int64_t deadlineMs = 0) {
    cprt_options options = {};
    options.struct_size = sizeof(options);
    options.num_axes = 1;
    options.axis_sizes = &ranks;
    options.deadline_ms = deadlineMs;
    options.device = &device.table();
    worlds = makeNcclWorlds(options, ranks, testSeed());
  }
  void TearDown() override {
    FakeNccl::fail(cp::nccl::Success);
    // Rank 0's waits for the others'.
    for (size_t rank = worlds.size(); rank-- > 0;)
      cprt_world_destroy(worlds[rank]);
    EXPECT_EQ(FakeNccl::numComms(), 0);
  }
  cprt_context *context(int64_t rank) const {
    return cprt_world_context(worlds[size_t(rank)], rank);
  }
  void run(const std::function<void(int64_t, cprt_context *)> &body) {
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < worlds.size(); ++rank)
      threads.emplace_back(
          [&, rank] { body(int64_t(rank), context(int64_t(rank))); });
    for (std::thread &thread : threads)
      thread.join();
  }
  /// Of one number a rank, from memory of the device to it.
  std::vector<float> gather(int64_t rank, cprt_context *context) {
    auto ranks = int64_t(worlds.size());
    auto number = float(10 * rank);
    auto bytes = ranks * int64_t(sizeof(float));
    std::vector<float> all(worlds.size());
    void *buffers[] = {cprt_device_alloc(context, sizeof number),
                       cprt_device_alloc(context, bytes)};
    cprt_upload(context, buffers[0], &number, sizeof number);
    // axes = [0], dim = 0, order = contiguous.
    const int64_t words[] = {1, 1, 4,     3, 0, 1, 1, 1,
                             0, 1, ranks, 1, 1, 0, 0, 0};
    cprt_all_gather(context, nullptr, words, buffers);
    cprt_download(context, all.data(), buffers[1], bytes);
    return all;
  }

  StreamDevice device{testSeed()};
  std::vector<cprt_world *> worlds;
};

TEST_F(NcclTest, TensorsOfADeviceAreGathered) {
  for (int64_t ranks : {1, 2, 3, 8}) {
    make(ranks);
    device.hostBytes = 0;
    run([&](int64_t rank, cprt_context *context) {
      std::vector<float> all = gather(rank, context);
      EXPECT_STREQ(cprt_context_message(context), "");
      for (size_t i = 0; i < all.size(); ++i)
        EXPECT_EQ(all[i], float(10 * i));
    });
    // The tensors themselves, and what says which call a message is of.
    constexpr int64_t number = sizeof(float), header = 16;
    EXPECT_EQ(device.hostBytes, ranks * (number + ranks * number) +
                                    2 * header * ranks * (ranks - 1));
    TearDown();
    worlds.clear();
  }
}

TEST_F(NcclTest, WhatNcclFindsWrongEndsTheCall) {
  make(2);
  FakeNccl::fail(cp::nccl::RemoteError);
  run([&](int64_t rank, cprt_context *context) {
    gather(rank, context);
    EXPECT_EQ(cprt_context_status(context), CPRT_PEER_FAILED);
    EXPECT_THAT(cprt_context_message(context),
                HasSubstr("all_gather (call 3): nccl: NCCL: remote process "
                          "exited (as injected)"));
  });
}

TEST_F(NcclTest, ARankThatStaysAwayIsNamed) {
  constexpr int64_t deadlineMs = 300;
  make(3, deadlineMs);
  run([&](int64_t rank, cprt_context *context) {
    if (rank == 1)
      return;
    gather(rank, context);
    EXPECT_EQ(cprt_context_status(context), CPRT_TIMEOUT);
    EXPECT_THAT(cprt_context_message(context), HasSubstr("for ranks [1]"));
  });
}

/// What makes a world alone say so.
std::string refusal(const cprt_device *device) {
  int64_t ranks = 1;
  cprt_options options = {};
  options.struct_size = sizeof(options);
  options.num_axes = 1;
  options.axis_sizes = &ranks;
  options.device = device;
  cprt_job job = {};
  job.struct_size = sizeof(job);
  cprt_transport table;
  (new cp::nccl::Transport(FakeNccl::api(), 0, 1))->describe(table);
  cprt_world *world = nullptr;
  char message[512] = "";
  EXPECT_EQ(cprt_messages_create(&options, &job, &table, &world, message,
                                 sizeof message),
            CPRT_UNSUPPORTED);
  return message;
}

TEST(Nccl, RanksWithoutADeviceAreRefused) {
  EXPECT_THAT(refusal(nullptr),
              HasSubstr("the transport 'nccl' goes between devices, and the "
                        "ranks have none; say which (--device)"));
}

TEST(Nccl, DevicesWithoutStreamsAreRefused) {
  StreamDevice device(testSeed());
  cprt_device table = device.table();
  table.open_beside = nullptr;
  EXPECT_THAT(refusal(&table),
              HasSubstr("stream has no memory that NCCL moves; take another "
                        "transport"));
}

TEST(Nccl, ItIsLookedForWhenItIsAskedFor) {
  Api api;
  std::string message;
  if (void *found = dlopen("libnccl.so.2", RTLD_NOW)) {
    EXPECT_TRUE(api.load(message)) << message;
    dlclose(found);
    return;
  }
  EXPECT_FALSE(api.load(message));
  EXPECT_THAT(message, HasSubstr("NCCL is not found: libnccl.so.2"));
  EXPECT_THAT(message, HasSubstr("LD_LIBRARY_PATH"));
}

} // namespace
