//===- HistoryTest.cpp - What ranks have done lately ----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/History.h"

#include "Harness.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <thread>

using namespace cp::test;

namespace {

void sum(cprt_context *context, int64_t id, const Sizes &axes) {
  Tensor in(CPRT_F32, Array({2})), out(CPRT_F32, Sizes{2});
  Call(id).array(axes).in(in).out(out).run(cprt_all_reduce, context);
}

void shift(cprt_context *context, int64_t id, int64_t axis) {
  Tensor in(CPRT_F32, Array({5})), out(CPRT_F32, Sizes{5});
  Call(id).array({axis}).attr(1).in(in).out(out).run(cprt_shift, context);
}

std::vector<cprt_record> historyOf(const cprt_context *context,
                                   size_t capacity = CPRT_HISTORY_LENGTH) {
  std::vector<cprt_record> records(capacity);
  size_t kept = cprt_context_history(context, records.data(), capacity);
  records.resize(std::min(kept, capacity));
  return records;
}

} // namespace

TEST(History, SaysWhatEachRankDidAndWhen) {
  World world({2, 2, 1});
  world.run([](int64_t rank, cprt_context *context) {
    sum(context, 7, {0});
    if (rank == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    shift(context, 8, 1);
    // Alone, it is no exchange.
    sum(context, 9, {2});
  });
  ASSERT_EQ(world.failures(), "");
  std::vector<cprt_record> late = historyOf(world.context(0));
  for (int64_t rank = 0; rank < 4; ++rank) {
    std::vector<cprt_record> records = historyOf(world.context(rank));
    ASSERT_EQ(records.size(), 2u);
    EXPECT_STREQ(records[0].op, "all_reduce");
    EXPECT_STREQ(records[1].op, "shift");
    int64_t id = 7, number = 0;
    for (const cprt_record &each : records) {
      EXPECT_EQ(each.id, id++);
      EXPECT_EQ(each.number, number++);
      EXPECT_GE(each.seconds, 0);
      EXPECT_GE(each.exposed_seconds, 0);
      EXPECT_LE(each.exposed_seconds, each.seconds);
      EXPECT_EQ(each.is_deferred, 0);
    }
    EXPECT_EQ(records[0].axes, 1u);
    EXPECT_EQ(records[1].axes, 2u);
    EXPECT_GE(records[1].start, records[0].start + records[0].seconds);
    EXPECT_EQ(records[0].bytes_sent,
              world.counter(rank, "all_reduce", 1).bytes_sent);
    EXPECT_EQ(records[1].bytes_sent,
              world.counter(rank, "shift", 2).bytes_sent);
    // By one clock.
    EXPECT_LT(std::abs(records[0].start - late[0].start), 10);
  }
  EXPECT_GE(late[1].start - late[0].start - late[0].seconds, 0.03);
  std::vector<cprt_record> last = historyOf(world.context(0), 1);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_STREQ(last[0].op, "shift");
  EXPECT_EQ(cprt_context_history(world.context(0), nullptr, 0), 2u);
  EXPECT_EQ(cprt_context_history(world.context(0), nullptr, 5), 2u);
  EXPECT_EQ(cprt_context_history(nullptr, nullptr, 0), 0u);
}

TEST(History, KeepsTheLast) {
  constexpr int64_t more = 5, all = CPRT_HISTORY_LENGTH + more;
  cp::runtime::History history;
  std::chrono::seconds second(1);
  for (int64_t id = 0; id < all; ++id) {
    cprt_record record = {};
    record.id = id;
    EXPECT_EQ(history.begin(record, {}), id);
  }
  // One that is gone has taken no other with it.
  history.end(more - 1, second, second, 0);
  history.end(more, 2 * second, second, 9);
  std::vector<cprt_record> records(CPRT_HISTORY_LENGTH + 1);
  ASSERT_EQ(history.read(records.data(), records.size()),
            size_t(CPRT_HISTORY_LENGTH));
  for (int64_t i = 0; i < CPRT_HISTORY_LENGTH; ++i) {
    const cprt_record &record = records[size_t(i)];
    ASSERT_EQ(record.id, more + i);
    ASSERT_EQ(record.seconds, i == 0 ? 2 : -1);
  }
  EXPECT_EQ(records[0].exposed_seconds, 1);
  EXPECT_EQ(records[0].bytes_sent, 9);
  history.markUnfinished(more);
  history.markUnfinished(-1);
  history.expose(-1, 1);
  history.read(records.data(), 1);
  EXPECT_EQ(records[0].id, all - 1);
  history.read(records.data(), records.size());
  EXPECT_EQ(records[0].seconds, -1);
}

/// Also while ranks wait in vain: those that do are in a collective, and the
/// one that has not come is not.
TEST(History, IsReadWhileRanksWait) {
  World world({3}, /*deadlineMs=*/2000);
  std::vector<size_t> seen(3);
  std::vector<bool> isInside(3);
  world.run([&](int64_t rank, cprt_context *context) {
    sum(context, 1, {0});
    if (rank != 1)
      return sum(context, 2, {0});
    auto look = [&](int64_t other) {
      std::vector<cprt_record> records = historyOf(world.context(other));
      seen[size_t(other)] = records.size();
      isInside[size_t(other)] = records.back().seconds < 0;
      return records.size() == 2;
    };
    // They are in it soon, and until the deadline.
    while (!look(0) || !look(2))
      std::this_thread::yield();
    look(1);
  });
  EXPECT_THAT(seen, testing::ElementsAre(2, 1, 2));
  EXPECT_THAT(isInside, testing::ElementsAre(true, false, true));
  EXPECT_NE(world.failures(), "");
  // What has failed stays without an end.
  EXPECT_LT(historyOf(world.context(0)).back().seconds, 0);
}
