//===- DeterminismTest.cpp - The same bits, whatever the timing -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps with gradients whose ranks come late to their exchanges, at random, and
// on any number of threads.
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"
#include "TestModel.h"
#include "cp/IR/CPDialect.h"
#include "cp/Model/Random.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

//===----------------------------------------------------------------------===//
// An operation that is late
//===----------------------------------------------------------------------===//

std::atomic<int64_t> numDelays{0};

/// Copies dimension `dim` and those behind it.
void copy(const cprt_buffer &from, char *source, const cprt_buffer &to,
          char *target, int32_t dim, int64_t width) {
  if (dim == from.rank) {
    std::memcpy(target, source, size_t(width));
    return;
  }
  for (int64_t i = 0; i < from.sizes[dim]; ++i)
    copy(from, source + i * from.strides[dim] * width, to,
         target + i * to.strides[dim] * width, dim + 1, width);
}

/// `cprt_test_late`: its input, after up to half a millisecond.
void late(cprt_context *context, cprt_stream *, const int64_t *desc,
          void *const *buffers) {
  static const cprt_tensor in[] = {{"x", CPRT_REQUIRED}},
                           out[] = {{"y", CPRT_REQUIRED}};
  static const cprt_signature signature = {"test_late", in,      1, out,
                                           1,           nullptr, 0};
  cprt_buffer read[2];
  const int64_t *attributes = nullptr;
  if (cprt_context_status(context) != CPRT_OK ||
      !cprt_read_call(context, &signature, desc, buffers, read, &attributes))
    return;
  int64_t number = numDelays++;
  auto most = static_cast<double>(number % 4 == 0 ? 500 : 20);
  std::this_thread::sleep_for(std::chrono::microseconds(
      static_cast<int64_t>(most * uniform01(uint64_t(number), 0))));
  copy(read[0], static_cast<char *>(read[0].data), read[1],
       static_cast<char *>(read[1].data), 0,
       int64_t(cprt_dtype_size(read[0].dtype)));
}

/// Each exchange reads what comes late.
void makeLate(ModuleOp module) {
  module.walk([](GroupOpInterface op) {
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.get().getType());
      if (!type)
        continue;
      OpBuilder builder(op);
      Location loc = op.getLoc();
      Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                            type.getElementType());
      auto call = cp::CallOp::create(
          builder, loc, TypeRange{type}, builder.getStringAttr("test_late"),
          ConfigAttr::get(builder.getContext(), {}), operand.get(), empty,
          DenseI64ArrayAttr(), StringAttr());
      operand.set(call.getResult(0));
      return;
    }
  });
}

//===----------------------------------------------------------------------===//
// Steps of ranks
//===----------------------------------------------------------------------===//

/// The program of one rank, with loss and gradients. Null after a failure.
OwningOpRef<ModuleOp> stepOf(ModuleOp module, const Sharding &sharding,
                             DifferentiatedView view) {
  OwningOpRef<ModuleOp> step = cast<ModuleOp>(module->clone());
  PassManager manager(module.getContext());
  if (view == DifferentiatedView::Global)
    buildGlobalGradientPipeline(manager, sharding);
  buildShardPipeline(manager, sharding, /*expose=*/false);
  if (view == DifferentiatedView::Local)
    buildLocalGradientPipeline(manager);
  if (succeeded(manager.run(*step)))
    return step;
  ADD_FAILURE() << "no step over ranks";
  return nullptr;
}

void expectSameBits(const RunResult &result, const RunResult &expected,
                    const Program &program) {
  ASSERT_EQ(result.outputs.size(), expected.outputs.size());
  for (size_t i = 0; i < result.outputs.size(); ++i)
    EXPECT_EQ(result.outputs[i].bytes, expected.outputs[i].bytes)
        << program.results()[i].name;
}

using Draw =
    llvm::function_ref<std::vector<HostTensor>(llvm::ArrayRef<TensorSpec>)>;

/// Runs with and without delays.
void expectSameBitsLate(ModuleOp step, Draw draw) {
  std::unique_ptr<Program> inTime = test::compile(step, {});
  makeLate(step);
  CompileOptions options;
  options.operations = {{"test_late", late}};
  std::unique_ptr<Program> delayed = compileWith(step, options);
  ASSERT_TRUE(inTime && delayed);
  std::vector<HostTensor> inputs = draw(inTime->arguments());
  RunResult expected = runOrFail(*inTime, inputs, CPRT_KERNELS_FAST);
  for (int run = 0; run < 3; ++run)
    expectSameBits(runOrFail(*delayed, inputs, CPRT_KERNELS_FAST), expected,
                   *delayed);
}

