//===- FinalStateTest.cpp - The state behind a sequence that is cut -------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"
#include "cp/Model/Random.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

/// A scan of 32 tokens that gives its state, of f64 or bf16.
std::string scanText(const std::string &dtype, bool hasInitial) {
  std::string text = R"(
!x = tensor<2x32x2x4xTYPE>
!dt = tensor<2x32x2xTYPE>
!b = tensor<2x32x1x3xTYPE>
!state = tensor<2x2x4x3xTYPE>
func.func @main(%x: !x {cp.name = "x", cp.sequence = 1 : i64},
    %dt: !dt {cp.name = "dt", cp.sequence = 1 : i64},
    %a: tensor<2xTYPE> {cp.name = "A_log"},
    %b: !b {cp.name = "B", cp.sequence = 1 : i64},
    %c: !b {cp.name = "C", cp.sequence = 1 : i64},
    %initial: !state {cp.name = "initial"}) -> (!x, !state) {
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c) INITIAL {chunk_size = 4}
      : (!x, !dt, tensor<2xTYPE>, !b, !b MORE) -> (!x, !state)
  return %y, %state : !x, !state
})";
  auto put = [&](const std::string &word, const std::string &by) {
    for (size_t at; (at = text.find(word)) != std::string::npos;)
      text.replace(at, word.size(), by);
  };
  put("TYPE", dtype);
  put("INITIAL", hasInitial ? "initial(%initial)" : "");
  put("MORE", hasInitial ? ", !state" : "");
  return text;
}

/// One of two heads keeps most of its state over all tokens.
std::vector<HostTensor> drawAll(const Program &program) {
  std::vector<HostTensor> tensors;
  for (const TensorSpec &spec : program.arguments()) {
    std::vector<double> values(*tensorBytes(spec.shape, DType::I8));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = 2 * uniform01(fnv1a64(spec.name), i) - 1;
    if (spec.name == "A_log")
      values[0] = std::log(0.01);
    tensors.push_back(fromDoubles(spec.dtype, spec.shape, values));
  }
  return tensors;
}

/// Holds y and the state of a scan over ranks against one rank.
class FinalStateTest : public testing::TestWithParam<bool> {
protected:
  void check(const std::string &dtype, double tolerance, Sharding sharding) {
    CompileOptions options;
    options.sharding = std::move(sharding);
    OwningOpRef<ModuleOp> module = parse(scanText(dtype, GetParam()));
    ASSERT_TRUE(module);
    std::unique_ptr<Program> whole = compile(*module, TestSharding());
    std::unique_ptr<Program> cut = compileWith(*module, options);
    ASSERT_TRUE(whole && cut);
    std::vector<HostTensor> inputs = drawAll(*whole);
    for (cprt_kernel_set kernels :
         {CPRT_KERNELS_FAST, CPRT_KERNELS_REFERENCE}) {
      RunResult expected = runOrFail(*whole, inputs, CPRT_KERNELS_REFERENCE);
      RunResult result = runOrFail(*cut, inputs, kernels);
      ASSERT_EQ(result.outputs.size(), 2u);
      for (size_t i : {0, 1})
        EXPECT_LE(compare(result.outputs[i], expected.outputs[i]).relL2,
                  tolerance)
            << "result " << i;
    }
  }

  static Sharding over(int64_t ranks, ScanAlgorithm scan, Order order) {
    Sharding sharding;
    sharding.mesh = Mesh{{{"cp", ranks}}};
    sharding.sequence.front().order = order;
    sharding.scan = scan;
    return sharding;
  }
};

TEST_P(FinalStateTest, EveryScanAndOrder) {
  for (int64_t ranks : {1, 2, 4, 8})
    for (ScanAlgorithm scan :
         {ScanAlgorithm::Chain, ScanAlgorithm::Gather, ScanAlgorithm::Doubling,
          ScanAlgorithm::Pipelined, ScanAlgorithm::Transposed})
      for (Order order : {Order::Contiguous, Order::Zigzag}) {
        SCOPED_TRACE(testing::Message()
                     << ranks << " ranks, " << stringifyEnum(scan).str() << ", "
                     << orderName(order));
        check("f64", 1e-12, over(ranks, scan, order));
      }
}

TEST_P(FinalStateTest, Narrow) {
  for (Order order : {Order::Contiguous, Order::Zigzag}) {
    check("bf16", 1e-2, over(4, ScanAlgorithm::Chain, order));
    check("f32", 1e-5, over(4, ScanAlgorithm::Chain, order));
  }
}

INSTANTIATE_TEST_SUITE_P(Initial, FinalStateTest, testing::Bool());

} // namespace
