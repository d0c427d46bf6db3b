//===- PropertyTest.cpp - Sharded against one rank, at random -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PropertyPlan.h"
#include "RandomModel.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <map>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// Sharding moves roundings only. In bf16 what is stored between ops is
/// rounded to 2^-9, and softmax and norms carry that on.
double toleranceOf(llvm::StringRef dtype) {
  if (dtype == "bf16")
    return 4e-2;
  return dtype == "f64" ? 1e-11 : 5e-6;
}

/// How far a result of one rank is from f64, with the kernels with which it is
/// farther, and how far the one of several ranks.
struct Distances {
  double alone = 0, sharded = 0;
};

/// Of a model in f32 or bf16, a pair for each result.
std::vector<Distances> distancesFromF64(const RandomModel &model,
                                        Program &whole,
                                        llvm::ArrayRef<HostTensor> inputs,
                                        const RunResult &result) {
  std::string text = wholeText(model);
  // Sums of bf16 are in f32.
  for (const std::string &narrow : {model.dtype, std::string("f32")})
    for (size_t at = 0; (at = text.find(narrow, at)) != std::string::npos;)
      text.replace(at, narrow.size(), "f64");
  OwningOpRef<ModuleOp> module = parse(text);
  if (!module) {
    ADD_FAILURE() << text;
    return std::vector<Distances>(result.outputs.size());
  }
  std::unique_ptr<Program> wide = compileQuickly(*module);
  RunResult exact = runOrFail(*wide, widened(inputs), CPRT_KERNELS_REFERENCE);
  std::vector<Distances> distances(result.outputs.size());
  for (cprt_kernel_set kernels : {CPRT_KERNELS_REFERENCE, CPRT_KERNELS_FAST}) {
    RunResult alone = runOrFail(whole, inputs, kernels);
    for (size_t i = 0; i < distances.size(); ++i)
      distances[i].alone =
          std::max(distances[i].alone,
                   compare(alone.outputs[i], exact.outputs[i]).relL2);
  }
  for (size_t i = 0; i < distances.size(); ++i)
    distances[i].sharded = compare(result.outputs[i], exact.outputs[i]).relL2;
  return distances;
}

/// The module with the gradient of each parameter, from a cotangent of each
/// result: whole tensors, prepared to be cut if they will be, or the program of
/// one rank. Null where that fails.
OwningOpRef<ModuleOp> withGradients(ModuleOp module,
                                    const std::optional<Sharding> &sharding,
                                    DifferentiatedView view) {
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone());
  PassManager manager(module.getContext());
  DifferentiateOptions options;
  options.cotangents = true;
  if (view == DifferentiatedView::Local) {
    buildShardPipeline(manager, *sharding, /*expose=*/false);
    buildLocalGradientPipeline(manager, options);
  } else {
    buildGlobalGradientPipeline(manager, sharding, options);
  }
  return succeeded(manager.run(*copy)) ? std::move(copy) : nullptr;
}

/// The module prepared to be cut, whose callers bring the rows of padding too.
/// Null where that fails.
OwningOpRef<ModuleOp> withOwnPadding(ModuleOp module,
                                     const Sharding &sharding) {
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone());
  PassManager manager(module.getContext());
  manager.addPass(createDecompose());
  manager.addNestedPass<func::FuncOp>(createPrepareCuts(sharding));
  if (failed(manager.run(*copy)))
    return nullptr;
  copy->walk([](func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.removeArgAttr(i, lengthAttr);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      function.removeResultAttr(
          i, StringAttr::get(function.getContext(), lengthAttr));
  });
  return copy;
}

/// `from`, [b, l, ...] in f64, with as many rows as `to` has and NaN in them,
/// or without those that `to` does not have.
void copyRows(const HostTensor &from, HostTensor &to) {
  std::fill_n(reinterpret_cast<double *>(to.bytes.data()), to.numElements(),
              std::numeric_limits<double>::quiet_NaN());
  size_t batch = size_t(from.shape[0]), source = from.bytes.size() / batch,
         target = to.bytes.size() / batch;
  for (size_t b = 0; b < batch; ++b)
    std::copy_n(from.bytes.data() + b * source, std::min(source, target),
                to.bytes.data() + b * target);
}

