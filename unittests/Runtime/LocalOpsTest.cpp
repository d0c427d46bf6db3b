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

namespace {

/// A kernel's operation with as many attribute words.
struct Op {
  cprt_op *op;
  int64_t numAttrs;
  std::string ins;
};

const Op ops[] = {{cprt_matmul, 2, "2"},         {cprt_conv1d, 1, "2 to 5"},
                  {cprt_ssd, 3, "5 to 9"},       {cprt_ssd_states, 3, "4 to 6"},
                  {cprt_ssd_scan, 1, "9 to 11"}, {cprt_rms_norm, 3, "1 to 3"},
                  {cprt_rotary, 2, "2"},         {cprt_embedding, 0, "2"},
                  {cprt_copy, 0, "1"},           {cprt_repeat, 3, "1"}};

} // namespace

TEST(LocalOps, CountsOfBuffers) {
  Tensor tensor(CPRT_F32, Sizes{2});
  for (const Op &op : ops) {
    World none({1}), many({1});
    Call call;
    call.out(tensor);
    for (int64_t i = 0; i < op.numAttrs; ++i)
      call.attr(1);
    call.run(op.op, none.context(0));
    expectFailure(none, CPRT_INVALID_ARGUMENT,
                  "found 0 inputs and 1 outputs, expected " + op.ins);
    for (int i = 0; i < 11; ++i)
      call.in(tensor);
    call.run(op.op, many.context(0));
    expectFailure(many, CPRT_INVALID_ARGUMENT, "found 11 inputs");
  }
}

TEST(LocalOps, CountsOfWords) {
  Tensor tensor(CPRT_F32, Sizes{2});
  for (const Op &op : ops) {
    World few({1}), many({1});
    Call call;
    bool twoOuts = op.op == cprt_ssd || op.op == cprt_ssd_scan;
    for (int64_t i = 0; i < (op.op == cprt_ssd_states ? 4
                             : twoOuts                ? 2
                                                      : 1);
         ++i)
      call.out(tensor);
    for (int64_t i = std::stoi(op.ins); i > 0; --i)
      call.in(tensor);
    if (op.numAttrs) {
      call.run(op.op, few.context(0));
      expectFailure(few, CPRT_INVALID_ARGUMENT, "is missing: found 0");
    }
    for (int64_t i = 0; i <= op.numAttrs; ++i)
      call.attr(1);
    call.run(op.op, many.context(0));
    expectFailure(many, CPRT_INVALID_ARGUMENT,
                  "attribute words, expected " + std::to_string(op.numAttrs));
  }
}

TEST(LocalOps, WordsAreOfTheirKind) {
  Tensor x(CPRT_F32, Sizes{1, 1, 1}), w(CPRT_F32, Sizes{1, 1}),
      y(CPRT_F32, Sizes{1, 1, 1});
  World flag({1}), real({1}), integer({1});
  Call().in(x).in(w).out(y).attr(7).run(cprt_conv1d, flag.context(0));
  expectFailure(flag, CPRT_INVALID_ARGUMENT,
                "attribute 'silu' is 7, expected 0 to 1");
  // All bits set are a NaN.
  Call().in(x).out(y).attr(-1).attr(0).attr(1).run(cprt_rms_norm,
                                                   real.context(0));
  expectFailure(real, CPRT_INVALID_ARGUMENT,
                "attribute 'eps' is NaN, expected a number");
  Call()
      .in(x)
      .out(y)
      .attr(int64_t(0))
      .attr(int64_t(0))
      .attr(int64_t(0))
      .run(cprt_rms_norm, integer.context(0));
  expectFailure(integer, CPRT_INVALID_ARGUMENT,
                "attribute 'groups' is 0, expected 1 to");
}

/// Optional inputs keep their places, but at the end.
TEST(LocalOps, InputsThatAreLeftOut) {
  World world({1}), required({1});
  Tensor x(CPRT_F64, numbers({1, 2, 1}, {1, 2})),
      w(CPRT_F64, numbers({1, 2}, {10, 1})), bias(CPRT_F64, numbers({1}, {5})),
      initial(CPRT_F64, numbers({1, 1, 1}, {3})), y(CPRT_F64, x.sizes);
  auto conv = [&](Call call) {
    call.out(y).attr(int64_t(0)).run(cprt_conv1d, world.context(0));
    return y.read().values;
  };
  using Values = std::vector<double>;
  EXPECT_EQ(conv(Call().in(x).in(w)), (Values{1, 12}));
  EXPECT_EQ(conv(Call().in(x).in(w).in(bias)), (Values{6, 17}));
  EXPECT_EQ(conv(Call().in(x).in(w).in(bias).none()), (Values{6, 17}));
  EXPECT_EQ(conv(Call().in(x).in(w).none().in(initial)), (Values{31, 12}));
  EXPECT_EQ(conv(Call().in(x).in(w).in(bias).in(initial)), (Values{36, 17}));
  EXPECT_EQ(world.failures(), "");
  Call()
      .in(x)
      .none()
      .out(y)
      .attr(int64_t(0))
      .run(cprt_conv1d, required.context(0));
  expectFailure(required, CPRT_INVALID_ARGUMENT,
                "input 1 (weight) is left out, but it is not optional");
}
