//===- TrainingTest.cpp - Ranks train as one does -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"
#include "TestModel.h"
#include "TrainingRun.h"
#include "cp/Execution/Memory.h"
#include "cp/Execution/Session.h"
#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

constexpr int numSteps = 50;

Curve train(Program &program, llvm::ArrayRef<TensorSpec> specs,
            llvm::ArrayRef<HostTensor> inputs, int64_t steps = numSteps) {
  TrainingRun training({&program}, specs, inputs);
  for (int64_t step = 1; step <= steps; ++step)
    training.step(step);
  training.expectSameReplicas();
  return training.finish();
}

CompileOptions updating(Optimizer optimizer) {
  CompileOptions options;
  options.gradients = true;
  options.update.optimizer = optimizer;
  options.update.weightDecay = 0.1;
  return options;
}

std::string nameOf(Optimizer optimizer) {
  return optimizer == Optimizer::Sgd ? "Sgd" : "Adamw";
}

/// A model of two layers and the loss of the next tokens.
struct Model {
  Model() {
    Mamba2Config config = smallConfig(2);
    module = importMamba2(config, {2, sequenceLength, "f64"},
                          UnknownLoc::get(&context()));
    CompileOptions forward;
    forward.nextTokenLoss = true;
    program = compileWith(*module, forward);
    inputs = drawInputs(program->arguments(), config, Decay::Slow, 11);
  }
  llvm::ArrayRef<TensorSpec> specs() { return program->arguments(); }

  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Program> program;
  std::vector<HostTensor> inputs;
};

class TrainingTest : public testing::TestWithParam<Optimizer> {
protected:
  std::unique_ptr<Program> compileStep(const Sharding *sharding) {
    CompileOptions options = updating(GetParam());
    options.nextTokenLoss = true;
    if (sharding)
      options.sharding = *sharding;
    return compileWith(*model.module, options);
  }
  Model model;
};

TEST_P(TrainingTest, RanksTrainAsOne) {
  std::unique_ptr<Program> one = compileStep(nullptr);
  ASSERT_TRUE(one);
  Curve expected = train(*one, model.specs(), model.inputs);
  EXPECT_LT(expected.losses.back(), 0.9 * expected.losses.front());
  for (const Sharding &sharding : gradientShardings()) {
    SCOPED_TRACE(describe(sharding));
    std::unique_ptr<Program> cut = compileStep(&sharding);
    ASSERT_TRUE(cut);
    expectSame(train(*cut, model.specs(), model.inputs), expected, 1e-9);
  }
}

/// Parameters, moments and gradients in parts over any axes, and layers made
/// again, train as those that are whole.
TEST_P(TrainingTest, ParametersMayBeCut) {
  for (Sharding sharding : gradientShardings()) {
    SCOPED_TRACE(describe(sharding));
    std::unique_ptr<Program> whole = compileStep(&sharding);
    ASSERT_TRUE(whole);
    Curve expected = train(*whole, model.specs(), model.inputs, 10);
    for (int axis = 0; axis < int(sharding.mesh.axes.size()); ++axis)
      sharding.params.push_back(Cut{axis});
    std::unique_ptr<Program> cut = compileStep(&sharding);
    ASSERT_TRUE(cut);
    expectSame(train(*cut, model.specs(), model.inputs, 10), expected, 1e-12);
    auto keptBy = [](const Program &program) {
      MemoryUse rank = memoryNeed(program).rank;
      return rank.weights + rank.state;
    };
    // A few parameters are too small to be cut.
    EXPECT_LE(double(keptBy(*cut)),
              1.05 * double(keptBy(*whole)) / double(sharding.mesh.numRanks()));
  }
}

