//===- ShiftTokensTest.cpp - What stands some tokens further on -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"
#include "TestModel.h"
#include "cp/Model/Random.h"
#include "cp/Trace/TraceTokens.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

constexpr int64_t batch = 2, length = 16;

/// What stands `n` tokens further on in the same document, else -100.
std::string labelsText(int64_t n) {
  const std::string rows = "tensor<2x" + std::to_string(n) + "x";
  return R"(
    func.func @main(%ids: tensor<2x16xi32> {cp.name = "ids", cp.sequence = 1 : i64},
        %documents: tensor<2x4xi32> {cp.name = "cu_seqlens"})
        -> (tensor<2x16xi32> {cp.name = "labels", cp.sequence = 1 : i64}) {
      %places = cp.positions documents(%documents : tensor<2x4xi32>) : tensor<2x16xi64>
      %none = arith.constant dense<-100> : )" +
         rows + R"(i32>
      %outside = arith.constant dense<-1> : )" +
         rows + R"(i64>
      %next = cp.shift_tokens %ids then %none : tensor<2x16xi32>, )" +
         rows + R"(i32>
      %place = cp.shift_tokens %places then %outside : tensor<2x16xi64>, )" +
         rows + R"(i64>
      %n = arith.constant dense<)" +
         std::to_string(n) + R"(> : tensor<2x16xi64>
      %wanted = arith.addi %places, %n : tensor<2x16xi64>
      %same = arith.cmpi eq, %place, %wanted : tensor<2x16xi64>
      %ignored = arith.constant dense<-100> : tensor<2x16xi32>
      %labels = arith.select %same, %next, %ignored : tensor<2x16xi1>, tensor<2x16xi32>
      return %labels : tensor<2x16xi32>
    })";
}

HostTensor integers(std::vector<int64_t> shape, ArrayRef<int32_t> values) {
  HostTensor tensor = HostTensor::zeros(DType::I32, std::move(shape));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

/// The same by a loop over tokens.
std::vector<int32_t> labelsOf(ArrayRef<int32_t> ids, ArrayRef<int32_t> starts,
                              int64_t n) {
  std::vector<int32_t> labels(ids.size(), -100);
  for (int64_t row = 0; row < batch; ++row)
    for (int64_t document = 0; document < 3; ++document) {
      int64_t begin = starts[row * 4 + document],
              end = starts[row * 4 + document + 1];
      for (int64_t t = begin; t + n < end; ++t)
        labels[row * length + t] = ids[row * length + t + n];
    }
  return labels;
}

TEST(ShiftTokens, LabelsOfDocumentsInEveryOrder) {
  std::vector<int32_t> ids(batch * length);
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = int32_t(splitMix64(7, i) % 1000);
  // Borders at a cut of four ranks, beside it, and within; an empty one.
  const std::vector<int32_t> starts = {0, 4, 9, 16, 0, 0, 11, 16};
  const std::vector<HostTensor> inputs = {integers({batch, length}, ids),
                                          integers({batch, 4}, starts)};
  // The last of these is more than a rank's part in zigzag order.
  for (int64_t n : {1, 2, 3}) {
    OwningOpRef<ModuleOp> module = parse(labelsText(n));
    ASSERT_TRUE(module);
    HostTensor expected = integers({batch, length}, labelsOf(ids, starts, n));
    for (const Sharding &sharding : gradientShardings()) {
      SCOPED_TRACE(test::describe(sharding) + ", " + std::to_string(n));
      CompileOptions options;
      options.sharding = sharding;
      std::unique_ptr<Program> program = compileWith(*module, options);
      ASSERT_TRUE(program);
      RunResult result = runOrFail(*program, inputs, CPRT_KERNELS_FAST);
      EXPECT_TRUE(compare(result.outputs[0], expected).bitwiseEqual);
      llvm::Expected<TokenTrace> trace = traceTokens(*module, options);
      ASSERT_TRUE(bool(trace)) << llvm::toString(trace.takeError());
      EXPECT_TRUE(trace->findings.empty());
      EXPECT_EQ(trace->untraced.count("cp.shift_tokens"), 0u);
    }
    std::unique_ptr<Program> whole = compileWith(*module, {});
    ASSERT_TRUE(whole);
    RunResult result = runOrFail(*whole, inputs, CPRT_KERNELS_FAST);
    EXPECT_TRUE(compare(result.outputs[0], expected).bitwiseEqual);
  }
}

} // namespace
