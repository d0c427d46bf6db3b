//===- NcclTest.cpp - Ranks whose messages go over NCCL -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nccl/Transport.h"
#include "OnDevice.h"

#include "gmock/gmock.h"

#include <dlfcn.h>

using namespace cp::test;
using cp::nccl::Api;
using testing::HasSubstr;

namespace {

using NcclTest = OnDevice;

TEST_F(NcclTest, WhatADeviceStillMovesAWorldWaitsForBeforeItGoes) {
  make(2);
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(gather(1, context(1)), (std::vector<float>{0, 10}));
    EXPECT_STREQ(cprt_context_message(context(1)), "");
    cprt_world_destroy(worlds[1]);
  });
  beginToGather(0, context(0));
  cprt_world_destroy(worlds[0]);
  late.join();
  worlds.clear();
}

/// Nobody waits on the host, and all that a rank hears of it is its status.
TEST_F(NcclTest, ARankHearsOfWhatItsDeviceWaitsForInVain) {
  constexpr int64_t deadlineMs = 200;
  make(2, deadlineMs);
  beginToGather(0, context(0));
  EXPECT_EQ(awaitFailure(context(0)), CPRT_TIMEOUT);
  EXPECT_STREQ(cprt_context_message(context(0)),
               "all_gather (call 3): waited 200 ms for ranks [1]; look at what "
               "they do, or raise the deadline");
}

TEST_F(NcclTest, ARankThatFailsLetsTheDevicesOfOthersGo) {
  make(3);
  for (int64_t rank : {0, 2})
    beginToGather(rank, context(rank));
  cprt_context_fail(context(1), CPRT_INVALID_ARGUMENT, "no such file");
  for (int64_t rank : {0, 2}) {
    EXPECT_EQ(awaitFailure(context(rank)), CPRT_PEER_FAILED);
    EXPECT_STREQ(cprt_context_message(context(rank)),
                 "rank 1 failed with CPRT_INVALID_ARGUMENT: no such file");
  }
}

TEST_F(NcclTest, CallsThatDifferAreFoundBehindThem) {
  constexpr int64_t bytes = 2 * sizeof(float);
  make(2);
  run([&](int64_t rank, cprt_context *context) {
    if (rank == 0) {
      gather(rank, context);
    } else {
      void *places[] = {cprt_device_alloc(context, bytes),
                        cprt_device_alloc(context, bytes)};
      const float own[] = {1, 2};
      cprt_upload(context, places[0], own, bytes);
      reorder(context, places[0], places[1], /*isZigzag=*/true);
      cprt_synchronize(context);
    }
    EXPECT_TRUE(cprt_context_status(context) == CPRT_MISMATCH ||
                cprt_context_status(context) == CPRT_PEER_FAILED);
    EXPECT_THAT(cprt_context_message(context),
                HasSubstr("all_gather (call 3)"));
    EXPECT_THAT(cprt_context_message(context), HasSubstr("reorder (call 4)"));
  });
}

/// Their messages differ in size, so that none of them comes.
TEST_F(NcclTest, CallsThatDifferAreFoundWhereNobodyWaits) {
  constexpr int64_t bytes = 2 * sizeof(float);
  make(2);
  run([&](int64_t rank, cprt_context *context) {
    if (rank == 0) {
      beginToGather(rank, context);
    } else {
      void *places[] = {cprt_device_alloc(context, bytes),
                        cprt_device_alloc(context, bytes)};
      reorder(context, places[0], places[1], /*isZigzag=*/true);
    }
    cprt_status status = awaitFailure(context);
    EXPECT_TRUE(status == CPRT_MISMATCH || status == CPRT_PEER_FAILED);
    EXPECT_THAT(cprt_context_message(context),
                HasSubstr("all_gather (call 3)"));
    EXPECT_THAT(cprt_context_message(context), HasSubstr("reorder (call 4)"));
  });
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

/// Ranks of a machine may be numbered in any way.
TEST(Nccl, ARankHasTheCardOfItsNumberOnItsMachine) {
  static thread_local int64_t opened;
  StreamDevice device(testSeed());
  cprt_device table = device.table();
  table.open = [](void *state, int64_t number, void **queue, char *, size_t) {
    opened = number;
    *queue = static_cast<StreamDevice *>(state)->openQueue();
    return CPRT_OK;
  };
  int64_t size = 2;
  cprt_options options = {};
  options.struct_size = sizeof(options);
  options.num_axes = 1;
  options.axis_sizes = &size;
  options.device = &table;
  std::string address = freshAddress();
  Mailbox mailbox(size, testSeed());
  cprt_world *worlds[2] = {};
  auto join = [&](int64_t rank) {
    cprt_job job = {};
    job.rank = rank;
    job.address = address.c_str();
    job.local_rank = size - rank;
    std::string message;
    EXPECT_EQ(joinByMailbox(mailbox, options, job, &worlds[rank], message),
              CPRT_OK)
        << message;
    EXPECT_EQ(opened, size - rank - 1);
  };
  std::thread other(join, 1);
  join(0);
  other.join();
  cprt_world_destroy(worlds[1]);
  cprt_world_destroy(worlds[0]);
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