class PropertyTest : public testing::Test {
protected:
  void check(uint64_t seed) {
    Dice dice(seed);
    RandomSharding sharding = drawSharding(dice);
    RandomModel model = drawModel(dice, sharding);
    std::vector<Cut> &rows = sharding.value.sequence;
    if (model.hasPackedRing && dice.chance(0.8))
      rows[0] = {rows[0].axis, dice.chance(0.7) ? Order::ZigzagPerDocument
                                                : Order::ContiguousPerDocument};
    cprt_kernel_set kernels =
        dice.chance(0.5) ? CPRT_KERNELS_FAST : CPRT_KERNELS_REFERENCE;
    std::string line = "seed " + std::to_string(seed) + ": " +
                       describe(sharding, model) +
                       (kernels == CPRT_KERNELS_FAST ? " fast" : " reference");
    SCOPED_TRACE(line);
    if (plan().print)
      std::cout << line << "\n" << model.text;
    OwningOpRef<ModuleOp> module = parse(model.text),
                          alone = parse(wholeText(model));
    ASSERT_TRUE(module && alone) << model.text;
    std::unique_ptr<Program> whole = compileQuickly(*alone);
    CompileOptions options;
    options.sharding = sharding.value;
    std::unique_ptr<Program> cut = compileQuickly(*module, options);
    ASSERT_TRUE(whole && cut) << model.text;
    std::vector<HostTensor> inputs =
        drawInputs(whole->arguments(), model.decay, seed);
    RunResult expected = runOrFail(*whole, inputs, CPRT_KERNELS_REFERENCE);
    RunResult result = runOrFail(*cut, inputs, kernels);
    ASSERT_EQ(result.outputs.size(), expected.outputs.size());
    for (size_t i = 0; i < result.outputs.size(); ++i) {
      double difference = compare(result.outputs[i], expected.outputs[i]).relL2;
      double &worst = worstOf[model.dtype];
      worst = std::max(worst, difference);
      if (difference <= toleranceOf(model.dtype))
        continue;
      if (model.dtype == "f64") {
        ADD_FAILURE() << "result " << i << " is " << difference
                      << " from one rank\n"
                      << model.text;
        continue;
      }
      // A norm of nearly nothing magnifies roundings, those of one rank too.
      Distances far = distancesFromF64(model, *whole, inputs, result)[i];
      std::cout << line << ": result " << i << " is " << difference
                << " from one rank; from f64 " << far.sharded << ", one rank "
                << far.alone << "\n";
      EXPECT_LE(far.sharded, 1.5 * far.alone) << "result " << i << "\n"
                                              << model.text;
      ++drawn["beyond the tolerance"];
    }
    if (model.dtype == "f64" && model.isOdd)
      checkPadding(*module, sharding.value, inputs, expected);
    if (model.dtype == "f64")
      checkGradients(*module, *alone, sharding.value, model, seed);
    drawn["final states"] += result.outputs.size() - 1;
    ShardingText text = textOf(sharding.value);
    ++drawn[text.order.substr(0, 4) + " " + text.mixer + " " + text.attention];
    ++drawn[describe(model.decay)];
    if (text.mixer == "sequence")
      ++drawn["scan " + text.scan];
    for (const std::string &way : {text.mixer, text.attention})
      ++drawn["way " + way];
    drawn["packed " + text.order.substr(0, 4)] += model.isPacked;
    drawn["odd"] += model.isOdd;
    drawn["in sizes"] += !model.sizes.empty();
    drawn["per document"] += sharding.value.isPerDocument();
    drawn["odd per document"] += sharding.value.isPerDocument() && model.isOdd;
    drawn["blocks per document"] +=
        rows[0].order == Order::ContiguousPerDocument;
    drawn["2d per document"] +=
        sharding.value.isPerDocument() && sharding.hasTwoAxes;
    drawn["tensor rows per document"] +=
        sharding.value.isPerDocument() && sharding.value.tensorRows;
  }

  /// What stands in the rows of padding is in no result.
  void checkPadding(ModuleOp module, const Sharding &sharding,
                    llvm::ArrayRef<HostTensor> inputs,
                    const RunResult &expected) {
    OwningOpRef<ModuleOp> prepared = withOwnPadding(module, sharding);
    ASSERT_TRUE(prepared);
    CompileOptions options;
    options.sharding = sharding;
    std::unique_ptr<Program> program = compileQuickly(*prepared, options);
    ASSERT_TRUE(program);
    std::vector<HostTensor> padded(inputs.begin(), inputs.end());
    int64_t longer = 0;
    for (auto [spec, input] : llvm::zip_equal(program->arguments(), padded))
      if (spec.shape != input.shape) {
        ASSERT_EQ(spec.dtype, DType::F64);
        HostTensor rows = HostTensor::zeros(spec.dtype, spec.shape);
        copyRows(input, rows);
        input = std::move(rows);
        ++longer;
      }
    // One rank may have every row in order.
    drawn["NaN in padding"] += longer > 0;
    RunResult result = runOrFail(*program, padded, CPRT_KERNELS_FAST);
    ASSERT_EQ(result.outputs.size(), expected.outputs.size());
    for (size_t i = 0; i < result.outputs.size(); ++i) {
      HostTensor rows =
          HostTensor::zeros(DType::F64, expected.outputs[i].shape);
      copyRows(result.outputs[i], rows);
      EXPECT_LE(compare(rows, expected.outputs[i]).relL2, 1e-11)
          << "with NaN in padding";
    }
  }

