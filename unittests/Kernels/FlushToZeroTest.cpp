//===- FlushToZeroTest.cpp - Numbers too small to be normal ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlushToZero.h"

#include "OpCalls.h"

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

/// Read as the processor is told to, where the compiler cannot know better.
float half(float value) {
  volatile float read = value;
  return read * 0.5f;
}

TEST(FlushToZeroTest, LastsAsLongAsItsScope) {
  if (!FlushToZero::isSupported)
    GTEST_SKIP() << "this processor cannot be told to";
  const float least = std::numeric_limits<float>::min();
  const float below = std::numeric_limits<float>::denorm_min() * 64;
  EXPECT_GT(half(least), 0);
  {
    FlushToZero scope;
    EXPECT_EQ(half(least), 0);
    EXPECT_EQ(half(below) * 1e30f, 0);
  }
  EXPECT_GT(half(least), 0);
  EXPECT_GT(half(below), 0);
}

/// A number too small to be normal counts as 0, in f32 and in bf16, and what
/// calls a kernel computes as before.
template <typename T> void countsAs0(float small) {
  const std::vector<Implementation> &all = implementations();
  for (const OpCall &call : allCalls())
    for (size_t input = 0; input < call.ins.size(); ++input) {
      if (input >= call.firstSumIn)
        continue;
      for (size_t k = 1; k < all.size(); ++k) {
        SCOPED_TRACE(testing::Message()
                     << call.op << " " << all[k].name << " input " << input);
        auto with = resultsOf<T>(call, all[k], {input, 3, small});
        auto without = resultsOf<T>(call, all[k], {input, 3, 0});
        ASSERT_TRUE(with.bytes() == without.bytes());
        ASSERT_GT(half(std::numeric_limits<float>::min()), 0);
      }
    }
}

TEST(FlushToZeroTest, SubnormalInputsCountAs0) {
  if (!FlushToZero::isSupported)
    GTEST_SKIP() << "this processor cannot be told to";
  const float small = std::numeric_limits<float>::min() / 4;
  countsAs0<float>(small);
  countsAs0<BFloat16>(small);
}

/// Strong decays leave nothing subnormal behind.
TEST(FlushToZeroTest, ScansGiveNoSubnormalState) {
  if (!FlushToZero::isSupported)
    GTEST_SKIP() << "this processor cannot be told to";
  const std::vector<Implementation> &all = implementations();
  for (const OpCall &call : allCalls()) {
    if (std::string(call.op) != "ssd")
      continue;
    for (size_t k = 1; k < all.size(); ++k) {
      Tensors<float> ins(call.ins, call.firstSumIn, 5);
      Tensors<float> outs(call.outs, call.firstSumOut, 6);
      // A_log and the steps: decays of each token from 1e-1 to 1e-9.
      for (int64_t i = 0; i < ins.count(2); ++i)
        ins.set(2, i, float(1 + 0.5 * double(i)));
      // Inputs end early, what they left fades.
      for (int64_t i = ins.count(0) / 150 * 100; i < ins.count(0); ++i)
        ins.set(0, i, 0);
      ASSERT_EQ(run(all[k].find("ssd", DType::F32), ins.buffers(),
                    outs.buffers(), call.attrs),
                "");
      for (size_t i = 0; i < outs.size(); ++i)
        for (int64_t at = 0; at < outs.count(i); ++at)
          ASSERT_NE(std::fpclassify(float(outs.get(i, at))), FP_SUBNORMAL)
              << all[k].name << " result " << i << " at " << at;
    }
  }
}

} // namespace
