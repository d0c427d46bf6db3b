//===- BF16Test.cpp - bf16 against f64, one rank and transformers ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Four layers of the published head size and state. The oracle is the same
// model on the same numbers in f64, on one rank and reference kernels. What
// transformers computes comes from scripts/make_bf16_golden.py.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include "cp/Model/HFConfig.h"
#include "gtest/gtest.h"

#include <cmath>
#include <iostream>
#include <map>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// The seed of the golden's weights, and the length of its one sequence.
constexpr uint64_t goldenSeed = 31;
constexpr int64_t goldenLength = 64;
/// How much farther from f64 many ranks may be than one.
constexpr double largestRatio = 1.1;

/// What transformers computes in f32 differs from f64 by its rounding alone.
constexpr double roundingOfF32 = 1e-5;

class BF16Test : public testing::Test {
protected:
  void SetUp() override {
    std::string folder = CP_SOURCE_DIR "/test/Integration/goldens-bf16";
    llvm::Expected<Mamba2Config> config =
        readMamba2Config(folder + "/config.json");
    ASSERT_TRUE(static_cast<bool>(config))
        << llvm::toString(config.takeError());
    llvm::Expected<TensorFile> file =
        TensorFile::open(folder + "/golden.safetensors");
    ASSERT_TRUE(static_cast<bool>(file)) << llvm::toString(file.takeError());
    for (const TensorView &view : file->tensors())
      golden[view.name] = {
          view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}};
    module = import(*config, "bf16");
    OwningOpRef<ModuleOp> wideModule = import(*config, "f64");
    ASSERT_TRUE(module && wideModule);
    std::unique_ptr<Program> wide = compile(*wideModule, {});
    one = compile(*module, {});
    ASSERT_TRUE(wide && one);
    inputs = goldenInputs(one->arguments());
    RunResult run = runOrFail(*wide, widened(inputs), CPRT_KERNELS_REFERENCE);
    ASSERT_EQ(run.outputs.size(), 1u);
    oracle = std::move(run.outputs[0]);
  }

  static OwningOpRef<ModuleOp> import(const Mamba2Config &config,
                                      const std::string &dtype) {
    return importMamba2(config, {1, goldenLength, dtype},
                        UnknownLoc::get(&context()));
  }

  /// As the script has them: drawn, then changed by numbers that bf16 holds.
  std::vector<HostTensor> goldenInputs(llvm::ArrayRef<TensorSpec> specs) {
    std::vector<HostTensor> tensors;
    for (const TensorSpec &spec : specs) {
      if (!spec.isParam) {
        tensors.push_back(golden.at("input_ids"));
        continue;
      }
      std::vector<double> values =
          drawWeight(*spec.init, spec.shape, spec.name, goldenSeed);
      llvm::StringRef name = spec.name;
      for (size_t i = 0; i < values.size(); ++i) {
        if (name.ends_with("A_log") && i % 2 == 0)
          values[i] = -5;
        else if (name.ends_with("dt_bias"))
          values[i] = 0;
        else if (name.ends_with(".D"))
          values[i] = 0.5;
      }
      tensors.push_back(fromDoubles(spec.dtype, spec.shape, values));
    }
    return tensors;
  }

  /// The rel_l2 distance of a program's logits from the oracle.
  double errorOf(Program &program, cprt_kernel_set kernels) {
    RunResult run = runOrFail(program, inputs, kernels);
    return run.outputs.empty() ? HUGE_VAL
                               : compare(run.outputs[0], oracle).relL2;
  }

  std::map<std::string, HostTensor> golden;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Program> one;
  std::vector<HostTensor> inputs;
  HostTensor oracle;
};

/// The oracle is right, and its weights are those that transformers had.
TEST_F(BF16Test, TheOracleAgreesWithTransformersInF32) {
  EXPECT_LE(compare(golden.at("logits_f32"), oracle).relL2, roundingOfF32);
}

TEST_F(BF16Test, NoFartherFromF64ThanOneRankAndThanTransformers) {
  double allowed = compare(golden.at("logits_bf16"), oracle).relL2;
  std::cout << "rel_l2 from f64: transformers " << allowed << "\n";
  for (cprt_kernel_set kernels : {CPRT_KERNELS_FAST, CPRT_KERNELS_REFERENCE}) {
    double alone = errorOf(*one, kernels), worst = 0;
    EXPECT_LE(alone, allowed);
    for (const TestSharding &sharding : allShardings()) {
      SCOPED_TRACE(describe(sharding));
      std::unique_ptr<Program> program = compile(*module, sharding);
      ASSERT_TRUE(program);
      double error = errorOf(*program, kernels);
      EXPECT_LE(error, largestRatio * alone);
      EXPECT_LE(error, allowed);
      worst = std::max(worst, error);
    }
    std::cout << (kernels == CPRT_KERNELS_FAST ? "fast" : "reference")
              << " kernels: one rank " << alone << ", worst sharding " << worst
              << "\n";
  }
}

} // namespace
