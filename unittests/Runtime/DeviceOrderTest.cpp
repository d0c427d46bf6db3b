//===- DeviceOrderTest.cpp - What a device does in its own order ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Context.h"
#include "OnDevice.h"

#include "cp/Layout/Step.h"

#include "gmock/gmock.h"

#include <cmath>
#include <cstring>
#include <future>

using namespace cp::test;

namespace {

/// Over NCCL, whose ranks share nothing.
class NcclOrderTest : public OnDevice {
protected:
  /// Brings two numbers a rank to zigzag order and back, `times` times, which
  /// is odd, and gives where they are then.
  void *reorderAgain(int64_t rank, cprt_context *context, int64_t times) {
    constexpr int64_t bytes = 2 * sizeof(float);
    const float own[] = {float(2 * rank), float(2 * rank + 1)};
    void *places[] = {cprt_device_alloc(context, bytes),
                      cprt_device_alloc(context, bytes)};
    cprt_upload(context, places[0], own, bytes);
    for (int64_t i = 0; i < times; ++i)
      reorder(context, places[i % 2], places[(i + 1) % 2], i % 2 == 0);
    return places[1];
  }
  std::vector<float> inZigzag(int64_t rank) const {
    return {float(rank), float(2 * numRanks - 1 - rank)};
  }

  /// A scan of one state a rank, which is 1 more than the rank, with decays of
  /// a half; on the device.
  struct Scan {
    std::vector<int64_t> words;
    /// Decay and state: inputs, outputs, total.
    std::array<void *, 6> buffers;

    Scan(cprt_context *context, int64_t rank, int64_t algorithm)
        : words{2, 4, 6, 5} {
      const float own[] = {0.5F, float(rank + 1)};
      for (size_t i = 0; i < buffers.size(); ++i) {
        words.insert(words.end(), {0, 1, 1, 1});
        buffers[i] = cprt_device_alloc(context, sizeof(float));
      }
      // axes = [0], order = contiguous, not in reverse, with a total.
      words.insert(words.end(), {algorithm, 1, 0, 0, 0, 1});
      for (size_t i : {0, 1})
        cprt_upload(context, buffers[i], &own[i], sizeof(float));
    }
    void make(cprt_context *context) {
      cprt_scan_state(context, nullptr, words.data(), buffers.data());
    }
  };
  void expectScanned(int64_t rank, cprt_context *context, const Scan &scan) {
    float decay = 1, state = 0;
    auto expect = [&](size_t first) {
      EXPECT_EQ(numbers(context, scan.buffers[first], 1)[0], decay);
      EXPECT_EQ(numbers(context, scan.buffers[first + 1], 1)[0], state);
    };
    for (int64_t each = 0; each < numRanks; ++each) {
      if (each == rank)
        expect(2);
      decay *= 0.5F;
      state = 0.5F * state + float(each + 1);
    }
    expect(4);
    EXPECT_STREQ(cprt_context_message(context), "");
  }

  /// Causal attention of a query, a key and a value a rank, and its backward
  /// pass: of ones, of ever larger keys, and of the ranks' numbers.
  struct Ring {
    /// q, k, v, o, lse, the cotangent of o, dq, dk, dv.
    std::array<void *, 9> places;
    int64_t scale = 0;

