//===- SweepTest.cpp - Sharded models against one rank --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <tuple>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// Batch, groups, type.
using Case = std::tuple<int64_t, int64_t, std::string>;

class SweepTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    auto [batch, groups, dtype] = GetParam();
    config = smallConfig(groups);
    seed = 1000 * batch + 10 * groups + (dtype == "f64");
    std::cout << "seed " << seed << "\n";
    tolerance = toleranceOf(dtype);
    module = importMamba2(config, {batch, sequenceLength, dtype},
                          UnknownLoc::get(&context()));
    ASSERT_TRUE(module);
    whole = compile(*module, {});
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->stage(), Stage::Global);
  }

  /// Sums are f32 in bf16 too, so on reference kernels sharding only moves some
  /// roundings of what is stored: less than one more rounding of every element,
  /// whose mean square over a binade is (2^-8)^2 / 6, that is (1.6e-3)^2.
  static double toleranceOf(const std::string &dtype) {
    if (dtype == "bf16")
      return std::ldexp(1.0, -10);
    return dtype == "f64" ? 1e-12 : 1e-5;
  }

  static bool multipliesBF16() {
#ifdef __x86_64__
    return __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
  }
  static bool isNarrow() { return std::get<2>(GetParam()) == "bf16"; }

  /// Runs on `kernels` and compares with one rank on reference kernels.
  Difference difference(Program &program, Decay decay,
                        cprt_kernel_set kernels) {
    std::vector<HostTensor> inputs =
        drawInputs(whole->arguments(), config, decay, seed);
    RunResult expected = runOrFail(*whole, inputs, CPRT_KERNELS_REFERENCE);
    RunResult result = runOrFail(program, inputs, kernels);
    if (result.outputs.empty() || expected.outputs.empty())
      return {HUGE_VAL, HUGE_VAL, false};
    return compare(result.outputs[0], expected.outputs[0]);
  }

  Mamba2Config config;
  uint64_t seed = 0;
  double tolerance = 0;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Program> whole;
};

TEST_P(SweepTest, EveryShardingGivesTheNumbersOfOneRank) {
  for (const TestSharding &sharding : allShardings()) {
    SCOPED_TRACE(describe(sharding));
    std::unique_ptr<Program> program = compile(*module, sharding);
    ASSERT_TRUE(program);
    for (Decay decay : {Decay::AsPublished, Decay::Slow}) {
      SCOPED_TRACE(describe(decay));
      // Fast kernels that multiply bf16 differ from the reference by more than
      // a cut does: see NarrowSweepTest.
      if (!isNarrow() || !multipliesBF16()) {
        EXPECT_LE(difference(*program, decay, CPRT_KERNELS_FAST).relL2,
                  tolerance);
      }
      Difference plain = difference(*program, decay, CPRT_KERNELS_REFERENCE);
      EXPECT_LE(plain.relL2, tolerance);
      if (sharding.strategy == "hidden") {
        EXPECT_TRUE(plain.bitwiseEqual) << plain.maxAbs;
      }
    }
  }
}

TEST_P(SweepTest, TwoRunsAndRepeatsGiveTheSameBits) {
  std::vector<HostTensor> inputs =
      drawInputs(whole->arguments(), config, Decay::Slow, seed);
  for (const TestSharding &sharding : allShardings()) {
    SCOPED_TRACE(describe(sharding));
    std::unique_ptr<Program> program = compile(*module, sharding);
    ASSERT_TRUE(program);
    RunResult first = runOrFail(*program, inputs, CPRT_KERNELS_FAST);
    RunOptions again;
    again.repeats = 3;
    llvm::Expected<RunResult> last = program->run(pointersTo(inputs), again);
    ASSERT_TRUE(static_cast<bool>(last)) << llvm::toString(last.takeError());
    EXPECT_EQ(last->seconds.size(), 3u);
    EXPECT_EQ(first.outputs[0].bytes, last->outputs[0].bytes);
  }
}

TEST_P(SweepTest, LoopsGiveTheSameBitsWhetherOptimisedOrNot) {
  std::vector<HostTensor> inputs =
      drawInputs(whole->arguments(), config, Decay::Slow, seed);
  std::unique_ptr<Program> plain = compileQuickly(*module);
  ASSERT_TRUE(plain);
  EXPECT_EQ(runOrFail(*plain, inputs, CPRT_KERNELS_FAST).outputs[0].bytes,
            runOrFail(*whole, inputs, CPRT_KERNELS_FAST).outputs[0].bytes);
}

/// They add in the same order.
TEST_P(SweepTest, ChainAndGatherGiveTheSameBits) {
  std::vector<HostTensor> inputs =
      drawInputs(whole->arguments(), config, Decay::Slow, seed);
  std::unique_ptr<Program> chain = compile(*module, {"sequence", "chain", 4});
  std::unique_ptr<Program> gather = compile(*module, {"sequence", "gather", 4});
  ASSERT_TRUE(chain && gather);
  EXPECT_EQ(runOrFail(*chain, inputs, CPRT_KERNELS_FAST).outputs[0].bytes,
            runOrFail(*gather, inputs, CPRT_KERNELS_FAST).outputs[0].bytes);
}

