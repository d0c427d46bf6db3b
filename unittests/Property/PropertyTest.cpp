//===- PropertyTest.cpp - Sharded against one rank, at random -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   CPPropertyTests [--seed=FIRST] [--cases=N] [--print]
//
// Case i has seed FIRST + i, and a failure prints it: --seed=S --cases=1 makes
// the same case again, --print shows its model.
//
//===----------------------------------------------------------------------===//

#include "RandomModel.h"
#include "cp/Transforms/Passes.h"

#include "gtest/gtest.h"

#include <cmath>
#include <iostream>
#include <map>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

struct Plan {
  uint64_t seed = 1;
  uint64_t cases = 200;
  bool print = false;
};
Plan plan;

/// Sharding moves roundings only. In bf16 what is stored between ops is
/// rounded to 2^-9, and softmax and norms carry that on.
double toleranceOf(llvm::StringRef dtype) {
  if (dtype == "bf16")
    return 4e-2;
  return dtype == "f64" ? 1e-11 : 5e-6;
}

class PropertyTest : public testing::Test {
protected:
  void check(uint64_t seed) {
    Dice dice(seed);
    RandomSharding sharding = drawSharding(dice);
    RandomModel model = drawModel(dice, sharding);
    cprt_kernel_set kernels =
        dice.chance(0.5) ? CPRT_KERNELS_FAST : CPRT_KERNELS_REFERENCE;
    std::string line = "seed " + std::to_string(seed) + ": " +
                       describe(sharding, model) +
                       (kernels == CPRT_KERNELS_FAST ? " fast" : " reference");
    SCOPED_TRACE(line);
    if (plan.print)
      std::cout << line << "\n" << model.text;
    OwningOpRef<ModuleOp> module = parse(model.text);
    ASSERT_TRUE(module) << model.text;
    std::unique_ptr<Program> whole = compile(*module, TestSharding());
    CompileOptions options;
    options.sharding = sharding.value;
    std::unique_ptr<Program> cut = compileWith(*module, options);
    ASSERT_TRUE(whole && cut) << model.text;
    std::vector<HostTensor> inputs =
        drawInputs(whole->arguments(), model.decay, seed);
    RunResult expected = runOrFail(*whole, inputs, CPRT_KERNELS_REFERENCE);
    RunResult result = runOrFail(*cut, inputs, kernels);
    ASSERT_EQ(result.outputs.size(), expected.outputs.size());
    for (size_t i = 0; i < result.outputs.size(); ++i) {
      Difference difference = compare(result.outputs[i], expected.outputs[i]);
      EXPECT_LE(difference.relL2, toleranceOf(model.dtype))
          << "result " << i << "\n"
          << model.text;
      double &worst = worstOf[model.dtype];
      worst = std::max(worst, difference.relL2);
    }
    drawn["final states"] += result.outputs.size() - 1;
    ShardingText text = textOf(sharding.value);
    ++drawn[text.order.substr(0, 4) + " " + text.mixer + " " + text.attention];
    ++drawn[describe(model.decay)];
  }

  std::map<std::string, double> worstOf;
  std::map<std::string, int64_t> drawn;
};

TEST_F(PropertyTest, EveryShardingGivesTheNumbersOfOneRank) {
  std::cout << plan.cases << " cases from seed " << plan.seed << "\n";
  for (uint64_t i = 0; i < plan.cases; ++i)
    check(plan.seed + i);
  for (auto &[dtype, worst] : worstOf)
    std::cout << "worst rel_l2 in " << dtype << ": " << worst << "\n";
  if (plan.cases < 100)
    return;
  // Tests of everything draw everything.
  for (const char *order : {"cont", "zigz", "stri"})
    for (const char *rest : {" hidden ring", " hidden ulysses",
                             " sequence ring", " sequence ulysses"})
      EXPECT_GT(drawn[std::string(order) + rest], 0) << order << rest;
  EXPECT_GT(drawn["final states"], 0);
  for (Decay decay : {Decay::AsPublished, Decay::Slow, Decay::Resets})
    EXPECT_GT(drawn[describe(decay)], 0) << describe(decay);
}

/// Reads "--name=number" into `value`.
bool readNumber(llvm::StringRef argument, llvm::StringRef name,
                uint64_t &value) {
  return argument.consume_front(name) && !argument.getAsInteger(10, value);
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (argument == "--print") {
      plan.print = true;
      continue;
    }
    if (!readNumber(argument, "--seed=", plan.seed) &&
        !readNumber(argument, "--cases=", plan.cases)) {
      std::cerr << "unknown argument '" << argv[i]
                << "'; give --seed=FIRST, --cases=N or --print\n";
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
