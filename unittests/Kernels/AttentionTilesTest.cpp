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
  return {words.data(), int64_t(words.size() / 2)};
}

bool isSeen(const AttentionMask &mask, int64_t query, int64_t key) {
  return !mask.causal ||
         (key <= query && (!mask.window || query - key < mask.window));
}

/// What `position` of `ranks` holds of `length` rows.
Words part(bool isZigzag, int64_t ranks, int64_t length, int64_t position) {
  if (!isZigzag)
    return {position * length / ranks, length / ranks};
  int64_t chunk = length / (2 * ranks);
  return {position * chunk, chunk, (2 * ranks - 1 - position) * chunk, chunk};
}

/// The largest number of tiles that a rank works on, relative to the mean: in
/// all, or in the step in which it meets keys of the rank `step` before it.
double imbalance(bool isZigzag, int64_t ranks, int64_t length,
                 int64_t step = -1) {
  std::vector<int64_t> work(static_cast<size_t>(ranks), 0);
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t peer = 0; peer < ranks; ++peer)
      if (step < 0 || (rank - peer + ranks) % ranks == step)
        work[size_t(rank)] += countAttentionTiles(
            {true, 0}, runsOf(part(isZigzag, ranks, length, rank)),
            runsOf(part(isZigzag, ranks, length, peer)));
  double mean = double(std::accumulate(work.begin(), work.end(), int64_t(0))) /
                double(ranks);
  return double(*std::max_element(work.begin(), work.end())) / mean;
}

TEST(AttentionTiles, WalkVisitsEveryRowOnce) {
  Words words = {7, 64, 300, 1, 0, 130};
  SpanWalk walk(runsOf(words));
  Words positions;
  Span span;
  while (walk.next(span)) {
    EXPECT_EQ(span.local, int64_t(positions.size()));
    EXPECT_LE(span.count, attentionTile);
    for (int64_t i = 0; i < span.count; ++i)
      positions.push_back(span.first + i);
  }
  Words expected;
  for (size_t run = 0; run < words.size(); run += 2)
    for (int64_t i = 0; i < words[run + 1]; ++i)
      expected.push_back(words[run] + i);
  EXPECT_EQ(positions, expected);
  EXPECT_FALSE(SpanWalk(Runs{}).next(span));
}

TEST(AttentionTiles, SightIsThatOfTheRows) {
  Random random(1);
  int64_t found[3] = {};
  for (int i = 0; i < 20000; ++i) {
    AttentionMask mask = {pick(random, 0, 3) != 0, 0};
    mask.window = mask.causal ? pick(random, 0, 1) * pick(random, 1, 12) : 0;
    Span queries = {0, pick(random, 0, 15), pick(random, 1, 8)};
    Span keys = {0, pick(random, 0, 15), pick(random, 1, 8)};
    int64_t seen = 0;
    for (int64_t query = queries.first; query <= queries.last(); ++query) {
      KeyRange range = keysSeen(mask, query, keys);
      for (int64_t key = 0; key < keys.count; ++key) {
        bool expected = isSeen(mask, query, keys.first + key);
        ASSERT_EQ(key >= range.begin && key < range.end, expected);
        seen += expected;
      }
    }
    Sight expected = seen == 0                            ? Sight::None
                     : seen == queries.count * keys.count ? Sight::All
                                                          : Sight::Some;
    ASSERT_EQ(sightOf(mask, queries, keys), expected);
    ++found[int(expected)];
  }
  EXPECT_GT(*std::min_element(found, found + 3), 1000);
}

/// Windows and positions may be as large as their type.
TEST(AttentionTiles, LargeNumbersDoNotOverflow) {
  Span far = {0, INT64_MAX - 64, 64}, near = {0, 0, 64};
  EXPECT_EQ(sightOf({true, INT64_MAX}, near, near), Sight::Some);
  EXPECT_EQ(sightOf({true, INT64_MAX}, far, near), Sight::All);
  EXPECT_EQ(sightOf({true, 1}, far, near), Sight::None);
  EXPECT_EQ(sightOf({true, 0}, near, far), Sight::None);
}

TEST(AttentionTiles, CountIsThatOfThePairsWithSomethingSeen) {
  Words queries = {64, 192}, keys = {0, 128, 256, 64};
  // Three tiles of queries; two of keys before the third one's end, all of them
  // after the last one's start.
  EXPECT_EQ(countAttentionTiles({false, 0}, runsOf(queries), runsOf(keys)), 9);
  EXPECT_EQ(countAttentionTiles({true, 0}, runsOf(queries), runsOf(keys)), 6);
  // One back: the own row, and the one before, which may be a tile earlier.
  EXPECT_EQ(countAttentionTiles({true, 2}, runsOf(queries), runsOf(keys)), 3);
}

/// Zigzag gives every rank the same to do, and in every step of a ring.
TEST(AttentionTiles, ZigzagIsBalanced) {
  for (int64_t ranks = 2; ranks <= 16; ++ranks) {
    SCOPED_TRACE(ranks);
    int64_t length = ranks * 4096;
    EXPECT_LE(imbalance(true, ranks, length), 1.02);
    for (int64_t step = 0; step < ranks; ++step)
      EXPECT_LE(imbalance(true, ranks, length, step), 1.02);
    // The last rank sees everything, the mean one half of it.
    double contiguous = imbalance(false, ranks, length);
    EXPECT_NEAR(contiguous, 2 - 1 / double(ranks), 0.02);
  }
}
} // namespace
