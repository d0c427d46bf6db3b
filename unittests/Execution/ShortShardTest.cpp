//===- ShortShardTest.cpp - Shards shorter than a window ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A window of four rows over ranks that hold one or two: the halo comes from
// several of them.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"
#include "cp/Frontend/Mamba2Importer.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

CompileOptions over(int64_t ranks, Order order) {
  CompileOptions options;
  options.sharding.emplace();
  options.sharding->mesh = Mesh{{{"cp", ranks}}};
  options.sharding->sequence.front().order = order;
  return options;
}

void checkLength(int64_t length, int64_t ranks, Order order) {
  SCOPED_TRACE(testing::Message() << length << " tokens on " << ranks
                                  << " ranks, " << orderName(order));
  Mamba2Config config = smallConfig(/*groups=*/2);
  OwningOpRef<ModuleOp> module =
      importMamba2(config, {2, length, "f64"}, UnknownLoc::get(&context()));
  ASSERT_TRUE(module);
  std::unique_ptr<Program> whole = compile(*module, {});
  std::unique_ptr<Program> cut = compileWith(*module, over(ranks, order));
  ASSERT_TRUE(whole && cut);
  std::vector<HostTensor> inputs =
      drawInputs(whole->arguments(), config, Decay::Slow, /*seed=*/7);
  for (cprt_kernel_set kernels : {CPRT_KERNELS_FAST, CPRT_KERNELS_REFERENCE}) {
    RunResult expected = runOrFail(*whole, inputs, CPRT_KERNELS_REFERENCE);
    RunResult result = runOrFail(*cut, inputs, kernels);
    ASSERT_FALSE(result.outputs.empty() || expected.outputs.empty());
    EXPECT_LE(compare(result.outputs[0], expected.outputs[0]).relL2, 1e-12);
  }
}

TEST(ShortShardTest, EightTokensOnFourRanks) {
  checkLength(8, 4, Order::Contiguous);
  checkLength(8, 4, Order::Zigzag);
}

TEST(ShortShardTest, OneTokenARankOrAPart) {
  for (int64_t ranks = 1; ranks <= 8; ++ranks) {
    checkLength(ranks, ranks, Order::Contiguous);
    checkLength(2 * ranks, ranks, Order::Zigzag);
  }
}

} // namespace
