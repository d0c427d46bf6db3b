//===- RunsTest.cpp - What a cut takes, and what two lists share ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <limits>
#include <map>
#include <random>

using namespace cp;
using namespace cp::test;

/// A list of runs that ascend, drawn.
static std::vector<Run> drawRuns(std::mt19937 &random) {
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  std::vector<Run> runs;
  int64_t global = draw(0, 6), local = 0;
  for (int64_t left = draw(0, 4); left > 0; --left) {
    Run run = {global, local, draw(1, 5), draw(1, 4), 0};
    run.step = run.length + draw(1, 5);
    runs.push_back(run);
    local += run.size();
    global = run.end() + draw(0, 6);
  }
  return runs;
}

static std::map<int64_t, int64_t> localByGlobal(const std::vector<Run> &runs) {
  std::map<int64_t, int64_t> locals;
  for (const Run &run : runs)
    for (int64_t i = 0; i < run.size(); ++i)
      locals[run.globalOf(run.local + i)] = run.local + i;
  return locals;
}

TEST(Runs, NumbersOfTheHeader) {
  cp::Run single = {4, 0, 3}, two = {1, 4, 2, 2, 6};
  EXPECT_EQ(single.end(), 7);
  EXPECT_EQ(two.end(), 9);
  EXPECT_EQ(single.globalOf(1), 5);
  EXPECT_EQ(two.globalOf(6), 7);
  EXPECT_EQ(single.localOf(5), 1);
  EXPECT_EQ(single.localOf(7), std::nullopt);
  EXPECT_EQ(single.localOf(3), std::nullopt);
  EXPECT_EQ(two.localOf(7), 6);
  EXPECT_EQ(two.localOf(3), std::nullopt);
}

TEST(Runs, NothingIsSharedWithAnEmptyRun) {
  auto expectNothing = [](const Segment &) { ADD_FAILURE(); };
  forCommon(cp::Run{5, 0, 0}, cp::Run{0, 0, 10}, expectNothing);
  forCommon(cp::Run{0, 0, 10}, cp::Run{5, 0, 0}, expectNothing);
}

TEST(Runs, OneRankHoldsAllInOrder) {
  for (Order order : plainOrders)
    for (int64_t length : {1, 5, 8}) {
      CutRuns runs = runsOf(Cut{0, order, 3}, 1, 0, length);
      ASSERT_EQ(runs.size(), 1u);
      EXPECT_EQ(*runs.begin(), (cp::Run{0, 0, length}));
    }
}

/// None, one and two elements by turns, and with the last rank the rest.
static Cut fewAndMany(int64_t ranks, int64_t length) {
  Cut cut = bySizes(0, {});
  for (int64_t position = 0; position + 1 < ranks; ++position)
    cut.sizes.push_back(position % 3);
  cut.sizes.push_back(length - sumOfSizes(cut));
  return cut;
}

TEST(Runs, holderOfIsTheInverse) {
  for (int64_t ranks : {1, 2, 3, 8})
    for (const Cut &cut :
         {Cut{0}, Cut{0, zigzag}, Cut{0, striped}, Cut{0, striped, 2},
          Cut{0, striped, 3}, remainderFirst(0, ranks, ranks * 12),
          fewAndMany(ranks, ranks * 12)}) {
      int64_t length = ranks * 12, seen = 0;
      for (int64_t position = 0; position < ranks; ++position)
        for (const cp::Run &run : runsOf(cut, ranks, position, length))
          for (int64_t i = 0; i < run.size(); ++i, ++seen) {
            int64_t local = run.local + i;
            EXPECT_EQ(runsOf(cut, ranks, position, length).globalOf(local),
                      run.globalOf(local));
            Holder holder = holderOf(cut, ranks, length, run.globalOf(local));
            EXPECT_EQ(holder.position, position);
            EXPECT_EQ(holder.local, local);
          }
      EXPECT_EQ(seen, length);
    }
}