/// Two layers, with the loss of each next token.
OwningOpRef<ModuleOp> modelWithLoss(const Mamba2Config &config) {
  OwningOpRef<ModuleOp> module = importMamba2(
      config, {2, sequenceLength, "f32"}, UnknownLoc::get(&context()));
  PassManager manager(&context());
  manager.nest<func::FuncOp>().addPass(createNextTokenLoss());
  EXPECT_TRUE(module && succeeded(manager.run(*module)));
  return module;
}

Sharding shardingOf(CutStrategy mixer, ScanAlgorithm scan, Order order,
                    int64_t ranks) {
  Sharding sharding;
  sharding.mesh = Mesh{{{"cp", ranks}}};
  sharding.mixer = mixer;
  sharding.scan = scan;
  sharding.sequence.front().order = order;
  return sharding;
}

std::vector<Sharding> modelShardings() {
  std::vector<Sharding> all = {
      shardingOf(CutStrategy::Hidden, ScanAlgorithm::Chain, Order::Zigzag, 4)};
  for (ScanAlgorithm scan :
       {ScanAlgorithm::Chain, ScanAlgorithm::Gather, ScanAlgorithm::Doubling,
        ScanAlgorithm::Pipelined, ScanAlgorithm::Transposed})
    for (Order order : {Order::Contiguous, Order::Zigzag})
      all.push_back(shardingOf(CutStrategy::Sequence, scan, order, 4));
  return all;
}

TEST(DeterminismTest, AStepOfAModelUnderDelays) {
  Mamba2Config config = smallConfig(2);
  OwningOpRef<ModuleOp> module = modelWithLoss(config);
  ASSERT_TRUE(module);
  for (const Sharding &sharding : modelShardings())
    for (DifferentiatedView view :
         {DifferentiatedView::Global, DifferentiatedView::Local}) {
      SCOPED_TRACE(describe(sharding));
      OwningOpRef<ModuleOp> step = stepOf(*module, sharding, view);
      ASSERT_TRUE(step);
      int64_t before = numDelays;
      expectSameBitsLate(*step, [&](llvm::ArrayRef<TensorSpec> arguments) {
        return drawInputs(arguments, config, Decay::AsPublished, 5);
      });
      EXPECT_GT(numDelays, before);
    }
}

/// Every op with an adjoint, rings and gathers of attention among them.
TEST(DeterminismTest, AdjointsUnderDelays) {
  for (const GradientCase &testCase : gradientCases()) {
    OwningOpRef<ModuleOp> module = parse(textOf(testCase));
    ASSERT_TRUE(module);
    for (const Sharding &sharding : gradientShardings()) {
      if (sharding.mesh.numRanks() != 4)
        continue;
      SCOPED_TRACE(std::string(testCase.name) + ": " + describe(sharding));
      OwningOpRef<ModuleOp> step =
          stepOf(*module, sharding, DifferentiatedView::Global);
      ASSERT_TRUE(step);
      expectSameBitsLate(*step, drawForGradients);
    }
  }
}

/// A scan alone depends on it, where its batch has fewer heads than threads.
TEST(DeterminismTest, NoGradientDependsOnTheNumberOfThreads) {
  Mamba2Config config = smallConfig(2);
  OwningOpRef<ModuleOp> module = modelWithLoss(config);
  ASSERT_TRUE(module);
  CompileOptions options;
  options.gradients = true;
  for (bool isCut : {false, true}) {
    if (isCut)
      options.sharding = shardingOf(CutStrategy::Sequence, ScanAlgorithm::Chain,
                                    Order::Contiguous, 2);
    std::unique_ptr<Program> program = compileWith(*module, options);
    ASSERT_TRUE(program);
    std::vector<HostTensor> inputs =
        drawInputs(program->arguments(), config, Decay::AsPublished, 6);
    auto run = [&](int64_t threads) {
      RunOptions how;
      how.threads = threads;
      llvm::Expected<RunResult> result = program->run(pointersTo(inputs), how);
      EXPECT_TRUE(static_cast<bool>(result));
      return std::move(*result);
    };
    RunResult one = run(1);
    for (int64_t threads : {2, 3, 5})
      expectSameBits(run(threads), one, *program);
  }
}

} // namespace