/// An infinite loss changes nothing that is kept, on any rank.
TEST_P(TrainingTest, AStepWithoutANumberChangesNothing) {
  for (const Sharding &sharding :
       {gradientShardings().front(), gradientShardings().back()}) {
    SCOPED_TRACE(describe(sharding));
    std::unique_ptr<Program> program = compileStep(&sharding);
    ASSERT_TRUE(program);
    std::vector<HostTensor> inputs = model.inputs;
    for (auto [spec, input] : llvm::zip_equal(model.specs(), inputs))
      if (spec.isParam && input.shape.size() == 1) {
        input = fromDoubles(spec.dtype, spec.shape,
                            std::vector<double>(size_t(spec.shape[0]), 1e300));
        break;
      }
    TrainingRun training({program.get()}, model.specs(), inputs);
    Curve before = training.finish();
    training.step(1);
    Curve after = training.finish();
    EXPECT_FALSE(std::isfinite(after.norms.front())) << after.norms.front();
    for (size_t i = 0; i < before.trained.size(); ++i)
      EXPECT_EQ(before.trained[i].bytes, after.trained[i].bytes);
    training.expectSameReplicas();
  }
}

INSTANTIATE_TEST_SUITE_P(All, TrainingTest,
                         testing::Values(Optimizer::Sgd, Optimizer::Adamw),
                         [](const testing::TestParamInfo<Optimizer> &info) {
                           return nameOf(info.param);
                         });

/// Attention, and every other kind of op.
class TrainingOfOpTest : public testing::TestWithParam<GradientCase> {};