TEST(Runs, granuleOf) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(granuleOf({0, Order::Contiguous, 3}), 3);
  EXPECT_EQ(granuleOf({0, zigzag, 3}), 6);
  EXPECT_EQ(granuleOf({0, striped, 3}), 3);
  EXPECT_EQ(granuleOf({0, zigzag, most / 2 + 1}), most);
}

TEST(Runs, divides) {
  for (int64_t length : {0, 4, 8}) {
    EXPECT_TRUE(divides({0, Order::Contiguous, 1}, 4, length));
    EXPECT_EQ(divides({0, zigzag, 1}, 4, length), length != 4);
    EXPECT_EQ(divides({0, striped, 2}, 4, length), length != 4);
  }
  EXPECT_FALSE(divides({0, Order::Contiguous, 1}, 4, 14));
  for (int64_t length : {0, 4, 8})
    EXPECT_EQ(divides(bySizes(0, {4, 0, 0, 4}), 4, length), length == 8);
}

TEST(Runs, roomOf) {
  EXPECT_EQ(roomOf({0}, 2, 8), 4);
  EXPECT_EQ(roomOf(bySizes(0, {3, 5}), 2, 8), 5);
}

/// Held against the elements one by one.
TEST(Runs, forEachCommonMeetsEachElementOnce) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    std::vector<cp::Run> dst = drawRuns(random), src = drawRuns(random);
    std::map<int64_t, int64_t> expected, found;
    std::map<int64_t, int64_t> sources = localByGlobal(src);
    for (auto [global, local] : localByGlobal(dst))
      if (sources.count(global))
        expected[local] = sources[global];
    forEachCommon(dst, src, [&](const Segment &segment) {
      for (int64_t i = 0; i < segment.count; ++i)
        for (int64_t j = 0; j < segment.length; ++j) {
          int64_t at = segment.dst + i * segment.dstStep + j;
          EXPECT_EQ(found.count(at), 0u) << "twice";
          found[at] = segment.src + i * segment.srcStep + j;
        }
    });
    ASSERT_EQ(found, expected);
  }
}

/// Held against the elements one by one, every pair of striped cuts.
TEST(Runs, countCommonOfStripes) {
  int64_t repeated = 0;
  for (int64_t ranks : {1, 2, 3, 4})
    for (int64_t unit = 1; unit <= 6; ++unit)
      for (int64_t other = 1; other <= 6; ++other)
        for (int64_t rank = 0; rank < ranks * ranks; ++rank) {
          int64_t size = ranks * std::lcm(unit, other) * 2;
          auto of = [&](int64_t unit, int64_t position) {
            CutRuns runs =
                runsOf({0, Order::Striped, unit}, ranks, position, size);
            return std::vector<cp::Run>(runs.begin(), runs.end());
          };
          std::vector<cp::Run> a = of(unit, rank % ranks),
                               b = of(other, rank / ranks);
          std::map<int64_t, int64_t> ofB = localByGlobal(b);
          int64_t expected = 0;
          for (auto [global, local] : localByGlobal(a))
            expected += int64_t(ofB.count(global));
          repeated += a[0].count > 1 && b[0].count > 1;
          ASSERT_EQ(countCommon(a, b), expected)
              << ranks << " ranks, units " << unit << " and " << other
              << ", positions " << rank % ranks << " and " << rank / ranks;
        }
  EXPECT_GT(repeated, 500);
}

/// The same of runs that do not repeat together.
TEST(Runs, countCommonOfDrawnRuns) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    std::vector<cp::Run> a = drawRuns(random), b = drawRuns(random);
    std::map<int64_t, int64_t> ofB = localByGlobal(b);
    int64_t expected = 0;
    for (auto [global, local] : localByGlobal(a))
      expected += int64_t(ofB.count(global));
    ASSERT_EQ(countCommon(a, b), expected);
  }
}
