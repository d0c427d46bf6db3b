//===- ReductionTest.cpp - The tables of Reduction.h ----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Reduction.h"

#include "gtest/gtest.h"

using namespace cp;

static constexpr Sum replicated = Sum::Replicated;
static constexpr Sum partial = Sum::Partial;
static constexpr std::nullopt_t nothing = std::nullopt;

TEST(Reduction, through) {
  EXPECT_EQ(through(replicated, Use::Additive), replicated);
  EXPECT_EQ(through(replicated, Use::Term), replicated);
  EXPECT_EQ(through(replicated, Use::Unread), replicated);
  EXPECT_EQ(through(replicated, Use::Other), replicated);
  EXPECT_EQ(through(partial, Use::Additive), partial);
  EXPECT_EQ(through(partial, Use::Term), partial);
  EXPECT_EQ(through(partial, Use::Unread), replicated);
  EXPECT_EQ(through(partial, Use::Other), nothing);
}

TEST(Reduction, add) {
  EXPECT_EQ(add(replicated, replicated), replicated);
  EXPECT_EQ(add(partial, partial), partial);
  EXPECT_EQ(add(replicated, partial), nothing);
  EXPECT_EQ(add(partial, replicated), nothing);
}

TEST(Reduction, multiply) {
  EXPECT_EQ(multiply(replicated, replicated), replicated);
  EXPECT_EQ(multiply(partial, replicated), partial);
  EXPECT_EQ(multiply(replicated, partial), partial);
  EXPECT_EQ(multiply(partial, partial), nothing);
}

/// The tables on numbers: R ranks hold x each, or summands of x. What the ranks
/// then hold of f(x), read as the table says, must be f of the full value.
static double read(Sum sum, double rank0, double rank1) {
  return sum == replicated ? rank0 : rank0 + rank1;
}

TEST(Reduction, tablesHoldOnNumbers) {
  struct Value {
    Sum sum;
    double rank0, rank1;
  };
  for (const Value &x : {Value{replicated, 5, 5}, Value{partial, 2, 3}})
    for (const Value &y : {Value{replicated, 7, 7}, Value{partial, 3, 4}}) {
      double sum = read(add(x.sum, y.sum).value_or(replicated),
                        x.rank0 + y.rank0, x.rank1 + y.rank1);
      EXPECT_EQ(sum == 12, add(x.sum, y.sum).has_value());
      double product = read(multiply(x.sum, y.sum).value_or(partial),
                            x.rank0 * y.rank0, x.rank1 * y.rank1);
      EXPECT_EQ(product == 35, multiply(x.sum, y.sum).has_value());
    }
}
