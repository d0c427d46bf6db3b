//===- SplitBackwardTest.cpp - Forward and backward, called apart ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two functions, of which the second gets what the first has kept, give the
// bits that one gives.
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"
#include "TestModel.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <map>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// A step with gradients: of one rank's program, or of whole tensors. Null
/// after a failure.
OwningOpRef<ModuleOp>
stepOf(ModuleOp module, const std::optional<Sharding> &sharding, bool isSplit) {
  OwningOpRef<ModuleOp> step = cast<ModuleOp>(module->clone());
  PassManager manager(module.getContext());
  buildGlobalGradientPipeline(manager, sharding);
  if (sharding)
    buildShardPipeline(manager, *sharding, /*expose=*/false);
  if (isSplit)
    manager.addPass(createSplitBackward());
  if (succeeded(manager.run(*step)))
    return step;
  ADD_FAILURE() << "no step";
  return nullptr;
}

/// Tensors by name, among them what a function gives.
using Tensors = std::map<std::string, HostTensor>;

void run(Program &program, Tensors &tensors) {
  std::vector<HostTensor> inputs;
  for (const TensorSpec &spec : program.arguments())
    inputs.push_back(tensors.at(spec.name));
  RunResult result = runOrFail(program, inputs, CPRT_KERNELS_FAST);
  for (auto [spec, output] : llvm::zip(program.results(), result.outputs))
    tensors[spec.name] = output;
}

class SplitBackwardTest : public testing::TestWithParam<GradientCase> {};

TEST_P(SplitBackwardTest, TheTwoGiveWhatOneGives) {
  OwningOpRef<ModuleOp> module = parse(textOf(GetParam()));
  ASSERT_TRUE(module);
  std::vector<std::optional<Sharding>> shardings = {std::nullopt};
  for (const Sharding &sharding : gradientShardings())
    if (sharding.mesh.numRanks() == 4)
      shardings.push_back(sharding);
  for (const std::optional<Sharding> &sharding : shardings) {
    SCOPED_TRACE(sharding ? describe(*sharding) : "whole");
    OwningOpRef<ModuleOp> joint = stepOf(*module, sharding, /*isSplit=*/false),
                          split = stepOf(*module, sharding, /*isSplit=*/true);
    ASSERT_TRUE(joint && split);
    CompileOptions options;
    std::unique_ptr<Program> one = compileWith(*joint, options);
    options.entry = "main_forward";
    std::unique_ptr<Program> forward = compileWith(*split, options);
    options.entry = "main_backward";
    std::unique_ptr<Program> backward = compileWith(*split, options);
    ASSERT_TRUE(one && forward && backward);
    Tensors expected;
    std::vector<HostTensor> drawn = drawForGradients(one->arguments());
    for (auto [spec, tensor] : llvm::zip(one->arguments(), drawn))
      expected[spec.name] = tensor;
    Tensors got = expected;
    run(*one, expected);
    run(*forward, got);
    run(*backward, got);
    for (const TensorSpec &spec : one->results())
      EXPECT_EQ(got.at(spec.name).bytes, expected.at(spec.name).bytes)
          << spec.name;
    // Nothing is computed forward by the second.
    EXPECT_GT(forward->results().size(), 1u);
    EXPECT_EQ(backward->results().size() + 1, one->results().size());
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, SplitBackwardTest,
                         testing::ValuesIn(gradientCases()),
                         [](const testing::TestParamInfo<GradientCase> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
