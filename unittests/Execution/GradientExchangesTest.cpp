//===- GradientExchangesTest.cpp - No exchange for a weight's gradient ----===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A weight's gradient is computed of what a rank has anyway: activations are
// never brought together for it. On the IR of whole models.
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"
#include "TestModel.h"
#include "cp/Frontend/HybridImporter.h"
#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// Ops that bring terms of a sum together, or see them otherwise.
bool isPlumbing(Operation *op) {
  return isa<AllReduceOp, ReduceScatterOp, UnsliceOp, arith::AddFOp,
             arith::TruncFOp, arith::ExtFOp, tensor::InsertSliceOp,
             tensor::ExtractSliceOp, tensor::ExpandShapeOp,
             tensor::CollapseShapeOp, tensor::CastOp>(op);
}

/// Which values of a step go into gradients alone that it returns.
class Gradients {
public:
  explicit Gradients(func::FuncOp function) : function(function) {}

  /// Whether an op only computes weights' gradients.
  bool isOneOf(Operation *op) {
    return op->getNumResults() > 0 &&
           llvm::all_of(op->getResults(),
                        [&](Value value) { return isReturned(value); });
  }

  /// Exchanges all of whose users only compute weights' gradients.
  SmallVector<Operation *> exchanges() {
    SmallVector<Operation *> found;
    function.walk([&](Operation *op) {
      if (isa<AllGatherOp, AllToAllOp>(op) && isOnlyFor(op))
        found.push_back(op);
    });
    return found;
  }

private:
  /// Whether nothing but sums lies between a value and the gradients among the
  /// results. What nobody uses is returned, too.
  bool isReturned(Value value) {
    auto [entry, isNew] = returned.try_emplace(value, false);
    if (!isNew)
      return entry->second;
    bool isIt = llvm::all_of(value.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (isa<func::ReturnOp>(user))
        return static_cast<bool>(
            function.getResultAttr(use.getOperandNumber(), gradientAttr));
      // The results of a sum of several are each of one of them.
      if (isa<AllReduceOp>(user))
        return isReturned(user->getResult(use.getOperandNumber()));
      return isPlumbing(user) && isReturned(user->getResult(0));
    });
    return returned[value] = isIt;
  }

  bool isOnlyFor(Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return isPlumbing(user) ? isOnlyFor(user) : isOneOf(user);
    });
  }

  func::FuncOp function;
  DenseMap<Value, bool> returned;
};

/// The program of one rank; null after a failure.
OwningOpRef<ModuleOp> stepOf(ModuleOp module, const Sharding &sharding) {
  OwningOpRef<ModuleOp> step = cast<ModuleOp>(module->clone());
  PassManager manager(module.getContext());
  buildGlobalGradientPipeline(manager, sharding);
  buildShardPipeline(manager, sharding, /*expose=*/false);
  if (succeeded(manager.run(*step)))
    return step;
  ADD_FAILURE() << "no step over ranks";
  return nullptr;
}

/// A golden model, with the loss of each next token.
OwningOpRef<ModuleOp> modelWithLoss(const std::string &name) {
  std::string path =
      CP_SOURCE_DIR "/test/Integration/goldens-hybrid/" + name + "/config.json";
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file =
      llvm::MemoryBuffer::getFile(path);
  if (!file) {
    ADD_FAILURE() << path;
    return nullptr;
  }
  llvm::Expected<ModelConfig> config =
      parseModelConfig((*file)->getBuffer(), path);
  if (!config) {
    ADD_FAILURE() << llvm::toString(config.takeError());
    return nullptr;
  }
  OwningOpRef<ModuleOp> module =
      importModel(*config, {2, 96, "bf16"}, UnknownLoc::get(&context()));
  PassManager manager(&context());
  manager.nest<func::FuncOp>().addPass(createNextTokenLoss());
  EXPECT_TRUE(module && succeeded(manager.run(*module)));
  return module;
}

class GradientExchangesTest : public testing::TestWithParam<const char *> {};

TEST_P(GradientExchangesTest, NoneOnlyForTheGradientOfAWeight) {
  OwningOpRef<ModuleOp> module = modelWithLoss(GetParam());
  ASSERT_TRUE(module);
  std::vector<Sharding> shardings = gradientShardings();
  for (Sharding with : {shardings[0], shardings[1], shardings[2]}) {
    with.mesh.axes.push_back({"tp", 2});
    with.tensorParallel = {Cut{1}};
    shardings.push_back(with);
  }
  for (const Sharding &sharding : shardings) {
    SCOPED_TRACE(describe(sharding));
    OwningOpRef<ModuleOp> step = stepOf(*module, sharding);
    ASSERT_TRUE(step);
    Gradients gradients(*step->getOps<func::FuncOp>().begin());
    for (Operation *op : gradients.exchanges())
      ADD_FAILURE() << op->getName().getStringRef().str()
                    << " only for the gradient of a weight";
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, GradientExchangesTest,
                         testing::Values("nemotron_h", "bamba", "granite"));

/// The check sees one: the first of what a weight's gradient is computed of is
/// gathered and sliced again.
TEST(GradientExchangesTest, OneThatIsThereIsSeen) {
  OwningOpRef<ModuleOp> module = parse(R"(
#mesh = #cp.mesh<"cp" = 2>
func.func @main(%x: tensor<2x8x4xf32>, %dy: tensor<2x16x3xf32>)
    -> (tensor<3x4xf32> {cp.gradient = "w"}) attributes {cp.view = "local"} {
  %g = cp.all_gather %x over ["cp"] of #mesh {dim = 1}
      : tensor<2x8x4xf32> -> tensor<2x16x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
  %dw = linalg.contract indexing_maps = [
      affine_map<(o, i, b, l) -> (b, l, o)>, affine_map<(o, i, b, l) -> (b, l, i)>,
      affine_map<(o, i, b, l) -> (o, i)>]
      ins(%dy, %g : tensor<2x16x3xf32>, tensor<2x16x4xf32>)
      outs(%z : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %dw : tensor<3x4xf32>
})");
  ASSERT_TRUE(module);
  Gradients gradients(*module->getOps<func::FuncOp>().begin());
  EXPECT_EQ(gradients.exchanges().size(), 1u);
}

} // namespace
