//===- AccumulationTest.cpp - Micro-batches are one batch -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"
#include "TestModel.h"
#include "TrainingRun.h"
#include "cp/IR/CPDialect.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

constexpr int64_t numMicroBatches = 3, rows = 2, numSteps = 5;

OwningOpRef<ModuleOp> modelOf(int64_t batch) {
  return importMamba2(smallConfig(2), {batch, sequenceLength, "f64"},
                      UnknownLoc::get(&context()));
}

/// Parts of the rows of a tensor of tokens.
HostTensor rowsOf(const HostTensor &whole, int64_t first) {
  HostTensor part = HostTensor::zeros(whole.dtype, {rows, whole.shape[1]});
  size_t bytes = part.bytes.size();
  std::memcpy(part.bytes.data(),
              whole.bytes.data() + size_t(first / rows) * bytes, bytes);
  return part;
}

/// Micro-batches that have all labels, some, and none.
void ignoreSome(HostTensor &labels) {
  auto *ids = reinterpret_cast<int32_t *>(labels.bytes.data());
  int64_t each = rows * labels.shape[1];
  for (int64_t i = 0; i < each; ++i) {
    if (i % 3)
      ids[each + i] = -100;
    ids[2 * each + i] = -100;
  }
}

class AccumulationTest : public testing::TestWithParam<Optimizer> {
protected:
  AccumulationTest()
      : whole(modelOf(numMicroBatches * rows)), part(modelOf(rows)) {
    options.nextTokenLoss = true;
    std::unique_ptr<Program> forward = compileWith(*whole, options);
    specs = forward->arguments();
    inputs = drawInputs(specs, smallConfig(2), Decay::Slow, 5);
    for (auto [spec, input] : llvm::zip_equal(specs, inputs))
      if (spec.name == "labels")
        ignoreSome(input);
    options.gradients = true;
    options.update.optimizer = GetParam();
    options.update.weightDecay = 0.1;
  }

  Curve trainWhole() {
    std::unique_ptr<Program> program = compileWith(*whole, options);
    TrainingRun run({program.get()}, specs, inputs);
    for (int64_t step = 1; step <= numSteps; ++step)
      run.step(step);
    return run.finish();
  }

  /// `order` is that of micro-batches in a step.
  Curve trainParts(const Sharding *sharding,
                   llvm::ArrayRef<int64_t> order = {0, 1, 2}) {
    CompileOptions parts = options;
    parts.update.accumulate = true;
    if (sharding)
      parts.sharding = *sharding;
    auto programs = compileSteps(*part, parts);
    if (!programs) {
      ADD_FAILURE() << llvm::toString(programs.takeError());
      return {};
    }
    std::vector<HostTensor> first = inputs;
    for (auto [spec, input] : llvm::zip_equal(specs, first))
      if (!spec.isParam)
        input = rowsOf(input, 0);
    TrainingRun run({(*programs)[0].get(), (*programs)[1].get()}, specs, first);
    for (int64_t step = 1; step <= numSteps; ++step) {
      for (auto [number, which] : llvm::enumerate(order)) {
        for (auto [spec, input] : llvm::zip_equal(specs, inputs))
          if (!spec.isParam)
            succeed(run.session->set(spec.name, rowsOf(input, which * rows)));
        run.accumulate(int64_t(number));
      }
      run.update(step);
    }
    run.expectSameReplicas();
    return run.finish();
  }

  OwningOpRef<ModuleOp> whole, part;
  CompileOptions options;
  std::vector<TensorSpec> specs;
  std::vector<HostTensor> inputs;
};

TEST_P(AccumulationTest, MicroBatchesAreOneBatch) {
  Curve expected = trainWhole();
  EXPECT_LT(expected.losses.back(), expected.losses.front());
  expectSame(trainParts(nullptr), expected, 1e-12);
  for (const Sharding &sharding : gradientShardings()) {
    SCOPED_TRACE(describe(sharding));
    expectSame(trainParts(&sharding), expected, 1e-12);
  }
}

/// One that is lost, or counted twice, is seen.
TEST_P(AccumulationTest, AllAreCounted) {
  Curve expected = trainWhole();
  for (const std::vector<int64_t> &order :
       {std::vector<int64_t>{0, 2}, std::vector<int64_t>{1, 0, 1, 2}}) {
    Curve wrong = trainParts(nullptr, order);
    EXPECT_GT(farthest(wrong.norms, expected.norms), 1e-6);
    EXPECT_GT(farthest(wrong.losses, expected.losses), 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(All, AccumulationTest,
                         testing::Values(Optimizer::Sgd, Optimizer::Adamw),
                         [](const testing::TestParamInfo<Optimizer> &info) {
                           return std::string(
                               info.param == Optimizer::Sgd ? "Sgd" : "Adamw");
                         });

std::string errorOf(ModuleOp module, const CompileOptions &options) {
  auto programs = compileSteps(module, options);
  return programs ? "" : llvm::toString(programs.takeError());
}

TEST(UpdateOptionsTest, OptionsThatGoTogetherInNoProgram) {
  OwningOpRef<ModuleOp> module = modelOf(1);
  CompileOptions options;
  options.nextTokenLoss = options.update.accumulate = true;
  EXPECT_EQ(errorOf(*module, options),
            "micro-batches are summed for a step; give the update an "
            "optimizer");
  options.update.optimizer = Optimizer::Sgd;
  EXPECT_EQ(errorOf(*module, options),
            "an update is of gradients of whole tensors; ask for gradients, "
            "with the global program differentiated");
  options.gradients = true;
  options.sharding = gradientShardings().front();
  options.differentiate = DifferentiatedView::Local;
  EXPECT_EQ(errorOf(*module, options),
            "an update is of gradients of whole tensors; ask for gradients, "
            "with the global program differentiated");
  options.differentiate = DifferentiatedView::Global;
  auto one = compileProgram(*module, options);
  EXPECT_EQ(one ? "" : llvm::toString(one.takeError()),
            "a step of micro-batches is two programs; let "
            "compileSteps make them");
}

} // namespace
