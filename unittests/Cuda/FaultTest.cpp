//===- FaultTest.cpp - What kernels find wrong in data --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "Support.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

class FaultTest : public testing::Test {
protected:
  void SetUp() override { cuda::noteFaultsAt(record); }
  void TearDown() override { cuda::noteFaultsAt(nullptr); }

  std::string look(std::initializer_list<int64_t> of) {
    Random random(1);
    ids = Tensor<int64_t>({int64_t(of.size())}, Lay::Dense, random);
    std::copy(of.begin(), of.end(), &ids[0]);
    Tensor<float> table({4, 3}, Lay::Dense, random);
    table.fill(random, 1, 2);
    y = Tensor<float>({int64_t(of.size()), 3}, Lay::Dense, random);
    return run([](const Call &call) { return cuda::embedding(call, nullptr); },
               {ids.buffer(), table.buffer()}, {y.buffer()}, {});
  }

  int64_t record[cuda::faultWords] = {};
  Tensor<int64_t> ids;
  Tensor<float> y;
};

TEST_F(FaultTest, IdsOfTheTableAreNone) {
  EXPECT_EQ(look({0, 3, 2}), "");
  EXPECT_EQ(cuda::faultText(record), nullptr);
}

TEST_F(FaultTest, AnIdThatTheTableHasNotIsTold) {
  EXPECT_EQ(look({1, -7, 3}), "");
  EXPECT_STREQ(cuda::faultText(record),
               "embedding: id -7 (number 1) is no row of the table; check the "
               "tokenizer's vocabulary");
  for (int64_t k = 0; k < 3; ++k)
    EXPECT_EQ(y(1, k), 0) << "rows that there are not are zeros";
  EXPECT_GE(y(2, 0), 1);
}

TEST_F(FaultTest, WhatIsNotedStays) {
  record[0] = 1;
  record[2] = 5;
  EXPECT_EQ(look({4}), "");
  EXPECT_THAT(cuda::faultText(record), testing::HasSubstr("id 5 (number 0)"));
}

TEST_F(FaultTest, NothingIsWrittenWhereNobodyAsks) {
  cuda::noteFaultsAt(nullptr);
  EXPECT_EQ(look({9}), "");
  EXPECT_EQ(record[0], 0);
}

TEST_F(FaultTest, DocumentsThatAreNoneAreTold) {
  auto places = [&](std::vector<int32_t> ends) {
    std::fill(std::begin(record), std::end(record), 0);
    Random random(1);
    Tensor<int32_t> list({1, 1, int64_t(ends.size())}, Lay::Dense, random);
    std::copy(ends.begin(), ends.end(), &list[0]);
    Tensor<int64_t> found({1, 5}, Lay::Dense, random);
    EXPECT_EQ(run(
                  [](const Call &call) {
                    return cuda::documentPlaces(call, nullptr);
                  },
                  {list.buffer(), absent}, {found.buffer()}, {0, 5}),
              "");
    // Whatever the list says.
    for (int64_t token = 0; token < 5; ++token) {
      EXPECT_GE(found[token], 0);
      EXPECT_LE(found[token], token);
    }
    const char *text = cuda::faultText(record);
    return std::string(text ? text : "");
  };
  const std::string row =
      "document_positions: row 0 of this rank's cu_seqlens ";
  EXPECT_EQ(places({0, 2, 2, 5, 5}), "");
  EXPECT_EQ(places({1, 5}), row + "begins with 1, expected 0");
  EXPECT_EQ(places({0, 3, -2, 5}),
            row + "falls to -2, expected where each document ends, in their "
                  "order");
  EXPECT_EQ(places({0, -1, 5}).substr(0, row.size() + 11), row + "falls to -1");
  // More entries than tokens.
  EXPECT_EQ(places({0, 1, 2, 3, 4, 5, 5, 4}).substr(0, row.size() + 10),
            row + "falls to 4");
  EXPECT_EQ(places({0, 7}),
            row + "ends with 7, expected the tokens of the row; repeat it in "
                  "what is left of the list, and let padding be a document of "
                  "its own");
  EXPECT_EQ(places({0, 3}).substr(0, row.size() + 11), row + "ends with 3");
  EXPECT_FALSE(cuda::isOfOtherRanks(record));
}

/// Each rank finds it, also those whose own lists are the same; of the rows
/// that it has none may be behind what they differ in.
TEST_F(FaultTest, DocumentsThatRanksDoNotShareAreTold) {
  for (int64_t other : {0, 1, 2, 3})
    for (int64_t own : {0, 1, 2}) {
      std::fill(std::begin(record), std::end(record), 0);
      Random random(1);
      Tensor<int32_t> lists({3, 2, 3}, Lay::Dense, random);
      for (int64_t i = 0; i < 18; ++i)
        lists[i] = i % 3 == 0 ? 0 : 5;
      if (other < 3)
        lists(other, 1, 1) = 4;
      Tensor<int64_t> rows({2}, Lay::Dense, random),
          found({2, 2}, Lay::Dense, random);
      rows[0] = 1;
      rows[1] = 4;
      EXPECT_EQ(run(
                    [](const Call &call) {
                      return cuda::documentPlaces(call, nullptr);
                    },
                    {lists.buffer(), rows.buffer()}, {found.buffer()},
                    {own, 5}),
                "");
      const char *text = cuda::faultText(record);
      std::string expected =
          "document_positions: positions 0 and " +
          std::to_string(std::max<int64_t>(other, 1)) +
          " of the group have other documents in row 1 of their cu_seqlens; "
          "give all ranks of a sequence the same";
      EXPECT_EQ(text ? text : "", other < 3 ? expected : "");
      EXPECT_EQ(cuda::isOfOtherRanks(record), other < 3);
      EXPECT_EQ(found(1, 1), own == other ? 0 : 4);
    }
}

} // namespace
