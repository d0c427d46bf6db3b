//===- ProgramTest.cpp - Programs on the kernels of cards -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whole models of the published head size and state, on one rank and on
// several, with the scans, convolutions and norms of cards, which the executor
// runs, among the processors' other kernels: tensors come as programs lay them
// out, and states and halos from other ranks.
//
//===----------------------------------------------------------------------===//

#include "EmulatedKernels.h"
#include "TestModel.h"

#include "cp/Model/HFConfig.h"
#include "llvm/ADT/StringRef.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace cp;
using namespace cp::test;
using namespace cp::kernels;

namespace {

class EmulatedProgramTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::Expected<Mamba2Config> config = readMamba2Config(
        CP_SOURCE_DIR "/test/Integration/goldens-bf16/config.json");
    ASSERT_TRUE(static_cast<bool>(config))
        << llvm::toString(config.takeError());
    narrow = importMamba2(*config, {1, sequenceLength, "bf16"},
                          UnknownLoc::get(&context()));
    OwningOpRef<ModuleOp> wide = importMamba2(
        *config, {1, sequenceLength, "f64"}, UnknownLoc::get(&context()));
    ASSERT_TRUE(narrow && wide);
    std::unique_ptr<Program> program = compile(*wide, {});
    std::unique_ptr<Program> one = compile(*narrow, {});
    ASSERT_TRUE(program && one);
    inputs = drawInputs(one->arguments(), *config, Decay::AsPublished, 3);
    keepStates(one->arguments());
    oracle = resultOf(*program, widened(inputs), CPRT_KERNELS_REFERENCE);
  }
  void TearDown() override { replaceFastKernels(nullptr, 0); }

  /// Half of the heads keep what they have over the whole sequence, so that a
  /// lost state shows.
  void keepStates(llvm::ArrayRef<TensorSpec> specs) {
    for (size_t i = 0; i < specs.size(); ++i) {
      if (!llvm::StringRef(specs[i].name).ends_with("A_log"))
        continue;
      std::vector<double> values(size_t(specs[i].shape[0]));
      for (size_t head = 0; head < values.size(); ++head)
        values[head] = head % 2 ? std::log(double(head + 1)) : -7;
      inputs[i] = fromDoubles(specs[i].dtype, specs[i].shape, values);
    }
  }

  static HostTensor resultOf(Program &program,
                             const std::vector<HostTensor> &inputs,
                             cprt_kernel_set kernels) {
    RunResult run = runOrFail(program, inputs, kernels);
    return run.outputs.empty() ? HostTensor() : std::move(run.outputs[0]);
  }
  double errorOf(const TestSharding &sharding) {
    std::unique_ptr<Program> program = compile(*narrow, sharding);
    if (!program)
      return HUGE_VAL;
    return compare(resultOf(*program, inputs, CPRT_KERNELS_FAST), oracle).relL2;
  }

  OwningOpRef<ModuleOp> narrow;
  std::vector<HostTensor> inputs;
  HostTensor oracle;
};

TEST_F(EmulatedProgramTest, AreAsNearToF64AsOnProcessors) {
  double onProcessor = errorOf({});
  const std::vector<KernelEntry> &entries =
      cp::kernels::test::kernelsThrough<cp::kernels::test::OnHost>();
  replaceFastKernels(entries.data(), entries.size());
  for (const TestSharding &sharding :
       {TestSharding{}, TestSharding{"hidden", "chain", 4},
        TestSharding{"sequence", "chain", 4},
        TestSharding{"sequence", "transposed", 2}}) {
    SCOPED_TRACE(describe(sharding));
    double error = errorOf(sharding);
    EXPECT_LE(error, 1.1 * onProcessor);
    // It would be 0 if the processor's kernels had run.
    EXPECT_NE(error, onProcessor);
  }
}

} // namespace
