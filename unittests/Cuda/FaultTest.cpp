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

} // namespace
