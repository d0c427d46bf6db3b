//===- ResidualTest.cpp - The same numbers in less memory -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"
#include "TestModel.h"
#include "cp/Compile/Decisions.h"

#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// So many that tensors of tokens are more than weights.
constexpr int64_t numTokens = 512;

/// How much of the forward pass was made again, in percent.
int64_t partAgain(llvm::ArrayRef<Decision> decisions) {
  int64_t part = -1;
  for (const Decision &decision : decisions)
    if (decision.category == "residual" && decision.name == "step") {
      EXPECT_EQ(part, -1) << "there is more than one plan";
      llvm::StringRef(decision.text("of_forward")).consumeInteger(10, part);
    }
  return part;
}

struct Compiled {
  std::unique_ptr<Program> program;
  std::string error;
  int64_t partAgain = -1;
};

/// With nothing about it on the standard error: some limits are too small.
Compiled compileWithin(ModuleOp module, CompileOptions options, int64_t limit,
                       bool exchanges) {
  options.memory = {limit, exchanges};
  ScopedDiagnosticHandler silent(module.getContext(), [](Diagnostic &) {});
  auto recorder =
      llvm::cantFail(DecisionRecorder::attach(*module.getContext()));
  auto program = compileProgram(module, options);
  if (!program)
    return {nullptr, llvm::toString(program.takeError()), -1};
  return {std::move(*program), "", partAgain(recorder->decisions())};
}

/// All that is kept, and ten limits down to less than any plan takes.
std::vector<int64_t> drawLimits(int64_t arena, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<int64_t> limits = {arena};
  for (int i = 0; i < 10; ++i)
    limits.push_back(
        std::uniform_int_distribution<int64_t>(arena / 3, arena)(engine));
  llvm::sort(limits, std::greater<>());
  return limits;
}

/// Compiles for drawn limits, and runs: a plan keeps its limit, a smaller one
/// makes no less again, and no number changes. How many plans made something
/// again.
int checkLimits(
    ModuleOp module, const CompileOptions &options, bool exchanges,
    llvm::function_ref<std::vector<HostTensor>(llvm::ArrayRef<TensorSpec>)>
        draw) {
  std::unique_ptr<Program> all = compileWith(module, options);
  if (!all)
    return 0;
  std::vector<HostTensor> inputs = draw(all->arguments());
  RunResult expected = runOrFail(*all, inputs, CPRT_KERNELS_FAST);
  int64_t before = 0;
  int count = 0;
  for (int64_t limit : drawLimits(all->arenaBytes(), 3)) {
    SCOPED_TRACE("limit " + std::to_string(limit) + " of " +
                 std::to_string(all->arenaBytes()));
    Compiled less = compileWithin(module, options, limit, exchanges);
    if (!less.program) {
      EXPECT_TRUE(llvm::StringRef(less.error).contains("bytes") ||
                  llvm::StringRef(less.error).contains("sharded"))
          << less.error;
      continue;
    }
    EXPECT_LE(less.program->arenaBytes(), limit);
    EXPECT_GE(less.partAgain, before);
    before = less.partAgain;
    count += less.program->arenaBytes() < all->arenaBytes();
    RunResult got = runOrFail(*less.program, inputs, CPRT_KERNELS_FAST);
    for (auto [spec, a, b] :
         llvm::zip_equal(all->results(), got.outputs, expected.outputs))
      EXPECT_EQ(a.bytes, b.bytes) << spec.name;
  }
  return count;
}

/// A model of four layers, whose loss and gradients are asked for.
TEST(ResidualTest, LayersAreMadeAgain) {
  Mamba2Config config = smallConfig(4);
  OwningOpRef<ModuleOp> module =
      importMamba2(config, {2, numTokens, "f32"}, UnknownLoc::get(&context()));
  CompileOptions options;
  options.nextTokenLoss = options.gradients = true;
  auto draw = [&](llvm::ArrayRef<TensorSpec> specs) {
    return drawInputs(specs, config, Decay::Slow, 7);
  };
  EXPECT_GT(checkLimits(*module, options, /*exchanges=*/false, draw), 3);
  for (const Sharding &sharding : gradientShardings())
    for (bool exchanges : {false, true}) {
      SCOPED_TRACE(describe(sharding) + (exchanges ? ", exchanges" : ""));
      options.sharding = sharding;
      EXPECT_GT(checkLimits(*module, options, exchanges, draw), 1);
    }
}

/// What has travelled does so again where that is asked for, and only there.
TEST(ResidualTest, ExchangesAreCounted) {
  Mamba2Config config = smallConfig(4);
  OwningOpRef<ModuleOp> module =
      importMamba2(config, {2, numTokens, "f32"}, UnknownLoc::get(&context()));
  CompileOptions options;
  options.nextTokenLoss = options.gradients = true;
  for (const Sharding &sharding : gradientShardings())
    if (sharding.mesh.numRanks() == 4) {
      options.sharding = sharding;
      break;
    }
  std::unique_ptr<Program> all = compileWith(*module, options);
  ASSERT_TRUE(all);
  std::vector<HostTensor> inputs =
      drawInputs(all->arguments(), config, Decay::Slow, 7);
  auto callsOf = [&](Program &program) {
    int64_t calls = 0;
    for (const CollectiveCount &count :
         runOrFail(program, inputs, CPRT_KERNELS_FAST).collectives)
      calls += count.calls;
    return calls;
  };
  int64_t expected = callsOf(*all);
  Compiled less = compileWithin(*module, options, all->arenaBytes() * 9 / 10,
                                /*exchanges=*/false);
  ASSERT_TRUE(less.program) << less.error;
  EXPECT_GT(less.partAgain, 0);
  EXPECT_EQ(callsOf(*less.program), expected);
  Compiled least = compileWithin(*module, options, all->arenaBytes() * 7 / 10,
                                 /*exchanges=*/true);
  ASSERT_TRUE(least.program) << least.error;
  EXPECT_GT(callsOf(*least.program), expected);
}

class ResidualOfOpTest : public testing::TestWithParam<GradientCase> {};

TEST_P(ResidualOfOpTest, TheSameNumbers) {
  OwningOpRef<ModuleOp> module = parse(textOf(GetParam()));
  ASSERT_TRUE(module);
  CompileOptions options;
  options.gradients = true;
  for (const Sharding &sharding : gradientShardings()) {
    SCOPED_TRACE(describe(sharding));
    options.sharding = sharding;
    checkLimits(*module, options, /*exchanges=*/true, drawForGradients);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ResidualOfOpTest,
                         testing::ValuesIn(gradientCases()),
                         [](const testing::TestParamInfo<GradientCase> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