    Ring(cprt_context *context, int64_t rank) {
      const float own[] = {1, keyOf(rank), float(rank), 0, 0, 1, 0, 0, 0};
      for (size_t i = 0; i < places.size(); ++i) {
        places[i] = cprt_device_alloc(context, sizeof(float));
        cprt_upload(context, places[i], &own[i], sizeof(float));
      }
      const double one = 1;
      std::memcpy(&scale, &one, sizeof scale);
    }
    void run(cprt_context *context, cprt_op *op, std::vector<size_t> ins,
             const std::vector<size_t> &outs) {
      // axes = [0], causal, orders = [contiguous], window = 0.
      std::vector<int64_t> words = {int64_t(ins.size()), int64_t(outs.size()),
                                    7, 6};
      std::vector<void *> buffers;
      ins.insert(ins.end(), outs.begin(), outs.end());
      for (size_t i : ins) {
        bool isLse = i == 4;
        words.insert(words.end(), {0, isLse ? 3 : 4});
        words.insert(words.end(), isLse ? 6 : 8, 1);
        buffers.push_back(places[i]);
      }
      words.insert(words.end(), {1, 0, 1, 1, 0, scale, 0});
      op(context, nullptr, words.data(), buffers.data());
    }
    void make(cprt_context *context) {
      run(context, cprt_ring_attention, {0, 1, 2}, {3, 4});
      run(context, cprt_ring_attention_grad, {0, 1, 2, 3, 4, 5}, {6, 7, 8});
    }
  };
  static float keyOf(int64_t rank) { return 0.25F * float(rank); }
  /// What each query sees of the keys up to its own, added up the plain way.
  void expectAttended(int64_t rank, cprt_context *context, const Ring &ring) {
    double o = 0, dq = 0, dk = 0, dv = 0, lse = 0;
    for (int64_t query = 0; query < numRanks; ++query) {
      double sum = 0, mean = 0;
      for (int64_t key = 0; key <= query; ++key) {
        sum += std::exp(keyOf(key));
        mean += std::exp(keyOf(key)) * double(key);
      }
      mean /= sum;
      auto weight = [&](int64_t key) { return std::exp(keyOf(key)) / sum; };
      if (query >= rank) {
        dv += weight(rank);
        dk += weight(rank) * (double(rank) - mean);
      }
      if (query != rank)
        continue;
      o = mean;
      lse = std::log(sum);
      for (int64_t key = 0; key <= query; ++key)
        dq += weight(key) * (double(key) - mean) * keyOf(key);
    }
    const std::pair<size_t, double> expected[] = {
        {3, o}, {4, lse}, {6, dq}, {7, dk}, {8, dv}};
    for (auto [place, value] : expected)
      EXPECT_NEAR(numbers(context, ring.places[place], 1)[0], value, 1e-5)
          << place;
    EXPECT_STREQ(cprt_context_message(context), "");
  }
  using MakeFn = std::function<void(int64_t rank, cprt_context *context)>;
  /// What cannot be started on one rank's device is that rank's failure, and
  /// nobody waits for what it has not done.
  void expectTold(const char *kernel, const MakeFn &make) {
    SCOPED_TRACE(kernel);
    constexpr int64_t culprit = 1;
    device.broken = {kernel,
                     &StreamDevice::at(context(culprit)->queue->handle())};
    auto start = std::chrono::steady_clock::now();
    run([&](int64_t rank, cprt_context *context) {
      // Who waits for nothing in one call learns of it in the next.
      for (int i = 0; i < 2; ++i)
        make(rank, context);
      EXPECT_EQ(awaitFailure(context),
                rank == culprit ? CPRT_DEVICE_FAILED : CPRT_PEER_FAILED);
      EXPECT_THAT(cprt_context_message(context),
                  testing::HasSubstr("out of order"));
    });
    EXPECT_LT(std::chrono::steady_clock::now() - start,
              std::chrono::seconds(20));
    device.broken = {};
    TearDown();
    worlds.clear();
  }
  void expectAllTold(const std::function<void()> &makeWorlds) {
    for (int64_t algorithm = 0; algorithm < 5; ++algorithm) {
      SCOPED_TRACE(algorithm);
      makeWorlds();
      // In the transposed scan of one state only the first rank combines any.
      const char *kernel = algorithm == 4 ? "join_decays" : "join_states";
      expectTold(kernel, [&](int64_t rank, cprt_context *context) {
        Scan(context, rank, algorithm).make(context);
      });
    }
    for (const char *kernel :
         {"attention", "attention_merge", "attention_grad_block"}) {
      makeWorlds();
      expectTold(kernel, [&](int64_t rank, cprt_context *context) {
        Ring(context, rank).make(context);
      });
    }
  }
};

/// Ranks of one process, which copy within the memory of a device.
using SharedDeviceTest = NcclOrderTest;

TEST_F(NcclOrderTest, TensorsOfADeviceAreGathered) {
  for (int64_t ranks : {1, 2, 3, 8}) {
    make(ranks);
    device.hostBytes = 0;
    run([&](int64_t rank, cprt_context *context) {
      std::vector<float> all = gather(rank, context);
      EXPECT_STREQ(cprt_context_message(context), "");
      for (size_t i = 0; i < all.size(); ++i)
        EXPECT_EQ(all[i], float(10 * i));
    });
    // The tensors themselves, and what says which call a message is of: a
    // place each, there and back.
    constexpr int64_t number = sizeof(float), header = 64;
    EXPECT_EQ(device.hostBytes, ranks * (number + ranks * number) +
                                    2 * 2 * header * ranks * (ranks - 1));
    TearDown();
    worlds.clear();
  }
}

/// Rank 1 comes when the call of rank 0 has returned.
TEST_F(NcclOrderTest, TheHostDoesNotWaitForWhatTheDeviceMoves) {
  make(2);
  std::promise<void> returned;
  run([&](int64_t rank, cprt_context *context) {
    if (rank == 1)
      returned.get_future().wait();
    void *place = beginToGather(rank, context);
    if (rank == 0)
      returned.set_value();
    EXPECT_EQ(numbers(context, place, 2), (std::vector<float>{0, 10}));
    EXPECT_STREQ(cprt_context_message(context), "");
  });
}

TEST_F(NcclOrderTest, TheDeviceKeepsTheOrderThatTheHostRunsAheadOf) {
  make(4);
  run([&](int64_t rank, cprt_context *context) {
    const void *place = reorderAgain(rank, context, 101);
    EXPECT_EQ(numbers(context, place, 2), inZigzag(rank));
    EXPECT_STREQ(cprt_context_message(context), "");
  });
}

/// Its queues stand still until all ranks have returned.
TEST_F(SharedDeviceTest, TheHostDoesNotWaitForWhatTheDeviceMoves) {
  makeThreads(4);
  void *gate = closedGate();
  // Of two rounds.
  constexpr int64_t size = 2 * cp::sharedSumElements;
  const std::vector<float> ones(size, 1);
  std::vector<void *> places(4), sums(4);
  run([&](int64_t rank, cprt_context *context) {
    cprt_run_after(context, gate);
    places[size_t(rank)] = reorderAgain(rank, context, 101);
    // axes = [0].
    const int64_t words[] = {1, 1, 2, 3, 0, 1, size, 1, 0, 1, size, 1, 1, 0};
    void *buffers[] = {cprt_device_alloc(context, size * 4),
                       cprt_device_alloc(context, size * 4)};
    cprt_upload(context, buffers[0], ones.data(), size * 4);
    cprt_all_reduce(context, nullptr, words, buffers);
    sums[size_t(rank)] = buffers[1];
  });
  open(gate);
  run([&](int64_t rank, cprt_context *context) {
    EXPECT_EQ(numbers(context, places[size_t(rank)], 2), inZigzag(rank));
    EXPECT_EQ(numbers(context, sums[size_t(rank)], size),
              std::vector<float>(size, 4));
    EXPECT_STREQ(cprt_context_message(context), "");
  });
}

/// Large ones in two rounds; rank 1 comes when both calls of rank 0 have
/// returned, of which one is deferred.
TEST_F(NcclOrderTest, TheDeviceSumsWhatItIsSent) {
  constexpr int64_t size = 2 * cp::sharedSumElements + 6, bytes = size * 4;
  make(3);
  std::promise<void> returned;
  std::shared_future<void> all = returned.get_future().share();
  device.hostBytes = 0;
  run([&](int64_t rank, cprt_context *context) {
    if (rank == 1)
      all.wait();
    std::vector<float> own(size);
    for (size_t i = 0; i < own.size(); ++i)
      own[i] = 0.1F * float(rank + 1) + float(i % 1000);
    // axes = [0].
    const int64_t words[] = {1, 1, 2, 3, 0, 1, size, 1, 0, 1, size, 1, 1, 0};
    void *buffers[3];
    for (void *&buffer : buffers)
      buffer = cprt_device_alloc(context, bytes);
    cprt_upload(context, buffers[0], own.data(), bytes);
    void *deferred[] = {buffers[0], buffers[2]};
    cprt_begin(context, nullptr, words, deferred, cprt_all_reduce);
    cprt_all_reduce(context, nullptr, words, buffers);
    if (rank == 0)
      returned.set_value();
    const int64_t outs[] = {0, 1, 0, -1, 0, 1, size, 1};
    cprt_wait(context, nullptr, outs, &deferred[1]);
    for (const void *place : {buffers[1], buffers[2]}) {
      std::vector<float> sums = numbers(context, place, size);
      for (size_t i = 0; i < sums.size(); ++i) {
        auto rest = float(i % 1000);
        ASSERT_EQ(sums[i], (0.1F + rest) + (0.2F + rest) + (0.3F + rest));
      }
    }
    EXPECT_STREQ(cprt_context_message(context), "");
  });
  EXPECT_EQ(device.numStarted("sum_rows"), 2 * 3);
  // What tests bring and take, and headers.
  EXPECT_LT(device.hostBytes, 3 * (3 * bytes + 10'000));
}

TEST_F(NcclOrderTest, BlocksGoRoundOnTheDeviceAndTheHostGoesOn) {
  for (int64_t ranks : {2, 5}) {
    make(ranks);
    std::promise<void> returned;
    std::shared_future<void> first = returned.get_future().share();
    run([&](int64_t rank, cprt_context *context) {
      if (rank != 1)
        first.wait();
      Ring ring(context, rank);
      ring.make(context);
      if (rank == 1)
        returned.set_value();
      expectAttended(rank, context, ring);
    });
    TearDown();
    worlds.clear();
  }
}

TEST_F(SharedDeviceTest, BlocksGoRoundInTheDevicesOrder) {
  makeThreads(4);
  void *gate = closedGate();
  std::vector<std::unique_ptr<Ring>> rings(4);
  run([&](int64_t rank, cprt_context *context) {
    cprt_run_after(context, gate);
    rings[size_t(rank)] = std::make_unique<Ring>(context, rank);
    rings[size_t(rank)]->make(context);
  });
  open(gate);
  run([&](int64_t rank, cprt_context *context) {
    expectAttended(rank, context, *rings[size_t(rank)]);
  });
}

TEST_F(NcclOrderTest, WhatADeviceDoesNotStartIsToldAtOnce) {
  expectAllTold([&] { make(3); });
}

TEST_F(SharedDeviceTest, WhatADeviceDoesNotStartIsToldAtOnce) {
  expectAllTold([&] { makeThreads(3); });
}

/// By those who wait in turn for all ranks before and behind them.
TEST_F(NcclOrderTest, StatesAreCombinedOnTheDeviceAndTheHostGoesOn) {
  make(3);
  for (int64_t algorithm = 0; algorithm < 5; ++algorithm) {
    std::promise<void> returned;
    std::shared_future<void> first = returned.get_future().share();
    run([&](int64_t rank, cprt_context *context) {
      if (rank != 2)
        first.wait();
      Scan scan(context, rank, algorithm);
      scan.make(context);
      if (rank == 2)
        returned.set_value();
      expectScanned(rank, context, scan);
    });
  }
  EXPECT_GT(device.numStarted("join_states"), 0);
}

TEST_F(SharedDeviceTest, StatesAreCombinedInTheDevicesOrder) {
  makeThreads(4);
  void *gate = closedGate();
  std::vector<std::vector<Scan>> scans(4);
  run([&](int64_t rank, cprt_context *context) {
    cprt_run_after(context, gate);
    for (int64_t algorithm = 0; algorithm < 5; ++algorithm) {
      scans[size_t(rank)].emplace_back(context, rank, algorithm);
      scans[size_t(rank)].back().make(context);
    }
  });
  open(gate);
  run([&](int64_t rank, cprt_context *context) {
    for (const Scan &scan : scans[size_t(rank)])
      expectScanned(rank, context, scan);
  });
}

/// They are the same in each step: the host has no part in it from the second
/// one on.
TEST_F(SharedDeviceTest, PlacesAreBroughtOnce) {
  makeThreads(2);
  run([&](int64_t rank, cprt_context *context) {
    constexpr int64_t bytes = 4 * sizeof(int64_t);
    // axes = [0], orders = [zigzag].
    const int64_t words[] = {0, 1, 4, 3, CPRT_I64, 1, 4, 1, 1, 0, 1, 1};
    void *place = cprt_device_alloc(context, bytes);
    for (int step = 0; step < 3; ++step)
      cprt_positions(context, nullptr, words, &place);
    std::vector<int64_t> rows(4);
    cprt_download(context, rows.data(), place, bytes);
    EXPECT_EQ(rows, rank == 0 ? (std::vector<int64_t>{0, 1, 6, 7})
                              : (std::vector<int64_t>{2, 3, 4, 5}));
    EXPECT_STREQ(cprt_context_message(context), "");
  });
  EXPECT_EQ(device.hostBytes, 2 * 2 * 4 * int64_t(sizeof(int64_t)));
}

/// Rank 1 comes late to what is deferred, while rank 0 computes on its device.
TEST_F(NcclOrderTest, DeferredCallsTravelBesideTheDevicesWork) {
  make(2, /*deadlineMs=*/5'000);
  std::promise<void> computed;
  run([&](int64_t rank, cprt_context *context) {
    Gather first(context, 2, float(10 * rank)),
        second(context, 2, float(7 + rank));
    if (rank == 1)
      computed.get_future().wait();
    first.begin(context);
    second.begin(context);
    if (rank == 0) {
      // Copies of the device's, which the host sees the end of.
      const float number = 3;
      void *places[] = {cprt_device_alloc(context, sizeof number),
                        cprt_device_alloc(context, sizeof number)};
      cprt_upload(context, places[0], &number, sizeof number);
      const int64_t words[] = {1, 1, 0, -1, 0, 1, 1, 1, 0, 1, 1, 1};
      cprt_copy(context, nullptr, words, places);
      void *queue = nullptr;
      cprt_run_before(context, queue = device.openQueue());
      EXPECT_EQ(device.table().synchronize(queue), CPRT_OK);
      device.table().close(queue);
      computed.set_value();
    }
    // In another order than they were begun.
    second.wait(context);
    EXPECT_EQ(numbers(context, second.buffers[1], 2),
              (std::vector<float>{7, 8}));
    first.wait(context);
    EXPECT_EQ(numbers(context, first.buffers[1], 2),
              (std::vector<float>{0, 10}));
    EXPECT_STREQ(cprt_context_message(context), "");
    cprt_counter counter = {};
    EXPECT_EQ(cprt_context_counters(context, &counter, 1), 1U);
    EXPECT_EQ(counter.calls, 2);
    EXPECT_EQ(counter.bytes_sent, 2 * int64_t(sizeof(float)));
  });
}

/// Its inputs are what the rank's device has made so far, and what comes behind
/// the wait is behind it.
TEST_F(NcclOrderTest, DeferredCallsAreInTheDevicesOrder) {
  constexpr int64_t ranks = 4, times = 100, bytes = ranks * sizeof(float);
  make(ranks);
  run([&](int64_t rank, cprt_context *context) {
    auto *result =
        static_cast<char *>(cprt_device_alloc(context, times * bytes));
    Gather gather(context, ranks, 0);
    const int64_t row[] = {1, 1, 0, -1, 0, 1, 1, 1, 0, 1, 1, 1};
    const int64_t rows[] = {1, 1, 0, -1, 0, 1, ranks, 1, 0, 1, ranks, 1};
    void *next = cprt_device_alloc(context, sizeof(float));
    for (int64_t i = 0; i < times; ++i) {
      auto number = float(ranks * i + rank);
      cprt_upload(context, next, &number, sizeof number);
      void *in[] = {next, gather.buffers[0]};
      cprt_copy(context, nullptr, row, in);
      gather.begin(context);
      gather.wait(context);
      void *out[] = {gather.buffers[1], result + i * bytes};
      cprt_copy(context, nullptr, rows, out);
    }
    std::vector<float> all = numbers(context, result, size_t(times * ranks));
    for (size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(all[i], float(i));
    EXPECT_STREQ(cprt_context_message(context), "");
  });
}

} // namespace
