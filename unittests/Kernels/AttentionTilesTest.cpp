//===- AttentionTilesTest.cpp - Masks, tiles and their balance ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionTiles.h"
#include "Support.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {
using Words = std::vector<int64_t>;

Runs runsOf(const Words &words) {
  return {words.data(), int64_t(words.size() / 3)};
}

bool isSeen(const AttentionMask &mask, int64_t query, int64_t key) {
  return !mask.causal ||
         (key <= query && (!mask.window || query - key < mask.window));
}

/// Gapless rows from `first` on.
Span spanOf(int64_t first, int64_t count) {
  Span span = {};
  span.count = count;
  std::iota(span.positions, span.positions + count, first);
  return span;
}

/// Some rows, with gaps.
Span randomSpan(Random &random) {
  Span span = {};
  span.count = pick(random, 1, 8);
  int64_t most = pick(random, 1, 3);
  for (int64_t i = 0, at = pick(random, 0, 15); i < span.count; ++i) {
    span.positions[i] = at;
    at += pick(random, 1, most);
  }
  return span;
}

bool hasGaps(const Span &span) {
  return span.last() - span.first() + 1 != span.count;
}

/// Stripes of `unit` rows, for 0 contiguous or -1 zigzag.
struct Order {
  int64_t unit;

  /// What `position` of `ranks` holds of `length` rows.
  Words part(int64_t ranks, int64_t length, int64_t position) const {
    if (unit == 0)
      return {position * length / ranks, length / ranks, 1};
    if (unit == 1)
      return {position, length / ranks, ranks};
    if (unit < 0) {
      int64_t chunk = length / (2 * ranks);
      return {position * chunk,
              chunk,
              1,
              (2 * ranks - 1 - position) * chunk,
              chunk,
              1};
    }
    Words words;
    for (int64_t at = position * unit; at < length; at += ranks * unit)
      words.insert(words.end(), {at, unit, 1});
    return words;
  }
};

/// The largest number of tiles that a rank works on, relative to the mean: in
/// all, or in the step in which it meets keys of the rank `step` before it.
double imbalance(Order order, int64_t ranks, int64_t length,
                 int64_t step = -1) {
  std::vector<int64_t> work(static_cast<size_t>(ranks), 0);
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t peer = 0; peer < ranks; ++peer)
      if (step < 0 || (rank - peer + ranks) % ranks == step)
        work[size_t(rank)] += countAttentionTiles(
            {true, 0}, runsOf(order.part(ranks, length, rank)),
            runsOf(order.part(ranks, length, peer)));
  double mean = double(std::accumulate(work.begin(), work.end(), int64_t(0))) /
                double(ranks);
  return double(*std::max_element(work.begin(), work.end())) / mean;
}

TEST(AttentionTiles, WalkVisitsEveryRowOnce) {
  Words words = {7, 64, 1, 300, 1, 1, 0, 130, 3, 400, 1, 5, 401, 2, 2};
  SpanWalk walk(runsOf(words));
  Words positions;
  Span span;
  while (walk.next(span)) {
    EXPECT_EQ(span.local, int64_t(positions.size()));
    EXPECT_LE(span.count, attentionTile);
    EXPECT_TRUE(std::is_sorted(span.positions, span.positions + span.count));
    positions.insert(positions.end(), span.positions,
                     span.positions + span.count);
  }
  Words expected;
  for (size_t run = 0; run < words.size(); run += 3)
    for (int64_t i = 0; i < words[run + 1]; ++i)
      expected.push_back(words[run] + i * words[run + 2]);
  EXPECT_EQ(positions, expected);
  EXPECT_FALSE(SpanWalk(Runs{}).next(span));
}

TEST(AttentionTiles, SightIsThatOfTheRows) {
  Random random(1);
  int64_t found[3] = {};
  for (int i = 0; i < 20000; ++i) {
    AttentionMask mask = {pick(random, 0, 3) != 0, 0};
    mask.window = mask.causal ? pick(random, 0, 1) * pick(random, 1, 12) : 0;
    Span queries = randomSpan(random), keys = randomSpan(random);
    // Documents of a length each, of which the rows behind some have no token.
    bool hasPlaces = mask.causal && pick(random, 0, 1);
    int64_t length = pick(random, 1, 20), tokens = pick(random, 1, 60);
    std::vector<int64_t> places;
    for (int64_t row = 0; row < queries.count; ++row) {
      int64_t query = queries.positions[row];
      places.push_back(query < tokens ? query % length : -1);
    }
    // Of a batch element's rows, the span's are the first.
    queries.local = 0;
    Reach reach =
        reachOf(mask, queries, {hasPlaces ? places.data() : nullptr, {1}});
    int64_t seen = 0;
    for (int64_t row = 0; row < queries.count; ++row) {
      int64_t query = queries.positions[row];
      KeyRange range = keysSeen(reach, row, keys);
      for (int64_t key = 0; key < keys.count; ++key) {
        bool expected =
            isSeen(mask, query, keys.positions[key]) &&
            (!hasPlaces || (query < tokens &&
                            query / length == keys.positions[key] / length));
        ASSERT_EQ(key >= range.begin && key < range.end, expected);
        seen += expected;
      }
    }
    Sight expected = seen == 0                            ? Sight::None
                     : seen == queries.count * keys.count ? Sight::All
                                                          : Sight::Some;
    Sight got = sightOf(reach, keys);
    // Gaps, and documents, may hide that there is nothing to see.
    if (expected == Sight::None &&
        (hasPlaces || hasGaps(queries) || hasGaps(keys)))
      ASSERT_NE(got, Sight::All);
    else
      ASSERT_EQ(got, expected);
    ++found[int(expected)];
  }
  EXPECT_GT(*std::min_element(found, found + 3), 1000);
}