class ExactSweepTest : public SweepTest {};

/// How a state is cut between ranks must not show in f32: each form forms its
/// exponents as exactly as one rank does.
TEST_P(ExactSweepTest, AsNearToF64AsOneRank) {
  OwningOpRef<ModuleOp> wideModule =
      importMamba2(config, {std::get<0>(GetParam()), sequenceLength, "f64"},
                   UnknownLoc::get(&context()));
  std::unique_ptr<Program> wide = compile(*wideModule, {});
  ASSERT_TRUE(wide);
  for (Decay decay : {Decay::AsPublished, Decay::Slow, Decay::Resets}) {
    SCOPED_TRACE(describe(decay));
    std::vector<HostTensor> inputs =
        drawInputs(whole->arguments(), config, decay, seed);
    RunResult oracle =
        runOrFail(*wide, widened(inputs), CPRT_KERNELS_REFERENCE);
    for (cprt_kernel_set kernels :
         {CPRT_KERNELS_FAST, CPRT_KERNELS_REFERENCE}) {
      auto errorOf = [&](Program &program) {
        RunResult run = runOrFail(program, inputs, kernels);
        return compare(run.outputs.at(0), oracle.outputs.at(0)).relL2;
      };
      double alone = errorOf(*whole);
      EXPECT_LE(alone, 1e-5);
      for (const TestSharding &sharding : allShardings()) {
        SCOPED_TRACE(describe(sharding));
        std::unique_ptr<Program> program = compile(*module, sharding);
        ASSERT_TRUE(program);
        EXPECT_LE(errorOf(*program), std::max(1.5 * alone, 2.5e-7));
      }
    }
  }
}

class NarrowSweepTest : public SweepTest {};

/// How much farther from f64 a run may be than one rank on reference kernels.
constexpr double largestRatio = 1.1;

/// Fast kernels may round factors of the scan's products to bf16, and where the
/// sequence is cut decides which: two runs that are both right differ by all of
/// that rounding. What binds them is the distance from f64 that bf16 has
/// anyway. Reference kernels on one rank show it, since they round only what is
/// stored. Errors that do not depend on each other add by their squares, so a
/// ratio of 1.1 leaves (1.1^2 - 1)^(1/2) = 0.46 of that distance, about 3e-3,
/// for all that fast kernels and sharding add. A lost state costs more than 0.1
/// where decay is slow, and a state that comes from one rank only nearly as
/// much.
TEST_P(NarrowSweepTest, NoFartherFromF64ThanOneRank) {
  OwningOpRef<ModuleOp> wideModule =
      importMamba2(config, {std::get<0>(GetParam()), sequenceLength, "f64"},
                   UnknownLoc::get(&context()));
  std::unique_ptr<Program> wide = compile(*wideModule, {});
  ASSERT_TRUE(wide);
  for (Decay decay : {Decay::AsPublished, Decay::Slow}) {
    SCOPED_TRACE(describe(decay));
    std::vector<HostTensor> inputs =
        drawInputs(whole->arguments(), config, decay, seed);
    RunResult oracle =
        runOrFail(*wide, widened(inputs), CPRT_KERNELS_REFERENCE);
    auto errorOf = [&](Program &program, cprt_kernel_set kernels) {
      RunResult run = runOrFail(program, inputs, kernels);
      return compare(run.outputs.at(0), oracle.outputs.at(0)).relL2;
    };
    double plain = errorOf(*whole, CPRT_KERNELS_REFERENCE);
    double alone = errorOf(*whole, CPRT_KERNELS_FAST);
    EXPECT_LE(alone, largestRatio * plain);
    for (const TestSharding &sharding : allShardings()) {
      SCOPED_TRACE(describe(sharding));
      std::unique_ptr<Program> program = compile(*module, sharding);
      ASSERT_TRUE(program);
      EXPECT_LE(errorOf(*program, CPRT_KERNELS_FAST),
                largestRatio * std::min(plain, alone));
    }
  }
}

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  return "Batch" + std::to_string(std::get<0>(info.param)) + "Groups" +
         std::to_string(std::get<1>(info.param)) + std::get<2>(info.param);
}

INSTANTIATE_TEST_SUITE_P(
    All, SweepTest,
    testing::Combine(testing::Values(1, 2), testing::Values(1, 2, 8),
                     testing::Values("f32", "f64", "bf16")),
    nameOf);

INSTANTIATE_TEST_SUITE_P(All, ExactSweepTest,
                         testing::Combine(testing::Values(1, 2),
                                          testing::Values(1, 2, 8),
                                          testing::Values("f32")),
                         nameOf);

INSTANTIATE_TEST_SUITE_P(All, NarrowSweepTest,
                         testing::Combine(testing::Values(1, 2),
                                          testing::Values(1, 2, 8),
                                          testing::Values("bf16")),
                         nameOf);

} // namespace
