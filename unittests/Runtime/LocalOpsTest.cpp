//===- LocalOpsTest.cpp - Operations that stay on one rank ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "gtest/gtest.h"

using namespace cp::test;

namespace {

Array numbers(Sizes sizes, std::vector<double> values) {
  Array array(std::move(sizes));
  array.values = std::move(values);
  return array;
}

void expectFailure(const World &world, cprt_status status,
                   const std::string &text) {
  EXPECT_EQ(cprt_context_status(world.context(0)), status);
  std::string message = cprt_context_message(world.context(0));
  EXPECT_NE(message.find(text), std::string::npos) << message;
}

} // namespace

TEST(LocalOps, MatmulReachesTheKernel) {
  for (cprt_dtype dtype : {CPRT_F32, CPRT_F64}) {
    World world({1});
    Tensor a(dtype, numbers({1, 2}, {2, 3})),
        w(dtype, numbers({2, 2}, {1, 2, 3, 4}));
    Tensor c(dtype, numbers({1, 2}, {10, 10}));
    Call(1)
        .in(a)
        .in(w)
        .out(c)
        .attr(int64_t(0))
        .attr(int64_t(0))
        .run(cprt_matmul, world.context(0));
    EXPECT_EQ(c.read().values, (std::vector<double>{11, 16}));
    Call(2).in(a).in(w).out(c).attr(1).attr(1).run(cprt_matmul,
                                                   world.context(0));
    EXPECT_EQ(c.read().values, (std::vector<double>{19, 34}));
    EXPECT_EQ(world.failures(), "");
  }
}

TEST(LocalOps, CopyAndRepeat) {
  World world({1});
  Array row = numbers({4}, {1, 2, 3, 4});
  Tensor in(CPRT_F32, row), same(CPRT_F32, Sizes{4}, true),
      twice(CPRT_F32, Sizes{8});
  Call().in(in).out(same).run(cprt_copy, world.context(0));
  EXPECT_EQ(same.read(), row);
  Call()
      .in(in)
      .out(twice)
      .attr(int64_t(0))
      .attr(2)
      .attr(2)
      .run(cprt_repeat, world.context(0));
  EXPECT_EQ(twice.read().values, (std::vector<double>{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(world.failures(), "");
}

TEST(LocalOps, EmbeddingRefusesIdsOutsideTheTable) {
  World world({1});
  Tensor ids(CPRT_I32, numbers({2}, {1, 0})),
      table(CPRT_F32, numbers({2, 1}, {5, 6})), y(CPRT_F32, Sizes{2, 1});
  Call(3).in(ids).in(table).out(y).run(cprt_embedding, world.context(0));
  EXPECT_EQ(y.read().values, (std::vector<double>{6, 5}));
  ids.write(numbers({2}, {1, 2}));
  Call(3).in(ids).in(table).out(y).run(cprt_embedding, world.context(0));
  expectFailure(world, CPRT_INVALID_ARGUMENT, "embedding (call 3): ");
}

TEST(LocalOps, TypesWithoutAKernel) {
  World world({1});
  Tensor a(CPRT_I32, Sizes{2, 2}), w(CPRT_I32, Sizes{2, 2}),
      c(CPRT_I32, Sizes{2, 2});
  Call(9)
      .in(a)
      .in(w)
      .out(c)
      .attr(int64_t(0))
      .attr(int64_t(0))
      .run(cprt_matmul, world.context(0));
  expectFailure(world, CPRT_UNSUPPORTED, "matmul (call 9): there is no kernel");
}

/// Every op is called with one attribute word too many, then with the right
/// number of words that announce inputs which are not there.
TEST(LocalOps, CountsOfWordsAndBuffers) {
  struct Op {
    cprt_op *op;
    int64_t numAttrs;
  };
  const Op ops[] = {{cprt_matmul, 2},   {cprt_conv1d, 3},
                    {cprt_ssd, 6},      {cprt_ssd_states, 4},
                    {cprt_ssd_scan, 3}, {cprt_rms_norm, 5},
                    {cprt_rotary, 2},   {cprt_embedding, 0},
                    {cprt_copy, 0},     {cprt_repeat, 3}};
  Tensor tensor(CPRT_F32, Sizes{2});
  for (const Op &op : ops) {
    World many({1}), few({1});
    Call call;
    call.out(tensor);
    for (int64_t i = 0; i < op.numAttrs; ++i)
      call.attr(1);
    call.run(op.op, few.context(0));
    expectFailure(few, CPRT_INVALID_ARGUMENT, "found 0 inputs and 1 outputs");
    call.attr(1).run(op.op, many.context(0));
    expectFailure(many, CPRT_INVALID_ARGUMENT,
                  "attribute words, expected " + std::to_string(op.numAttrs));
  }
}

TEST(LocalOps, FlagsAreBits) {
  World world({1});
  Tensor x(CPRT_F32, Sizes{1, 1, 1});
  Call()
      .in(x)
      .out(x)
      .attr(7)
      .attr(int64_t(0))
      .attr(int64_t(0))
      .run(cprt_conv1d, world.context(0));
  expectFailure(world, CPRT_INVALID_ARGUMENT,
                "attribute word 0 is 7, expected 0 or 1");
}