/// Windows and positions may be as large as their type.
TEST(AttentionTiles, LargeNumbersDoNotOverflow) {
  Span far = spanOf(INT64_MAX - 64, 64), near = spanOf(0, 64);
  auto sight = [](AttentionMask mask, const Span &queries, const Span &keys) {
    return sightOf(reachOf(mask, queries), keys);
  };
  EXPECT_EQ(sight({true, INT64_MAX}, near, near), Sight::Some);
  EXPECT_EQ(sight({true, INT64_MAX}, far, near), Sight::All);
  EXPECT_EQ(sight({true, 1}, far, near), Sight::None);
  EXPECT_EQ(sight({true, 0}, near, far), Sight::None);
}

TEST(AttentionTiles, CountIsThatOfThePairsWithSomethingSeen) {
  Words queries = {64, 192, 1}, keys = {0, 128, 1, 256, 64, 1};
  // Three tiles of queries; two of keys before the third one's end, all of them
  // after the last one's start.
  EXPECT_EQ(countAttentionTiles({false, 0}, runsOf(queries), runsOf(keys)), 9);
  EXPECT_EQ(countAttentionTiles({true, 0}, runsOf(queries), runsOf(keys)), 6);
  // One back: the own row, and the one before, which may be a tile earlier.
  EXPECT_EQ(countAttentionTiles({true, 2}, runsOf(queries), runsOf(keys)), 3);
}

/// Stripes of few rows fill tiles; runs of a tile or more keep their own.
TEST(AttentionTiles, StripesShareTiles) {
  auto countsOf = [](const Words &words) {
    SpanWalk walk(runsOf(words));
    Words counts;
    for (Span span; walk.next(span);)
      counts.push_back(span.count);
    return counts;
  };
  EXPECT_EQ(countsOf(Order{1}.part(4, 4 * 150, 2)), (Words{64, 64, 22}));
  EXPECT_EQ(countsOf(Order{3}.part(4, 4 * 150, 2)), (Words{64, 64, 22}));
  EXPECT_EQ(countsOf(Order{48}.part(2, 2 * 96, 1)), (Words{64, 32}));
  EXPECT_EQ(countsOf(Order{64}.part(2, 2 * 128, 1)), (Words{64, 64}));
  EXPECT_EQ(countsOf(Order{-1}.part(2, 2 * 200, 0)), (Words{64, 36, 64, 36}));
  EXPECT_EQ(countsOf({9, 5, 1, 0, 3, 1}), (Words{5, 3}));
}

/// Stripes give every rank the same to do; of one row, in every step of a ring
/// too.
TEST(AttentionTiles, StripedIsBalanced) {
  for (int64_t ranks = 2; ranks <= 16; ++ranks) {
    SCOPED_TRACE(ranks);
    for (int64_t unit : {1, 64})
      EXPECT_LE(imbalance({unit}, ranks, ranks * 8192), 1.02) << unit;
    for (int64_t step = 0; step < ranks; ++step)
      EXPECT_LE(imbalance({1}, ranks, ranks * 2048, step), 1.02) << step;
  }
}

/// Zigzag gives every rank the same to do, and in every step of a ring.
TEST(AttentionTiles, ZigzagIsBalanced) {
  for (int64_t ranks = 2; ranks <= 16; ++ranks) {
    SCOPED_TRACE(ranks);
    int64_t length = ranks * 8192;
    EXPECT_LE(imbalance({-1}, ranks, length), 1.02);
    for (int64_t step = 0; step < ranks; ++step)
      EXPECT_LE(imbalance({-1}, ranks, length / 2, step), 1.02);
    // The last rank sees everything, the mean one half of it.
    double contiguous = imbalance({0}, ranks, length);
    EXPECT_NEAR(contiguous, 2 - 1 / double(ranks), 0.02);
  }
}
} // namespace