TEST_P(TrainingOfOpTest, RanksTrainAsOne) {
  OwningOpRef<ModuleOp> module = parse(textOf(GetParam()));
  ASSERT_TRUE(module);
  for (Optimizer optimizer : {Optimizer::Sgd, Optimizer::Adamw}) {
    SCOPED_TRACE(nameOf(optimizer));
    CompileOptions options = updating(optimizer);
    std::unique_ptr<Program> one = compileWith(*module, options);
    std::unique_ptr<Program> forward = compile(*module, TestSharding());
    ASSERT_TRUE(one && forward);
    llvm::ArrayRef<TensorSpec> specs = forward->arguments();
    std::vector<HostTensor> inputs = drawForGradients(specs);
    Curve expected = train(*one, specs, inputs);
    for (const Sharding &sharding : gradientShardings()) {
      SCOPED_TRACE(describe(sharding));
      options.sharding = sharding;
      std::unique_ptr<Program> cut = compileWith(*module, options);
      ASSERT_TRUE(cut);
      expectSame(train(*cut, specs, inputs), expected, 1e-9);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TrainingOfOpTest,
                         testing::ValuesIn(gradientCases()),
                         [](const testing::TestParamInfo<GradientCase> &info) {
                           return std::string(info.param.name);
                         });

/// A step in which the gradient of the last parameter is this many times what
/// it should be.
OwningOpRef<ModuleOp> withFactor(ModuleOp module, Optimizer optimizer,
                                 double factor) {
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone());
  PassManager gradients(module.getContext());
  gradients.nest<func::FuncOp>().addPass(createNextTokenLoss());
  gradients.addPass(createDecompose());
  gradients.nest<func::FuncOp>().addPass(createDifferentiate());
  if (failed(gradients.run(*copy)))
    return {};
  auto function = *copy->getOps<func::FuncOp>().begin();
  Operation *end = function.getBody().front().getTerminator();
  OpOperand &last = end->getOpOperands().back();
  OpBuilder builder(end);
  auto factors = arith::ConstantOp::create(
      builder, end->getLoc(),
      DenseElementsAttr::get(cast<RankedTensorType>(last.get().getType()),
                             factor));
  last.set(arith::MulFOp::create(builder, end->getLoc(), last.get(), factors));
  AddUpdateOptions options;
  options.optimizer = optimizer;
  PassManager update(module.getContext());
  update.nest<func::FuncOp>().addPass(createAddUpdate(options));
  if (failed(update.run(*copy)))
    return {};
  return copy;
}

/// A sum over ranks that is made once too often: AdamW hides it, as steps do
/// not grow with gradients, SGD and the norm do not.
TEST(WrongFactorTest, IsSeen) {
  Model model;
  auto curveOf = [&](Optimizer optimizer, double factor) {
    OwningOpRef<ModuleOp> step = withFactor(*model.module, optimizer, factor);
    std::unique_ptr<Program> program = compile(*step, TestSharding());
    return train(*program, model.specs(), model.inputs);
  };
  for (Optimizer optimizer : {Optimizer::Sgd, Optimizer::Adamw}) {
    SCOPED_TRACE(nameOf(optimizer));
    Curve right = curveOf(optimizer, 1), wrong = curveOf(optimizer, 2);
    EXPECT_GT(farthest(wrong.norms, right.norms), 1e-6);
    if (optimizer == Optimizer::Sgd) {
      EXPECT_GT(farthest(wrong.losses, right.losses), 1e-6);
    }
  }
}

//===----------------------------------------------------------------------===//
// What a session refuses
//===----------------------------------------------------------------------===//

std::string textOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

TEST(SessionTest, KnowsTheFirstOfSeveralOfOneName) {
  OwningOpRef<ModuleOp> module = parse(R"(
func.func @main(%a: tensor<4xf64> {cp.name = "x"}, %b: tensor<4xf64> {cp.name = "x"})
    -> (tensor<4xf64> {cp.name = "sum"}) {
  %sum = arith.addf %a, %b : tensor<4xf64>
  return %sum : tensor<4xf64>
})");
  std::unique_ptr<Program> program = compile(*module, TestSharding());
  ASSERT_TRUE(program);
  std::unique_ptr<Session> session =
      llvm::cantFail(Session::create({program.get()}, RunOptions()));
  succeed(session->set("x", fromDoubles(DType::F64, {4}, {1, 1, 1, 1})));
  EXPECT_EQ(textOf(session->step()),
            "'x' was never set: a program has several arguments of that name, "
            "of which it says the first; give each a name of its own");
}

TEST(SessionTest, SaysWhatIsWrong) {
  OwningOpRef<ModuleOp> module = parse(R"(
func.func @main(%w: tensor<4xf64> {cp.param = "w"}, %g: tensor<4xf64> {cp.name = "g"})
    -> (tensor<4xf64> {cp.updates = "w"}, tensor<4xf64> {cp.name = "old"}) {
  %old = math.absf %w : tensor<4xf64>
  %new = arith.addf %w, %g : tensor<4xf64>
  return %new, %old : tensor<4xf64>, tensor<4xf64>
})");
  std::unique_ptr<Program> program = compile(*module, TestSharding());
  ASSERT_TRUE(program);
  std::unique_ptr<Session> session =
      llvm::cantFail(Session::create({program.get()}, RunOptions()));
  HostTensor ones = fromDoubles(DType::F64, {4}, {1, 1, 1, 1});
  EXPECT_EQ(textOf(session->step()), "'w' was never set");
  EXPECT_EQ(textOf(session->get("w").takeError()), "'w' was never set");
  EXPECT_EQ(textOf(session->set("v", ones)), "no program has an argument 'v'");
  EXPECT_EQ(textOf(session->set("w", scalar(1.0))),
            "'w' must be F64 [4], but is F64 []");
  EXPECT_EQ(textOf(session->result("old").takeError()),
            "no step has given a result yet");
  succeed(session->set("w", ones));
  succeed(session->share("g", ones));
  succeed(session->step());
  succeed(session->step());
  EXPECT_EQ(llvm::cantFail(session->get("w")).asDoubles(),
            std::vector<double>(4, 3));
  EXPECT_EQ(llvm::cantFail(session->result("old")).asDoubles(),
            std::vector<double>(4, 2));
  // Arguments are not the caller's.
  EXPECT_EQ(ones.asDoubles(), std::vector<double>(4, 1));
  EXPECT_EQ(textOf(session->result("new").takeError()),
            "the program has no result 'new'");
  EXPECT_EQ(textOf(session->step(1)),
            "the session has 1 programs, but number 1 was to run");
}

} // namespace
