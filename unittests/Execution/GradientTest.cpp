//===- GradientTest.cpp - Derived gradients against finite differences ----===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"
#include "TestModel.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// The same module, differentiated where that is asked for.
OwningOpRef<ModuleOp> prepare(ModuleOp module, bool differentiate) {
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone());
  PassManager manager(module.getContext());
  manager.addPass(createDecompose());
  if (differentiate)
    manager.nest<func::FuncOp>().addPass(createDifferentiate());
  if (failed(manager.run(*copy)))
    return {};
  return copy;
}

double at(const HostTensor &tensor, int64_t i) {
  double value;
  std::memcpy(&value, tensor.bytes.data() + i * sizeof(value), sizeof(value));
  return value;
}
void set(HostTensor &tensor, int64_t i, double value) {
  std::memcpy(tensor.bytes.data() + i * sizeof(value), &value, sizeof(value));
}

class Losses {
public:
  Losses(Program &program, std::vector<HostTensor> inputs)
      : program(program), inputs(std::move(inputs)) {}

  /// Richardson's extrapolation of two central differences of the loss.
  double difference(size_t input, int64_t i) {
    double value = at(inputs[input], i);
    auto central = [&](double step) {
      double above = lossWith(input, i, value + step);
      double below = lossWith(input, i, value - step);
      return (above - below) / (2 * step);
    };
    constexpr double step = 1e-3;
    double result = (4 * central(step / 2) - central(step)) / 3;
    set(inputs[input], i, value);
    return result;
  }

private:
  double lossWith(size_t input, int64_t i, double value) {
    set(inputs[input], i, value);
    RunResult result = runOrFail(program, inputs, CPRT_KERNELS_REFERENCE);
    return result.outputs.empty() ? NAN : at(result.outputs[0], 0);
  }

  Program &program;
  std::vector<HostTensor> inputs;
};

void expectSame(const RunResult &result, const RunResult &expected) {
  ASSERT_EQ(result.outputs.size(), expected.outputs.size());
  for (size_t i = 0; i < result.outputs.size(); ++i)
    EXPECT_LE(compare(result.outputs[i], expected.outputs[i]).relL2, 1e-12)
        << "result " << i;
}

class GradientTest : public testing::TestWithParam<GradientCase> {
protected:
  void SetUp() override {
    module = parse(textOf(GetParam()));
    ASSERT_TRUE(module);
    gradients = prepare(*module, /*differentiate=*/true);
    module = prepare(*module, /*differentiate=*/false);
    ASSERT_TRUE(module && gradients);
  }
  OwningOpRef<ModuleOp> module, gradients;
};

TEST_P(GradientTest, AreFiniteDifferences) {
  std::unique_ptr<Program> forward = compile(*module, TestSharding());
  std::unique_ptr<Program> backward = compile(*gradients, TestSharding());
  ASSERT_TRUE(forward && backward);
  std::vector<HostTensor> inputs = drawForGradients(forward->arguments());
  RunResult result = runOrFail(*backward, inputs, CPRT_KERNELS_REFERENCE);
  Losses losses(*forward, inputs);
  size_t next = 1;
  for (auto [i, spec] : llvm::enumerate(forward->arguments())) {
    if (!spec.isParam)
      continue;
    ASSERT_LT(next, result.outputs.size());
    EXPECT_EQ(backward->results()[next].name, "grad." + spec.name);
    const HostTensor &gradient = result.outputs[next++];
    for (int64_t e = 0; e < gradient.numElements(); ++e) {
      double want = losses.difference(i, e);
      ASSERT_NEAR(at(gradient, e), want, 1e-7 * (1 + std::fabs(want)))
          << spec.name << " number " << e;
    }
  }
  EXPECT_EQ(next, result.outputs.size());
}

/// Sharded with the forward pass, by the same partitioner: as it is, and after
/// shared groups were repeated for the ranks (cp-prepare-cuts).
TEST_P(GradientTest, OverRanksAreThoseOfOne) {
  std::unique_ptr<Program> whole = compile(*gradients, TestSharding());
  ASSERT_TRUE(whole);
  std::vector<HostTensor> inputs = drawForGradients(whole->arguments());
  RunResult expected = runOrFail(*whole, inputs, CPRT_KERNELS_REFERENCE);
  for (const Sharding &sharding : gradientShardings())
    for (bool isPrepared : {false, true}) {
      // Two groups are cut over four ranks only where they were repeated.
      if (!isPrepared && sharding.mesh.numRanks() == 4 &&
          sharding.mixer == CutStrategy::Hidden && GetParam().hasTwoGroups)
        continue;
      SCOPED_TRACE(describe(sharding) + (isPrepared ? ", prepared" : ""));
      CompileOptions options;
      options.sharding = sharding;
      options.gradients = isPrepared;
      std::unique_ptr<Program> cut =
          compileWith(isPrepared ? *module : *gradients, options);
      ASSERT_TRUE(cut);
      for (cprt_kernel_set kernels :
           {CPRT_KERNELS_FAST, CPRT_KERNELS_REFERENCE})
        expectSame(runOrFail(*cut, inputs, kernels), expected);
    }
}

INSTANTIATE_TEST_SUITE_P(Programs, GradientTest,
                         testing::ValuesIn(gradientCases()),
                         [](const testing::TestParamInfo<GradientCase> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
