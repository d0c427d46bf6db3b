//===- LocalProgramTest.cpp - Programs written by hand --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "TestModel.h"
#include "cp/Model/Random.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// Small integers, so that sums are exact in every order.
Values draw(uint64_t seed, size_t count) {
  Values values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(splitMix64(seed, i) % 7) - 3;
  return values;
}

Values valuesOf(const HostTensor &tensor) {
  Values values(tensor.numElements());
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

TEST(LocalProgramTest, EachCollectiveDoesWhatPlainLoopsDo) {
  Values d = draw(1, 8), x = draw(2, 64);
  for (const Collective &collective : collectives()) {
    SCOPED_TRACE(collective.name);
    OwningOpRef<ModuleOp> module = parse(collective.text);
    ASSERT_TRUE(module);
    std::unique_ptr<Program> program = test::compile(*module, {});
    ASSERT_TRUE(program);
    EXPECT_EQ(program->stage(), Stage::Local);
    EXPECT_EQ(program->mesh().numRanks(), 4);
    RunResult result = runOrFail(*program, {floats({8}, d), floats({8, 8}, x)},
                                 CPRT_KERNELS_FAST);
    ASSERT_EQ(result.outputs.size(), 1u);
    EXPECT_EQ(valuesOf(result.outputs[0]), collective.expected(d, x));
    ASSERT_EQ(result.collectives.size(), 1u);
    EXPECT_EQ(result.collectives[0].op, collective.counter);
    EXPECT_EQ(result.collectives[0].calls, 1);
  }
}

/// x w^T, summed over columns that are cut over "tp".
constexpr const char *matmulText = R"(
#x = affine_map<(b, l, n, k) -> (b, l, k)>
#w = affine_map<(b, l, n, k) -> (n, k)>
#y = affine_map<(b, l, n, k) -> (b, l, n)>
$layouts
func.func @main(%x: tensor<1x4x8xf32$cutX>, %w: tensor<6x8xf32$cutW>)
    -> tensor<1x4x6xf32$end> $view {
  %e = tensor.empty() : tensor<1x4x6xf32$sum>
  %c = arith.constant 0.0 : f32
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<1x4x6xf32$sum>)
      -> tensor<1x4x6xf32$sum>
  %s = linalg.contract indexing_maps = [#x, #w, #y]
      ins(%x, %w : tensor<1x4x8xf32$cutX>, tensor<6x8xf32$cutW>)
      outs(%z : tensor<1x4x6xf32$sum>) -> tensor<1x4x6xf32$sum>
  $reshard
}
)";

std::string fill(std::vector<std::pair<std::string, std::string>> values) {
  std::string text = matmulText;
  for (const auto &[key, value] : values)
    for (size_t at; (at = text.find(key)) != std::string::npos;)
      text.replace(at, key.size(), value);
  return text;
}

std::string plainMatmul() {
  return fill({{"$layouts", ""},
               {"$view", ""},
               {"$cutX", ""},
               {"$cutW", ""},
               {"$sum", ""},
               {"$end", ""},
               {"$reshard", "return %s : tensor<1x4x6xf32>"}});
}

std::string cutMatmul(const std::string &endCuts) {
  return fill(
      {{"$layouts", "#m = #cp.mesh<\"tp\" = 2>\n"
                    "#cx = #cp.layout<#m, [{}, {}, {\"tp\"}]>\n"
                    "#cw = #cp.layout<#m, [{}, {\"tp\"}]>\n"
                    "#sum = #cp.layout<#m, [{}, {}, {}], partial = {\"tp\"}>\n"
                    "#end = #cp.layout<#m, " +
                        endCuts + ">"},
       {"$view", "attributes {cp.view = \"global\"}"},
       {"$reshard", "%r = cp.reshard %s : tensor<1x4x6xf32, #sum>"
                    " to tensor<1x4x6xf32, #end>\n"
                    "  return %r : tensor<1x4x6xf32, #end>"},
       {"$cutX", ", #cx"},
       {"$cutW", ", #cw"},
       {"$sum", ", #sum"},
       {"$end", ", #end"}});
}

TEST(LocalProgramTest, PartialSumsAreAddedByTheReshardThatEndsThem) {
  std::vector<HostTensor> inputs = {floats({1, 4, 8}, draw(3, 32)),
                                    floats({6, 8}, draw(4, 48))};
  OwningOpRef<ModuleOp> plain = parse(plainMatmul());
  ASSERT_TRUE(plain);
  std::unique_ptr<Program> whole = test::compile(*plain, {});
  ASSERT_TRUE(whole);
  Values expected =
      valuesOf(runOrFail(*whole, inputs, CPRT_KERNELS_REFERENCE).outputs[0]);
  std::pair<const char *, const char *> ends[] = {
      {"[{}, {}, {}]", "all_reduce"},
      {"[{}, {\"tp\"}, {}]", "reduce_scatter"},
      {"[{}, {\"tp\" zigzag}, {}]", "reduce_scatter"}};
  for (const auto &[cuts, counter] : ends) {
    SCOPED_TRACE(cuts);
    OwningOpRef<ModuleOp> module = parse(cutMatmul(cuts));
    ASSERT_TRUE(module);
    std::unique_ptr<Program> program = test::compile(*module, {});
    ASSERT_TRUE(program);
    EXPECT_EQ(program->stage(), Stage::WithLayouts);
    RunResult result = runOrFail(*program, inputs, CPRT_KERNELS_FAST);
    ASSERT_EQ(result.outputs.size(), 1u);
    EXPECT_EQ(valuesOf(result.outputs[0]), expected);
    ASSERT_EQ(result.collectives.size(), 1u);
    EXPECT_EQ(result.collectives[0].op, counter);
  }
}

/// What a program does besides arithmetic: pass an argument on, return one value
/// twice, return a constant, take nothing.
TEST(LocalProgramTest, ResultsMayBeArgumentsConstantsOrTheSameValue) {
  OwningOpRef<ModuleOp> module = parse(R"(
    func.func @main(%x: tensor<2x3xf32>)
        -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) {
      %y = arith.addf %x, %x : tensor<2x3xf32>
      %c = arith.constant dense<[4.0, 5.0]> : tensor<2xf32>
      return %x, %y, %y, %c
          : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>
    })");
  ASSERT_TRUE(module);
  std::unique_ptr<Program> program = test::compile(*module, {});
  ASSERT_TRUE(program);
  Values x = draw(5, 6), twice = x;
  for (float &value : twice)
    value *= 2;
  RunResult result =
      runOrFail(*program, {floats({2, 3}, x)}, CPRT_KERNELS_FAST);
  ASSERT_EQ(result.outputs.size(), 4u);
  EXPECT_EQ(valuesOf(result.outputs[0]), x);
  EXPECT_EQ(valuesOf(result.outputs[1]), twice);
  EXPECT_EQ(valuesOf(result.outputs[2]), twice);
  EXPECT_EQ(valuesOf(result.outputs[3]), (Values{4, 5}));
}

} // namespace
