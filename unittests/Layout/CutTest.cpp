//===- CutTest.cpp - The tables of Cut.h ----------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <limits>

using namespace cp;
using namespace cp::test;

TEST(Cut, orderName) {
  EXPECT_STREQ(orderName(Order::Contiguous), "contiguous");
  EXPECT_STREQ(orderName(Order::Zigzag), "zigzag");
  EXPECT_STREQ(orderName(Order::Striped), "striped");
  EXPECT_STREQ(orderName(perDocument), "zigzag_per_document");
  EXPECT_STREQ(orderName(Order::Sizes), "sizes");
  EXPECT_STREQ(orderName(blockPerDocument), "contiguous_per_document");
  for (Order order : allOrders)
    EXPECT_EQ(orderNamed(orderName(order)), order);
  for (const char *other : {"", "Zigzag", "zigzag ", "zig"})
    EXPECT_EQ(orderNamed(other), std::nullopt);
}

TEST(Cut, samePlaces) {
  EXPECT_TRUE(samePlaces({0, contiguous, 1}, {0, contiguous, 2}));
  EXPECT_TRUE(samePlaces({0, zigzag, 1}, {0, zigzag, 2}));
  EXPECT_TRUE(samePlaces({0, striped, 2}, {0, striped, 2}));
  EXPECT_FALSE(samePlaces({0, striped, 1}, {0, striped, 2}));
  EXPECT_FALSE(samePlaces({0, contiguous, 1}, {1, contiguous, 1}));
  EXPECT_FALSE(samePlaces({0, contiguous, 1}, {0, striped, 1}));
  EXPECT_TRUE(samePlaces(bySizes(0, {1, 2}), bySizes(0, {1, 2})));
  EXPECT_FALSE(samePlaces(bySizes(0, {1, 2}), bySizes(0, {2, 1})));
}

TEST(Cut, placesOnly) {
  EXPECT_EQ(placesOnly({1, contiguous, 2}), (Cut{1, contiguous, 1}));
  EXPECT_EQ(placesOnly({1, zigzag, 2}), (Cut{1, zigzag, 1}));
  EXPECT_EQ(placesOnly({1, striped, 2}), (Cut{1, striped, 2}));
  EXPECT_FALSE(unitPlaces({0, contiguous, 2}));
  EXPECT_FALSE(unitPlaces({0, zigzag, 2}));
  EXPECT_TRUE(unitPlaces({0, striped, 2}));
}

TEST(Cut, orderText) {
  EXPECT_EQ(orderText({0, contiguous, 2}), "contiguous");
  EXPECT_EQ(orderText({0, zigzag, 1}), "zigzag");
  EXPECT_EQ(orderText({0, striped, 1}), "striped");
  EXPECT_EQ(orderText({0, striped, 2}), "striped:2");
  EXPECT_EQ(orderText(bySizes(0, {4, 7})), "sizes [4, 7]");
}

TEST(Cut, parseOrder) {
  EXPECT_EQ(parseOrder("contiguous"), (Cut{0, contiguous, 1}));
  EXPECT_EQ(parseOrder("zigzag"), (Cut{0, zigzag, 1}));
  EXPECT_EQ(parseOrder("striped"), (Cut{0, striped, 1}));
  EXPECT_EQ(parseOrder("striped:16"), (Cut{0, striped, 16}));
  EXPECT_EQ(parseOrder("zigzag_per_document"), (Cut{0, perDocument, 1}));
  for (const char *other :
       {"", ":", "striped:", "striped:0", "striped:-1", "striped:2x",
        "striped:9223372036854775808", "striped:9223372036854775807",
        "zigzag:2", "backward", "striped 2", "sizes", "sizes:2",
        "sizes [4, 7]"})
    EXPECT_EQ(parseOrder(other), std::nullopt) << other;
}

TEST(Cut, orderWord) {
  EXPECT_EQ(orderWord({3, contiguous, 2}), 0);
  EXPECT_EQ(orderWord({3, zigzag, 1}), 1);
  EXPECT_EQ(orderWord({3, striped, 1}), 2);
  EXPECT_EQ(orderWord({3, striped, 2}), 3);
  EXPECT_EQ(orderWord({3, perDocument, 1}), -1);
  EXPECT_EQ(orderWord(bySizes(3, {4, 0, 7})), -2);
  EXPECT_EQ(orderWord({3, blockPerDocument, 1}), -3);
  for (int64_t word : {-3, -2, -1, 0, 1, 2, 3, 17})
    EXPECT_EQ(orderWord(cutOfWord(word)), word);
  EXPECT_EQ(cutOfWord(3, 5), (Cut{5, striped, 2}));
  for (int64_t none : {int64_t(-4), std::numeric_limits<int64_t>::min()})
    expectError(check(cutOfWord(none), "it"), {"layout_c7"});
}

TEST(Cut, remainderFirst) {
  EXPECT_EQ(remainderFirst(1, 3, 10), bySizes(1, {4, 3, 3}));
  EXPECT_EQ(remainderFirst(0, 3, 2), bySizes(0, {1, 1, 0}));
  EXPECT_EQ(remainderFirst(0, 2, 0), bySizes(0, {0, 0}));
  EXPECT_EQ(sumOfSizes(bySizes(0, {4, 0, 7})), 11);
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(sumOfSizes(bySizes(0, {most, 1})), most);
}

TEST(Cut, check) {
  for (Order order : plainOrders)
    EXPECT_FALSE(check(Cut{0, order, 1}, "it"));
  expectError(check(Cut{0, striped, 0}, "the cut"),
              {"layout_c3", "the cut", "at least 1", "got 0"});
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(check(Cut{0, striped, most - 1}, "it"));
  EXPECT_EQ(orderWord({0, striped, most - 1}), most);
  expectError(check(Cut{0, striped, most}, "the cut"),
              {"layout_c3", "the cut", "at most 9223372036854775806"});
  expectError(check(Cut{0, static_cast<Order>(6), 1}, "the cut"),
              {"layout_c7", "the cut", "got 6",
               "0 (contiguous), 1 (zigzag), 2 (striped), 3 "
               "(zigzag_per_document), 4 (sizes) or 5 "
               "(contiguous_per_document)"});
  expectError(check(Cut{0, perDocument, 2}, "the cut"),
              {"layout_c8", "the cut", "no unit", "got 2", "leave it out"});
}

TEST(Cut, partsPerRank) {
  EXPECT_EQ(partsPerRank(Cut{0, contiguous, 4}), 1);
  EXPECT_EQ(partsPerRank(Cut{0, zigzag, 1}), 2);
  EXPECT_EQ(partsPerRank(Cut{0, striped, 1}), std::nullopt);
  for (Order order : {perDocument, blockPerDocument})
    EXPECT_EQ(partsPerRank(Cut{0, order, 1}), std::nullopt);
  using Cuts = std::vector<Cut>;
  EXPECT_EQ(partsPerRank(Cuts{}), 1);
  EXPECT_EQ(partsPerRank(Cuts{{0, contiguous}, {1, contiguous}}), 1);
  EXPECT_EQ(partsPerRank(Cuts{{0, zigzag}}), 2);
  EXPECT_EQ(partsPerRank(Cuts{{0, zigzag}, {1, contiguous}}), std::nullopt);
  EXPECT_EQ(partsPerRank(Cuts{{0, contiguous}, {1, striped}}), std::nullopt);
}
