//===- FailureTest.cpp - Ranks that fail, stall or come late --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "TestModel.h"

#include "cp/IR/CPDialect.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <chrono>
#include <cstring>
#include <thread>

using namespace mlir;
using namespace cp;
using namespace cp::test;
using testing::HasSubstr;

namespace {

constexpr int64_t deadlineMs = 200;
/// A second after the deadline.
constexpr double secondsAllowed = deadlineMs / 1000.0 + 1;

/// What a run that has to fail says; it must end in time, also where no
/// deadline is set: only a rank that nobody hears of is waited for.
std::string failureOf(Program &program, llvm::ArrayRef<HostTensor> inputs,
                      const RunOptions &options) {
  auto start = std::chrono::steady_clock::now();
  llvm::Expected<RunResult> result = program.run(pointersTo(inputs), options);
  std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start;
  EXPECT_LT(passed.count(), secondsAllowed);
  if (!result)
    return llvm::toString(result.takeError());
  ADD_FAILURE() << "the run passed";
  return "";
}

/// Calls check(program, inputs) for a program of each collective.
template <typename CheckFn> void forEachCollective(CheckFn check) {
  for (const Collective &collective : collectives()) {
    SCOPED_TRACE(collective.name);
    OwningOpRef<ModuleOp> module = parse(collective.text);
    ASSERT_TRUE(module);
    std::unique_ptr<Program> program = test::compile(*module, {});
    ASSERT_TRUE(program);
    check(*program, std::vector<HostTensor>{floats({8}, Values(8, 1)),
                                            floats({8, 8}, Values(64, 1))});
  }
}

TEST(ExecutionFailureTest, AFailedRankIsNamedByAll) {
  RunOptions options;
  options.beforeRank = [](int64_t rank, cprt_context *context) {
    if (rank == 1)
      cprt_context_fail(context, CPRT_UNSUPPORTED, "made to fail");
    return true;
  };
  forEachCollective([&](Program &program,
                        const std::vector<HostTensor> &inputs) {
    std::string message = failureOf(program, inputs, options);
    EXPECT_THAT(message, HasSubstr("rank 1: CPRT_UNSUPPORTED: made to fail"));
    EXPECT_THAT(message, HasSubstr("CPRT_PEER_FAILED"));
    // The same program runs afterwards: nothing of the failed world is left.
    runOrFail(program, inputs, CPRT_KERNELS_FAST);
  });
}

TEST(ExecutionFailureTest, OfManyRanksThoseAreNamedThatFailedByThemselves) {
  OwningOpRef<ModuleOp> module =
      parse("#mesh = #cp.mesh<\"cp\" = 32>\n"
            "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32>\n"
            "    attributes {cp.view = \"local\"} {\n"
            "  %y = cp.all_reduce %x over [\"cp\"] of #mesh : tensor<2xf32>\n"
            "  return %y : tensor<2xf32>\n}");
  ASSERT_TRUE(module);
  std::unique_ptr<Program> program = test::compile(*module, {});
  ASSERT_TRUE(program);
  RunOptions options;
  options.beforeRank = [](int64_t rank, cprt_context *context) {
    if (rank == 30)
      cprt_context_fail(context, CPRT_UNSUPPORTED, "made to fail");
    return true;
  };
  std::string message = failureOf(*program, {floats({2}, {1, 2})}, options);
  EXPECT_THAT(message, HasSubstr("failed:\n  rank 30: CPRT_UNSUPPORTED"));
  EXPECT_THAT(message, HasSubstr("\n  and 22 more ranks"));
  EXPECT_EQ(llvm::StringRef(message).count("\n"), 11u);
}

TEST(ExecutionFailureTest, AStalledRankIsNamedAfterTheDeadline) {
  RunOptions options;
  options.deadlineMs = deadlineMs;
  options.beforeRank = [](int64_t rank, cprt_context *) { return rank != 1; };
  forEachCollective(
      [&](Program &program, const std::vector<HostTensor> &inputs) {
        std::string message = failureOf(program, inputs, options);
        EXPECT_THAT(message, HasSubstr("CPRT_TIMEOUT"));
        EXPECT_THAT(message, HasSubstr("waited 200 ms for ranks [1]"));
        EXPECT_THAT(message,
                    HasSubstr("rank 1: CPRT_TIMEOUT: this rank never ran"));
      });
}

TEST(ExecutionFailureTest, ARankThatNobodyWaitsForIsMissedToo) {
  OwningOpRef<ModuleOp> module = parse(
      "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
      "  %y = arith.addf %x, %x : tensor<2xf32>\n  return %y : tensor<2xf32>\n"
      "}");
  ASSERT_TRUE(module);
  std::unique_ptr<Program> program = test::compile(*module, {});
  ASSERT_TRUE(program);
  RunOptions options;
  options.beforeRank = [](int64_t, cprt_context *) { return false; };
  EXPECT_THAT(failureOf(*program, {floats({2}, {1, 2})}, options),
              HasSubstr("rank 0: CPRT_TIMEOUT: this rank never ran"));
}

TEST(ExecutionFailureTest, ARankThatComesTooLateFailsToo) {
  RunOptions options;
  options.deadlineMs = deadlineMs;
  options.beforeRank = [](int64_t rank, cprt_context *) {
    if (rank == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(2 * deadlineMs));
    return true;
  };
  forEachCollective(
      [&](Program &program, const std::vector<HostTensor> &inputs) {
        std::string message = failureOf(program, inputs, options);
        EXPECT_THAT(message, HasSubstr("rank 0: CPRT_TIMEOUT"));
        EXPECT_THAT(message, HasSubstr("rank 1: CPRT_"));
      });
}

TEST(ExecutionFailureTest, TheCollectivesHaveEveryScan) {
  for (uint32_t value = 0; value <= getMaxEnumValForScanAlgorithm(); ++value) {
    std::optional<ScanAlgorithm> algorithm = symbolizeScanAlgorithm(value);
    ASSERT_TRUE(algorithm);
    std::string name = ("scan_" + stringifyScanAlgorithm(*algorithm)).str();
    EXPECT_TRUE(llvm::any_of(collectives(), [&](const Collective &collective) {
      return collective.name == name;
    })) << name;
  }
}

/// A rank fails by itself, in its program, before the first exchange.
TEST(ExecutionFailureTest, ATokenOutsideTheVocabularyStopsEveryRank) {
  Mamba2Config config = smallConfig(1);
  OwningOpRef<ModuleOp> module = importMamba2(
      config, {1, sequenceLength, "f32"}, UnknownLoc::get(&context()));
  ASSERT_TRUE(module);
  for (const TestSharding &sharding : allShardings()) {
    SCOPED_TRACE(describe(sharding));
    std::unique_ptr<Program> program = test::compile(*module, sharding);
    ASSERT_TRUE(program);
    for (int32_t id : {24, -1, INT32_MAX, INT32_MIN}) {
      std::vector<HostTensor> inputs =
          drawInputs(program->arguments(), config, Decay::AsPublished, 1);
      // The last token belongs to the last rank.
      std::memcpy(inputs[0].bytes.data() + inputs[0].bytes.size() - sizeof(id),
                  &id, sizeof(id));
      std::string message = failureOf(*program, inputs, {});
      std::string last = std::to_string(sharding.ranks - 1);
      EXPECT_THAT(message,
                  HasSubstr("rank " + last + ": CPRT_INVALID_ARGUMENT"));
      EXPECT_THAT(message, HasSubstr(std::to_string(id)));
    }
  }
}

TEST(ExecutionFailureTest, WhatAWorldCannotBeIsRefused) {
  OwningOpRef<ModuleOp> module = parse(collectives()[0].text);
  ASSERT_TRUE(module);
  std::unique_ptr<Program> program = test::compile(*module, {});
  ASSERT_TRUE(program);
  RunOptions options;
  options.deadlineMs = -1;
  EXPECT_THAT(failureOf(*program,
                        {floats({8}, Values(8)), floats({8, 8}, Values(64))},
                        options),
              HasSubstr("deadline"));
}

} // namespace