  /// Differentiated and then cut, and cut and then differentiated: both give
  /// the gradients of one rank, for which the model is `ofOne`.
  void checkGradients(ModuleOp module, ModuleOp ofOne, const Sharding &sharding,
                      const RandomModel &model, uint64_t seed) {
    OwningOpRef<ModuleOp> whole = withGradients(module, sharding,
                                                DifferentiatedView::Global),
                          local = withGradients(module, sharding,
                                                DifferentiatedView::Local);
    // What is padded to be cut is so on one rank too.
    OwningOpRef<ModuleOp> alone = withGradients(
        ofOne, model.isOdd ? std::nullopt : std::optional(sharding),
        DifferentiatedView::Global);
    ASSERT_TRUE(whole && local && alone) << model.text;
    CompileOptions options;
    options.sharding = sharding;
    std::unique_ptr<Program> one = compileQuickly(*alone),
                             first = compileQuickly(*whole, options),
                             second = compileQuickly(*local);
    ASSERT_TRUE(one && first && second) << model.text;
    std::vector<HostTensor> inputs =
        drawInputs(one->arguments(), model.decay, seed);
    RunResult expected = runOrFail(*one, inputs, CPRT_KERNELS_REFERENCE);
    for (Program *program : {first.get(), second.get()}) {
      RunResult result = runOrFail(*program, inputs, CPRT_KERNELS_FAST);
      ASSERT_EQ(result.outputs.size(), expected.outputs.size());
      for (size_t i = 0; i < result.outputs.size(); ++i) {
        double difference =
            compare(result.outputs[i], expected.outputs[i]).relL2;
        worstOf["gradients"] = std::max(worstOf["gradients"], difference);
        EXPECT_LE(difference, 1e-10)
            << (program == first.get() ? "differentiated, then cut: "
                                       : "cut, then differentiated: ")
            << program->results()[i].name << "\n"
            << model.text;
      }
    }
    ++drawn[sharding.batch.empty() ? "gradients" : "gradients, batch cut"];
    drawn["packed gradients"] += model.isPacked;
    drawn["gradients per document"] += sharding.isPerDocument();
    drawn["gradients in sizes"] += !model.sizes.empty();
    drawn["odd gradients"] += model.isOdd;
  }

  std::map<std::string, double> worstOf;
  std::map<std::string, int64_t> drawn;
};

TEST_F(PropertyTest, EveryShardingGivesTheNumbersOfOneRank) {
  std::cout << plan().cases << " cases from seed " << plan().seed << "\n";
  for (uint64_t i = 0; i < plan().cases; ++i)
    check(plan().seed + i);
  for (auto &[dtype, worst] : worstOf)
    std::cout << "worst rel_l2 in " << dtype << ": " << worst << "\n";
  if (plan().cases < 100)
    return;
  // Tests of everything draw everything.
  for (const char *order : {"cont", "zigz", "stri"})
    for (const char *rest : {" hidden ring", " hidden ulysses",
                             " sequence ring", " sequence ulysses"})
      EXPECT_GT(drawn[std::string(order) + rest], 0) << order << rest;
  for (const char *packed :
       {"packed cont", "packed zigz", "packed stri", "packed gradients"})
    EXPECT_GT(drawn[packed], 0) << packed;
  EXPECT_GT(drawn["final states"], 0);
  EXPECT_GT(drawn["gradients"], 0);
  EXPECT_GT(drawn["gradients, batch cut"], 0);
  for (Decay decay : {Decay::AsPublished, Decay::Slow, Decay::Resets})
    EXPECT_GT(drawn[describe(decay)], 0) << describe(decay);
  for (const char *way : {"way 2d", "way gather", "scan chain", "scan gather",
                          "scan doubling", "scan pipelined", "scan transposed"})
    EXPECT_GT(drawn[way], 0) << way;
  // --long has 10 000, shared by as many processes as there are processors.
  if (plan().cases < 600)
    return;
  for (const char *perDocument :
       {"per document", "odd per document", "gradients per document",
        "blocks per document", "2d per document", "tensor rows per document",
        "in sizes", "gradients in sizes", "odd", "odd gradients",
        "NaN in padding"})
    EXPECT_GT(drawn[perDocument], 0) << perDocument;
}

} // namespace
