//===- AdjointTest.cpp - Exchanges and their adjoints, at random ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is linear has an adjoint: <F x, y> = <x, F* y> for all x and y, of what
// all ranks hold.
//
//===----------------------------------------------------------------------===//

#include "PropertyPlan.h"
#include "RandomExchange.h"
#include "cp/Model/Random.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <cmath>
#include <iostream>
#include <map>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// Whether it is a program of whole tensors.
bool isOfWhole(const RandomMap &map) {
  return map.name.find("reshard") == 0 || map.name.find("bridge") == 0;
}

/// The map and its adjoint as one program: results, then a gradient for each of
/// what it is linear in.
std::unique_ptr<Program> withAdjoint(const RandomMap &map) {
  OwningOpRef<ModuleOp> module = parse(map.text);
  if (!module)
    return nullptr;
  PassManager manager(&context());
  if (isOfWhole(map))
    buildPartitionPipeline(manager);
  DifferentiateOptions options;
  options.cotangents = true;
  for (const std::string &name : map.linear)
    options.wrt.push_back(name);
  buildLocalGradientPipeline(manager, options);
  return succeeded(manager.run(*module)) ? compileQuickly(*module) : nullptr;
}

std::vector<HostTensor> drawAll(const Program &program, uint64_t seed) {
  std::vector<HostTensor> tensors;
  for (const TensorSpec &spec : program.arguments()) {
    std::vector<double> values(*tensorBytes(spec.shape, DType::I8));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = 2 * uniform01(seed ^ fnv1a64(spec.name), i) - 1;
    tensors.push_back(fromDoubles(spec.dtype, spec.shape, values));
  }
  return tensors;
}

/// A sum of products, and of their absolute values.
struct Product {
  double value = 0, size = 0;
  void add(const HostTensor &a, const HostTensor &b) {
    std::vector<double> x = a.asDoubles(), y = b.asDoubles();
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      value += x[i] * y[i];
      size += std::fabs(x[i] * y[i]);
    }
  }
};

class AdjointTest : public testing::Test {
protected:
  /// <F x, y> `factor` = <x, F* y>; and F x = x, if it `keeps` that.
  void check(const RandomMap &map, uint64_t seed, double factor = 1,
             bool keeps = false) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + map.name);
    if (plan().print)
      std::cout << "seed " << seed << ": " << map.name << "\n" << map.text;
    ++drawn[map.name];
    std::unique_ptr<Program> program = withAdjoint(map);
    ASSERT_TRUE(program) << map.text;
    std::vector<HostTensor> inputs = drawAll(*program, seed);
    RunResult run = runOrFail(*program, inputs, CPRT_KERNELS_FAST);
    size_t gradients = map.linear.size();
    ASSERT_GT(run.outputs.size(), gradients);
    size_t results = run.outputs.size() - gradients;
    Product forward, backward;
    for (size_t i = 0; i < results; ++i)
      forward.add(run.outputs[i], inputs[inputs.size() - results + i]);
    for (size_t i = 0; i < gradients; ++i)
      for (size_t j = 0; j < inputs.size(); ++j)
        if (program->arguments()[j].name == map.linear[i])
          backward.add(inputs[j], run.outputs[results + i]);
    if (keeps) {
      EXPECT_EQ(run.outputs[0].bytes, inputs[0].bytes) << map.text;
    }
    EXPECT_LE(std::fabs(factor * forward.value - backward.value),
              1e-12 * (forward.size + backward.size))
        << map.text;
  }

  /// Draws cases of one kind, in a stream of their own.
  void checkAll(uint64_t cases,
                llvm::function_ref<void(Dice &, uint64_t)> draw) {
    for (uint64_t i = 0; i < cases && !HasFatalFailure(); ++i) {
      Dice dice(plan().seed + i);
      draw(dice, plan().seed + i);
    }
    std::cout << cases << " cases from seed " << plan().seed << "\n";
  }

  std::map<std::string, int64_t> drawn;
};

TEST_F(AdjointTest, OfEveryCollective) {
  checkAll(plan().cases, [&](Dice &dice, uint64_t seed) {
    check(drawCollective(dice), seed);
  });
  if (plan().cases < 100)
    return;
  for (const char *name :
       {"all_gather", "slice", "unslice", "reduce_scatter", "all_reduce",
        "all_to_all", "reorder", "shift", "halo", "scan_state"})
    EXPECT_GT(drawn[name], 0) << name;
  // One in forty.
  if (plan().cases >= 400) {
    EXPECT_GT(drawn["reorder documents"], 0);
  }
}

TEST_F(AdjointTest, ScaledByHand) {
  checkAll(plan().cases / 4, [&](Dice &dice, uint64_t seed) {
    double factor = 1;
    RandomMap map = drawHandScaled(dice, factor);
    check(map, seed, factor);
  });
}

TEST_F(AdjointTest, OfEveryReshard) {
  checkAll(plan().cases, [&](Dice &dice, uint64_t seed) {
    check(drawReshards(dice), seed, 1, /*keeps=*/true);
  });
  if (plan().cases < 100)
    return;
  for (const char *name :
       {"reshard to terms", "reshard by sizes", "reshard by sizes to terms"})
    EXPECT_GT(drawn[name], 0) << name;
}

TEST_F(AdjointTest, OfBridges) {
  checkAll(plan().cases, [&](Dice &dice, uint64_t seed) {
    check(drawBridge(dice), seed, 1, /*keeps=*/true);
  });
  if (plan().cases >= 100) {
    EXPECT_GT(drawn["bridge of terms"], 0);
  }
}

} // namespace
