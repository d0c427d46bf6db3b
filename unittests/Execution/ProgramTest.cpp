//===- ProgramTest.cpp - What compileProgram and run take and refuse ----===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace cp;
using namespace cp::test;
using testing::AllOf;
using testing::HasSubstr;

namespace {

/// What compiling `text` says: its diagnostics, then the error.
std::string errorOf(llvm::StringRef text, CompileOptions options = {}) {
  std::string said;
  ScopedDiagnosticHandler handler(&context(), [&](Diagnostic &diagnostic) {
    said += diagnostic.str() + "\n";
    return success();
  });
  OwningOpRef<ModuleOp> module = parse(text);
  if (!module)
    return said;
  llvm::Expected<std::unique_ptr<Program>> program =
      compileProgram(*module, options);
  if (!program)
    return said + llvm::toString(program.takeError());
  ADD_FAILURE() << "this compiles:\n" << text.str();
  return "";
}

std::string function(const std::string &argument, const std::string &more = "",
                     const std::string &name = "main") {
  return "func.func @" + name + "(%x: " + argument + ") -> (" + argument +
         more + ") { return %x : " + argument + " }\n";
}

TEST(ProgramTest, TheEntryIsTheOnlyPublicFunctionOrTheOneNamed) {
  EXPECT_THAT(errorOf(""), HasSubstr("no public function to run"));
  EXPECT_THAT(errorOf("func.func private @f(tensor<2xf32>)"),
              HasSubstr("no public function to run"));
  std::string both =
      function("tensor<2xf32>", "", "f") + function("tensor<3xf32>", "", "g");
  EXPECT_THAT(errorOf(both),
              AllOf(HasSubstr("'f' and 'g'"), HasSubstr("--entry")));
  CompileOptions options;
  options.entry = "h";
  EXPECT_THAT(errorOf(both, options), HasSubstr("no public function 'h'"));
  options.entry = "g";
  OwningOpRef<ModuleOp> module = parse(both);
  llvm::Expected<std::unique_ptr<Program>> program =
      compileProgram(*module, options);
  ASSERT_TRUE(static_cast<bool>(program));
  EXPECT_EQ((*program)->arguments()[0].shape, std::vector<int64_t>{3});
}

TEST(ProgramTest, OnlyTensorsOfKnownSizesAndServedTypesGoInAndOut) {
  for (const char *type :
       {"tensor<?xf32>", "tensor<*xf32>", "f32", "index", "memref<2xf32>",
        "tensor<2xf16>", "tensor<2xi1>", "tensor<2xcomplex<f32>>"})
    EXPECT_THAT(errorOf(function(type)), HasSubstr("'arg0' must be a tensor"))
        << type;
  EXPECT_THAT(errorOf(function("tensor<4611686018427387904x4xf32>")),
              HasSubstr("more bytes than 64 bits can count"));
}

std::string local(const std::string &layout, const std::string &mesh) {
  return "#mesh = #cp.mesh<" + mesh + ">\n" +
         "func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x4xf32> "
         "{cp.layout = #cp.layout<#mesh, " +
         layout +
         ">}) attributes {cp.view = \"local\"} {\n"
         "  %0 = cp.shift %x over [\"cp\"] of #mesh {offset = 1} : "
         "tensor<2x4xf32>\n  return %0 : tensor<2x4xf32>\n}\n";
}

TEST(ProgramTest, LayoutsOfResultsMustFitAndBeComplete) {
  EXPECT_THAT(errorOf(local(R"([{}, {}], partial = {"cp"})", R"("cp" = 2)")),
              AllOf(HasSubstr("'result0' is a partial sum, which has no whole"),
                    HasSubstr("cp.reshard")));
  EXPECT_THAT(errorOf(local(R"([{"cp"}])", R"("cp" = 2)")),
              HasSubstr("of another mesh or rank"));
  EXPECT_THAT(errorOf(local(R"([{"cp" : 3}, {}])", R"("cp" = 2)")),
              HasSubstr("layout_c5"));
}

TEST(ProgramTest, AMeshOfTheModulesOwnIsNoLargerThanAProcessCanRun) {
  EXPECT_THAT(errorOf(local(R"([{"cp"}, {}])", R"("cp" = 100000)")),
              HasSubstr("at most 1024"));
  CompileOptions options;
  options.mesh = Mesh{{{"cp", 2048}}};
  EXPECT_THAT(errorOf(function("tensor<2xf32>"), options),
              HasSubstr("at most 1024"));
}

TEST(ProgramTest, AProgramIsOfOneMesh) {
  EXPECT_THAT(errorOf(R"(
        #two = #cp.mesh<"cp" = 2>
        #four = #cp.mesh<"cp" = 4>
        func.func @main(
            %x: tensor<2xf32> {cp.layout = #cp.layout<#two, [{"cp"}]>})
            -> tensor<2xf32> attributes {cp.view = "local"} {
          %0 = cp.shift %x over ["cp"] of #four {offset = 1} : tensor<2xf32>
          return %0 : tensor<2xf32>
        })"),
              AllOf(HasSubstr("'main' must be a program of one mesh"),
                    HasSubstr("= 2> and #cp.mesh<\"cp\" = 4>")));
}

TEST(ProgramTest, CallsThatComeBackCannotBeInlined) {
  EXPECT_THAT(errorOf(R"(
      func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
        %y = func.call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>
        return %y : tensor<2xf32>
      }
      func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32> {
        %y = func.call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>
        return %y : tensor<2xf32>
      })"),
              AllOf(HasSubstr("what it calls calls itself"),
                    HasSubstr("the module's calls could not be inlined")));
}

TEST(ProgramTest, InputsMustBeAsManyAndOfTheTypesThatTheEntryTakes) {
  OwningOpRef<ModuleOp> module = parse(
      R"(func.func @main(%x: tensor<2x3xf32> {cp.name = "states"})
             -> (tensor<2x3xf32> {cp.name = "logits"}) {
           return %x : tensor<2x3xf32>
         })");
  std::unique_ptr<Program> program = test::compile(*module, {});
  ASSERT_TRUE(program);
  EXPECT_EQ(program->results()[0].name, "logits");
  auto errorWith = [&](std::vector<HostTensor> inputs) {
    llvm::Expected<RunResult> result = program->run(pointersTo(inputs), {});
    return result ? std::string("no error")
                  : llvm::toString(result.takeError());
  };
  EXPECT_EQ(errorWith({}), "1 inputs expected, but 0 came");
  EXPECT_EQ(errorWith({floats({3, 2}, std::vector<float>(6))}),
            "'states' must be F32 [2, 3], but is F32 [3, 2]");
  EXPECT_EQ(errorWith({HostTensor::zeros(DType::F64, {2, 3})}),
            "'states' must be F32 [2, 3], but is F64 [2, 3]");
}

TEST(ProgramTest, TheSameModuleCompilesAgainForOtherRanks) {
  OwningOpRef<ModuleOp> module = importMamba2(
      smallConfig(1), {1, sequenceLength, "f32"}, UnknownLoc::get(&context()));
  std::string before;
  llvm::raw_string_ostream(before) << *module;
  for (const TestSharding &sharding : allShardings())
    EXPECT_TRUE(test::compile(*module, sharding)) << describe(sharding);
  std::string after;
  llvm::raw_string_ostream(after) << *module;
  EXPECT_EQ(before, after);
}

/// What cannot be sharded is refused by the pass that sees it.
TEST(ProgramTest, WhatCannotBeCutIsRefusedWithItsLabel) {
  struct Bad {
    int64_t groups, heads, length;
    TestSharding sharding;
    std::string label;
  };
  const Bad all[] = {
      {1, 2, 64, {"hidden", "chain", 4}, "hidden_c1"},
  };
  for (const Bad &bad : all) {
    Mamba2Config config = smallConfig(bad.groups);
    config.numHeads = bad.heads;
    OwningOpRef<ModuleOp> module = importMamba2(config, {1, bad.length, "f32"},
                                                UnknownLoc::get(&context()));
    ASSERT_TRUE(module);
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    EXPECT_THAT(errorOf(text, compileOptions(bad.sharding)),
                HasSubstr(bad.label));
  }
}

} // namespace
