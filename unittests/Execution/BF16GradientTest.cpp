//===- BF16GradientTest.cpp - Gradients in bf16 beside torch's ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How far each parameter's gradient in bf16 is from that in f64, which
// test/Integration/goldens-gradients.test holds against transformers'; beside
// how far torch's is (scripts/make_bf16_gradient_goldens.py).
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"
#include "cp/Frontend/HybridImporter.h"
#include "cp/Model/Weights.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

#include <cmath>
#include <iostream>
#include <map>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// How much farther from f64 a gradient may be than torch's.
constexpr double largestRatio = 1.5;

std::map<std::string, HostTensor> readTensors(const std::string &path) {
  std::map<std::string, HostTensor> tensors;
  llvm::Expected<TensorFile> file = TensorFile::open(path);
  if (!file) {
    ADD_FAILURE() << llvm::toString(file.takeError());
    return tensors;
  }
  for (const TensorView &view : file->tensors())
    tensors[view.name] = {
        view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}};
  return tensors;
}

class BF16GradientTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    folder = std::string(CP_SOURCE_DIR "/test/Integration/") + GetParam() + "/";
    golden = readTensors(folder + "bf16.safetensors");
    weights = readTensors(folder + "weights.safetensors");
    ASSERT_FALSE(golden.empty() || weights.empty());
    ids = golden.at("input_ids");
    std::unique_ptr<Program> wide = compileAs("f64", {});
    ASSERT_TRUE(wide);
    exact = gradientsOf(*wide, CPRT_KERNELS_REFERENCE);
  }

  std::unique_ptr<Program> compileAs(const std::string &dtype,
                                     const TestSharding &sharding) {
    llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file =
        llvm::MemoryBuffer::getFile(folder + "config.json");
    llvm::Expected<ModelConfig> config =
        parseModelConfig(file ? (*file)->getBuffer() : "", folder);
    if (!config) {
      ADD_FAILURE() << llvm::toString(config.takeError());
      return nullptr;
    }
    OwningOpRef<ModuleOp> module =
        importModel(*config, {ids.shape[1], ids.shape[2], dtype},
                    UnknownLoc::get(&context()));
    CompileOptions options = compileOptions(sharding);
    options.nextTokenLoss = options.gradients = true;
    return module ? compileWith(*module, options) : nullptr;
  }

  /// For each draw, the elements of each gradient.
  using Gradients = std::vector<std::map<std::string, std::vector<double>>>;
  Gradients gradientsOf(Program &program, cprt_kernel_set kernels) {
    Gradients all;
    for (int64_t draw = 0; draw < ids.shape[0]; ++draw) {
      RunResult run = runOrFail(program, inputsOf(program, draw), kernels);
      auto &found = all.emplace_back();
      for (auto [spec, output] : llvm::zip(program.results(), run.outputs))
        if (llvm::StringRef name = spec.name; name.consume_front("grad."))
          found[name.str()] = output.asDoubles();
    }
    return all;
  }

  /// Weights as bf16 holds them, whatever the program's type is.
  std::vector<HostTensor> inputsOf(const Program &program, int64_t draw) {
    std::vector<HostTensor> inputs;
    for (const TensorSpec &spec : program.arguments()) {
      if (spec.isParam)
        inputs.push_back(
            fromDoubles(spec.dtype, spec.shape,
                        fromDoubles(DType::BF16, spec.shape,
                                    weights.at(spec.name).asDoubles())
                            .asDoubles()));
      else
        inputs.push_back(idsOf(spec, draw));
    }
    return inputs;
  }

  /// Those of a draw; as labels each one further, and the last nothing.
  HostTensor idsOf(const TensorSpec &spec, int64_t draw) {
    int64_t rows = ids.shape[1], length = ids.shape[2];
    std::vector<double> values = ids.asDoubles();
    HostTensor tensor = HostTensor::zeros(spec.dtype, spec.shape);
    auto *to = reinterpret_cast<int32_t *>(tensor.bytes.data());
    int64_t ahead = spec.name == "labels" ? 1 : 0;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < length; ++i)
        *to++ = i + ahead < length
                    ? static_cast<int32_t>(
                          values[(draw * rows + row) * length + i + ahead])
                    : -100;
    return tensor;
  }

  /// rel_l2 of each parameter's gradient, over all draws together.
  std::map<std::string, double> distancesOf(const Gradients &gradients) {
    std::map<std::string, double> error, norm;
    for (auto [draw, found] : llvm::enumerate(gradients))
      for (auto &[name, values] : found)
        for (auto [value, right] : llvm::zip(values, exact[draw].at(name))) {
          error[name] += (value - right) * (value - right);
          norm[name] += right * right;
        }
    for (auto &[name, sum] : error)
      sum = std::sqrt(sum / norm[name]);
    return error;
  }

  void expectNear(Program &program, cprt_kernel_set kernels) {
    double worst = 0;
    std::string where;
    std::map<std::string, double> distances =
        distancesOf(gradientsOf(program, kernels));
    // All but the ids of the file are distances.
    EXPECT_EQ(distances.size() + 1, golden.size());
    for (auto [name, distance] : distances) {
      double allowed = golden.at("distance." + name).asDoubles().front();
      EXPECT_LE(distance, largestRatio * allowed) << name;
      if (distance / allowed > worst) {
        worst = distance / allowed;
        where = name;
      }
    }
    std::cout << (kernels == CPRT_KERNELS_FAST ? "fast" : "reference")
              << " kernels: at most " << worst << " times torch's distance ("
              << where << ")\n";
  }

  std::string folder;
  std::map<std::string, HostTensor> golden, weights;
  HostTensor ids;
  Gradients exact;
};

TEST_P(BF16GradientTest, NotMuchFartherFromF64ThanTorch) {
  for (const TestSharding &sharding :
       {TestSharding(), TestSharding{"hidden", "chain", 4},
        TestSharding{"sequence", "chain", 4}}) {
    SCOPED_TRACE(describe(sharding));
    std::unique_ptr<Program> program = compileAs("bf16", sharding);
    ASSERT_TRUE(program);
    expectNear(*program, CPRT_KERNELS_FAST);
    if (sharding.ranks == 1)
      expectNear(*program, CPRT_KERNELS_REFERENCE);
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, BF16GradientTest,
                         testing::Values("goldens/transformers-g4",
                                         "goldens-hybrid/bamba-options",
                                         "goldens-hybrid/nemotron_h"));

} // namespace
