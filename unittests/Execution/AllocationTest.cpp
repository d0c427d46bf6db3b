//===- AllocationTest.cpp - No step but the first allocates ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Seen twice: by the runtime's own counter, and by the heap.
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "GradientCases.h"
#include "MallocCount.h"
#include "TestModel.h"

#include "gtest/gtest.h"

#include <atomic>
#include <cstring>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

constexpr int numSteps = 4;

/// What the ranks' threads allocate in steps `first`, first + 1, ...
struct Seen {
  int64_t heapCalls = 0;
  std::vector<int64_t> perStep;
};

Seen allocationsFrom(int first, Program &program,
                     llvm::ArrayRef<HostTensor> inputs,
                     cprt_kernel_set kernels) {
  std::vector<int> steps(program.mesh().numRanks());
  RunOptions options;
  options.kernels = kernels;
  options.repeats = numSteps;
  // On the rank's own thread, which does nothing else until its next step.
  options.beforeRank = [&](int64_t rank, cprt_context *) {
    countThisThread(steps[rank]++ >= first);
    return true;
  };
  int64_t before = numHeapCalls();
  llvm::Expected<RunResult> result = program.run(pointersTo(inputs), options);
  if (!result) {
    ADD_FAILURE() << llvm::toString(result.takeError());
    return {};
  }
  return {numHeapCalls() - before, result->allocationsPerStep};
}

void expectNoneAfterTheFirstStep(Program &program,
                                 llvm::ArrayRef<HostTensor> inputs) {
  for (cprt_kernel_set kernels : {CPRT_KERNELS_FAST, CPRT_KERNELS_REFERENCE}) {
    Seen later = allocationsFrom(1, program, inputs, kernels);
    EXPECT_EQ(later.heapCalls, 0);
    ASSERT_EQ(later.perStep.size(), size_t(numSteps));
    EXPECT_GT(later.perStep.front(), 0);
    for (int step = 1; step < numSteps; ++step)
      EXPECT_EQ(later.perStep[step], 0) << "step " << step;
  }
}

/// Groups, type.
using Case = std::tuple<int64_t, std::string>;
class AllocationTest : public testing::TestWithParam<Case> {};

TEST_P(AllocationTest, NoStepOfAModelButTheFirstAllocates) {
  auto [groups, dtype] = GetParam();
  Mamba2Config config = smallConfig(groups);
  OwningOpRef<ModuleOp> module = importMamba2(
      config, {2, sequenceLength, dtype}, UnknownLoc::get(&context()));
  ASSERT_TRUE(module);
  std::vector<TestSharding> shardings = allShardings();
  shardings.push_back({});
  for (const TestSharding &sharding : shardings) {
    SCOPED_TRACE(describe(sharding));
    std::unique_ptr<Program> program = compile(*module, sharding);
    ASSERT_TRUE(program);
    expectNoneAfterTheFirstStep(
        *program,
        drawInputs(program->arguments(), config, Decay::AsPublished, 3));
  }
}

/// Rows in an order per document, which is put together for the first batch.
TEST(PackedAllocationTest, NoStepOfPackedRowsButTheFirstAllocates) {
  OwningOpRef<ModuleOp> module = parse(R"(
!x = tensor<2x64x4x8xf32>
!places = tensor<2x64xi64>
func.func @main(%x: !x {cp.name = "x", cp.sequence = 1 : i64},
    %cu: tensor<2x5xi32> {cp.name = "cu_seqlens"}) -> !x {
  %places = cp.positions documents(%cu : tensor<2x5xi32>) : !places
  %out, %lse = cp.attention %x, %x, %x places(%places) {form = "ring"}
      : (!x, !x, !x, !places) -> (!x, tensor<2x4x64xf32>)
  return %out : !x
})");
  ASSERT_TRUE(module);
  CompileOptions options;
  Sharding &sharding = options.sharding.emplace();
  sharding.mesh = Mesh{{{"cp", 4}}};
  sharding.sequence = {Cut{0, Order::ZigzagPerDocument}};
  std::unique_ptr<Program> program = compileWith(*module, options);
  ASSERT_TRUE(program);
  HostTensor lists = HostTensor::zeros(DType::I32, {2, 5});
  const int32_t ends[] = {0, 9, 9, 40, 64, 0, 64, 64, 64, 64};
  std::memcpy(lists.bytes.data(), ends, sizeof ends);
  expectNoneAfterTheFirstStep(
      *program, {HostTensor::zeros(DType::F32, {2, 64, 4, 8}), lists});
}

INSTANTIATE_TEST_SUITE_P(All, AllocationTest,
                         testing::Values(Case{1, "f32"}, Case{1, "bf16"},
                                         Case{2, "bf16"}, Case{8, "f64"}),
                         [](const testing::TestParamInfo<Case> &info) {
                           return "Groups" +
                                  std::to_string(std::get<0>(info.param)) +
                                  std::get<1>(info.param);
                         });

TEST(CollectiveAllocationTest, NoStepOfACollectiveButTheFirstAllocates) {
  for (const Collective &collective : collectives()) {
    SCOPED_TRACE(collective.name);
    OwningOpRef<ModuleOp> module = parse(collective.text);
    ASSERT_TRUE(module);
    std::unique_ptr<Program> program = compile(*module, {});
    ASSERT_TRUE(program);
    std::vector<HostTensor> inputs = {floats({8}, Values(8, 1)),
                                      floats({8, 8}, Values(64, 1))};
    expectNoneAfterTheFirstStep(*program, inputs);
    // The count is not blind: there is something to see in the first step.
    EXPECT_GT(allocationsFrom(0, *program, inputs, CPRT_KERNELS_FAST).heapCalls,
              0);
  }
}

/// Adjoints, the exchanges of a backward pass, and updates in place.
TEST(GradientAllocationTest, NoStepWithGradientsButTheFirstAllocates) {
  for (const GradientCase &testCase : gradientCases()) {
    OwningOpRef<ModuleOp> module = parse(textOf(testCase));
    ASSERT_TRUE(module);
    for (const Sharding &sharding : gradientShardings()) {
      if (sharding.mesh.numRanks() != 4)
        continue;
      SCOPED_TRACE(std::string(testCase.name) + ": " + describe(sharding));
      CompileOptions options;
      options.sharding = sharding;
      options.gradients = true;
      for (Optimizer optimizer : {Optimizer::None, Optimizer::Sgd}) {
        options.update.optimizer = optimizer;
        std::unique_ptr<Program> program = compileWith(*module, options);
        ASSERT_TRUE(program);
        expectNoneAfterTheFirstStep(*program,
                                    drawForGradients(program->arguments()));
      }
    }
  }
}

/// Large enough that ranks share the work of it.
TEST(CollectiveAllocationTest, NeitherDoesALargeSum) {
  OwningOpRef<ModuleOp> module = parse(R"(
#mesh = #cp.mesh<"cp" = 4>
#cut = #cp.layout<#mesh, [{"cp"}, {}]>
func.func @main(%x: tensor<40x1000xf32> {cp.layout = #cut})
    -> (tensor<40x1000xf32> {cp.layout = #cp.layout<#mesh, [{}, {}]>})
    attributes {cp.view = "local"} {
  %r = cp.all_reduce %x over ["cp"] of #mesh : tensor<40x1000xf32>
  return %r : tensor<40x1000xf32>
})");
  ASSERT_TRUE(module);
  std::unique_ptr<Program> program = compile(*module, {});
  ASSERT_TRUE(program);
  std::vector<HostTensor> inputs = {floats({160, 1000}, Values(160000, 1))};
  expectNoneAfterTheFirstStep(*program, inputs);
}

} // namespace
