//===- MemoryTest.cpp - The planned arena against runs and lives ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include "cp/IR/CPDialect.h"
#include "cp/Model/HFConfig.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <iostream>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// How much larger than the largest live set a plan may be.
constexpr double largestRatio = 1.15;

struct Plan {
  int64_t bytes = 0;
  /// Of the tensors themselves, without what aligns them.
  int64_t largestLiveSet = 0;
};

int64_t bytesOf(MemRefType type) {
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// Widens [first, last] by all ops of `block` that use `value`, directly, in a
/// nested region, or as another view.
void widen(Value value, Block &block,
           const llvm::DenseMap<Operation *, size_t> &numbers, size_t &first,
           size_t &last) {
  for (Operation *user : value.getUsers()) {
    for (Value result : user->getResults())
      if (isa<BaseMemRefType>(result.getType()))
        widen(result, block, numbers, first, last);
    // Making a view touches nothing.
    if (isa<ViewLikeOpInterface>(user))
      continue;
    size_t number = numbers.at(block.findAncestorOpInBlock(*user));
    first = std::min(first, number);
    last = std::max(last, number);
  }
}

/// Worked out from the program that is to be planned: its tensors are
/// allocations.
int64_t largestLiveSet(Block &block) {
  llvm::DenseMap<Operation *, size_t> numbers;
  for (Operation &op : block)
    numbers.try_emplace(&op, numbers.size());
  std::vector<int64_t> live(numbers.size());
  for (auto alloc : block.getOps<memref::AllocOp>()) {
    size_t first = live.size(), last = 0;
    widen(alloc, block, numbers, first, last);
    for (size_t number = first; number <= last; ++number)
      live[number] += bytesOf(alloc.getType());
  }
  return live.empty() ? 0 : *std::max_element(live.begin(), live.end());
}

/// Looks at the entry before and after it is planned.
class PlanReader : public PassInstrumentation {
public:
  explicit PlanReader(Plan &plan) : plan(plan) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    auto function = dyn_cast<func::FuncOp>(op);
    if (pass->getArgument() == "cp-plan-memory" && function &&
        function.isPublic())
      plan.largestLiveSet = largestLiveSet(function.getBody().front());
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    if (pass->getArgument() != "cp-plan-memory" || !op->hasAttr(arenaAttr))
      return;
    plan.bytes = op->getAttrOfType<IntegerAttr>(arenaAttr).getInt();
  }

private:
  Plan &plan;
};

Plan planOf(ModuleOp original, const TestSharding &sharding) {
  OwningOpRef<ModuleOp> module = original.clone();
  Plan plan;
  PassManager manager(&context());
  manager.addInstrumentation(std::make_unique<PlanReader>(plan));
  buildShardPipeline(manager, *compileOptions(sharding).sharding);
  buildLowerPipeline(manager);
  EXPECT_TRUE(succeeded(manager.run(*module)));
  EXPECT_GT(plan.bytes, 0);
  return plan;
}

OwningOpRef<ModuleOp> import(const Mamba2Config &config, int64_t length,
                             const std::string &dtype) {
  return importMamba2(config, {1, length, dtype}, UnknownLoc::get(&context()));
}

Mamba2Config published(const std::string &path) {
  llvm::Expected<Mamba2Config> config =
      readMamba2Config(CP_SOURCE_DIR "/" + path);
  if (config)
    return *config;
  ADD_FAILURE() << llvm::toString(config.takeError());
  return {};
}

struct Model {
  std::string name;
  Mamba2Config config;
  int64_t length;
};

std::vector<Model> models() {
  return {
      {"small", smallConfig(1), 64},
      {"small with biases", smallConfig(2), 64},
      {"small with 8 groups", smallConfig(8), 128},
      {"4 layers", published("test/Integration/goldens-bf16/config.json"), 64}};
}

TEST(MemoryTest, ThePeakOfARunIsThePlan) {
  for (const Model &model : models()) {
    SCOPED_TRACE(model.name);
    OwningOpRef<ModuleOp> module = import(model.config, model.length, "bf16");
    ASSERT_TRUE(module);
    for (const TestSharding &sharding : allShardings()) {
      SCOPED_TRACE(describe(sharding));
      std::unique_ptr<Program> program = compile(*module, sharding);
      ASSERT_TRUE(program);
      std::vector<HostTensor> inputs;
      for (const TensorSpec &spec : program->arguments())
        inputs.push_back(HostTensor::zeros(spec.dtype, spec.shape));
      RunOptions options;
      options.repeats = 2;
      llvm::Expected<RunResult> run = program->run(pointersTo(inputs), options);
      ASSERT_TRUE(static_cast<bool>(run)) << llvm::toString(run.takeError());
      EXPECT_EQ(run->peakBytesPerRank,
                std::vector<int64_t>(sharding.ranks,
                                     planOf(*module, sharding).bytes));
    }
  }
}

/// Returns the ratio.
double expectTight(const Plan &plan) {
  double ratio = double(plan.bytes) / double(plan.largestLiveSet);
  EXPECT_GE(ratio, 1);
  EXPECT_LE(ratio, largestRatio)
      << plan.bytes << " bytes for " << plan.largestLiveSet;
  return ratio;
}

TEST(MemoryTest, ThePlanIsHardlyLargerThanWhatLives) {
  for (const Model &model : models())
    for (const char *dtype : {"f32", "bf16"}) {
      SCOPED_TRACE(model.name + ", " + dtype);
      OwningOpRef<ModuleOp> module = import(model.config, model.length, dtype);
      ASSERT_TRUE(module);
      double worst = 0;
      for (const TestSharding &sharding : allShardings()) {
        SCOPED_TRACE(describe(sharding));
        worst = std::max(worst, expectTight(planOf(*module, sharding)));
      }
      std::cout << model.name << ", " << dtype << ": at most " << worst << "\n";
    }
}

TEST(MemoryTest, SoItIsForAPublishedModel) {
  Mamba2Config config = published("examples/mamba2-130m/config.json");
  for (const char *dtype : {"f32", "bf16"}) {
    OwningOpRef<ModuleOp> module = import(config, 1024, dtype);
    ASSERT_TRUE(module);
    for (const char *strategy : {"hidden", "sequence"}) {
      SCOPED_TRACE(std::string(dtype) + ", " + strategy);
      Plan plan = planOf(*module, {strategy, "chain", 4});
      std::cout << dtype << ", " << strategy << ": " << plan.bytes
                << " bytes planned, ratio " << expectTight(plan) << "\n";
    }
  }
}

} // namespace
