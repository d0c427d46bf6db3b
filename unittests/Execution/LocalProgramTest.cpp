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
  if (!tensor.bytes.empty())
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

/// x w^T over columns that are cut over "tp", and how the sum is ended.
std::string cutMatmul(const std::string &end, const std::string &type,
                      const std::string &cuts) {
  return R"(
    #a = affine_map<(b, l, n, k) -> (b, l, k)>
    #b = affine_map<(b, l, n, k) -> (n, k)>
    #c = affine_map<(b, l, n, k) -> (b, l, n)>
    #mesh = #cp.mesh<"tp" = 2>
    func.func @main(
        %x: tensor<1x4x4xf32> {cp.layout = #cp.layout<#mesh, [{}, {}, {"tp"}]>},
        %w: tensor<6x4xf32> {cp.layout = #cp.layout<#mesh, [{}, {"tp"}]>})
        -> (tensor<)" +
         type + "> {cp.layout = #cp.layout<#mesh, " + cuts +
         R"(>}) attributes {cp.view = "local"} {
      %e = tensor.empty() : tensor<1x4x6xf32>
      %zero = arith.constant 0.0 : f32
      %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x6xf32>)
          -> tensor<1x4x6xf32>
      %s = linalg.contract indexing_maps = [#a, #b, #c]
          ins(%x, %w : tensor<1x4x4xf32>, tensor<6x4xf32>)
          outs(%z : tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
      %r = )" +
         end + "\n return %r : tensor<" + type + "> }";
}

/// x [4, 8] times the transpose of w [6, 8].
Values product(const Values &x, const Values &w) {
  Values out(24);
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 6; ++j)
      for (size_t k = 0; k < 8; ++k)
        out[i * 6 + j] += x[i * 8 + k] * w[j * 8 + k];
  return out;
}

TEST(LocalProgramTest, PartialSumsOfAContractionAddUp) {
  Values x = draw(3, 32), w = draw(4, 48);
  const std::string over = R"( %s over ["tp"] of #mesh )";
  const std::string texts[] = {
      cutMatmul("cp.all_reduce" + over + ": tensor<1x4x6xf32>", "1x4x6xf32",
                "[{}, {}, {}]"),
      cutMatmul("cp.reduce_scatter" + over +
                    "{dim = 1} : tensor<1x4x6xf32> -> tensor<1x2x6xf32>",
                "1x2x6xf32", R"([{}, {"tp"}, {}])"),
      cutMatmul("cp.reduce_scatter"
                R"( %s over ["tp" zigzag] of #mesh )"
                "{dim = 1} : tensor<1x4x6xf32> -> tensor<1x2x6xf32>",
                "1x2x6xf32", R"([{}, {"tp" zigzag}, {}])")};
  for (const std::string &text : texts) {
    SCOPED_TRACE(text);
    OwningOpRef<ModuleOp> module = parse(text);
    ASSERT_TRUE(module);
    std::unique_ptr<Program> program = test::compile(*module, {});
    ASSERT_TRUE(program);
    for (cprt_kernel_set kernels :
         {CPRT_KERNELS_FAST, CPRT_KERNELS_REFERENCE}) {
      RunResult result = runOrFail(
          *program, {floats({1, 4, 8}, x), floats({6, 8}, w)}, kernels);
      ASSERT_EQ(result.outputs.size(), 1u);
      EXPECT_EQ(valuesOf(result.outputs[0]), product(x, w));
    }
  }
}

/// What a program does besides arithmetic: pass an argument on, return one
/// value twice, return a constant, write into a copy of one.
TEST(LocalProgramTest, ResultsMayBeArgumentsConstantsOrTheSameValue) {
  OwningOpRef<ModuleOp> module = parse(R"(
    func.func @main(%x: tensor<2x3xf32>)
        -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>,
            tensor<2x3xf32>) {
      %y = arith.addf %x, %x : tensor<2x3xf32>
      %c = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]>
          : tensor<2x3xf32>
      %row = tensor.extract_slice %x[0, 0] [1, 3] [1, 1]
          : tensor<2x3xf32> to tensor<1x3xf32>
      %d = tensor.insert_slice %row into %c[1, 0] [1, 3] [1, 1]
          : tensor<1x3xf32> into tensor<2x3xf32>
      return %x, %y, %y, %c, %d
          : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>,
            tensor<2x3xf32>
    })");
  ASSERT_TRUE(module);
  std::unique_ptr<Program> program = test::compile(*module, {});
  ASSERT_TRUE(program);
  Values x = draw(5, 6), twice = x;
  for (float &value : twice)
    value *= 2;
  // Twice: a constant that was written to would be another one.
  for (int run = 0; run < 2; ++run) {
    RunResult result =
        runOrFail(*program, {floats({2, 3}, x)}, CPRT_KERNELS_FAST);
    ASSERT_EQ(result.outputs.size(), 5u);
    EXPECT_EQ(valuesOf(result.outputs[0]), x);
    EXPECT_EQ(valuesOf(result.outputs[1]), twice);
    EXPECT_EQ(valuesOf(result.outputs[2]), twice);
    EXPECT_EQ(valuesOf(result.outputs[3]), (Values{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(valuesOf(result.outputs[4]), (Values{1, 2, 3, x[0], x[1], x[2]}));
  }
}

/// A tensor of an empty dimension, and one of no dimension.
TEST(LocalProgramTest, EmptyTensorsAndScalarsRun) {
  for (const char *type : {"tensor<0x2xf32>", "tensor<f32>"}) {
    std::string text = R"(func.func @main(%x: T) -> T {
      %y = arith.addf %x, %x : T
      return %y : T
    })";
    for (size_t at; (at = text.find('T')) != std::string::npos;)
      text.replace(at, 1, type);
    OwningOpRef<ModuleOp> module = parse(text);
    ASSERT_TRUE(module);
    std::unique_ptr<Program> program = test::compile(*module, {});
    ASSERT_TRUE(program);
    bool scalar = program->arguments()[0].shape.empty();
    HostTensor x = scalar ? floats({}, {3}) : floats({0, 2}, {});
    RunResult result = runOrFail(*program, {x}, CPRT_KERNELS_FAST);
    ASSERT_EQ(result.outputs.size(), 1u);
    EXPECT_EQ(valuesOf(result.outputs[0]), scalar ? Values{6} : Values());
  }
}

} // namespace
