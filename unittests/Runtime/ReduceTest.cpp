//===- ReduceTest.cpp - Sums over a group ---------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomCase.h"
#include "cp/Layout/Step.h"

using namespace cp::test;

namespace {

/// The inputs of all ranks, by rank.
std::vector<Array> randomInputs(RandomCase &c, const Sizes &sizes,
                                double scale) {
  std::vector<Array> list;
  for (int64_t i = 0; i < product(c.setting.mesh); ++i) {
    list.push_back(randomArray(sizes, c.random));
    for (double &value : list.back().values)
      value *= scale;
  }
  return list;
}

/// The sum over the group of `rank`, in double.
Array sumFor(RandomCase &c, const std::vector<Array> &inputs, int64_t rank) {
  Array sum(inputs[0].sizes);
  for (size_t peer = 0; peer < inputs.size(); ++peer)
    if (c.member(int64_t(peer)).group == c.member(rank).group)
      for (size_t i = 0; i < sum.values.size(); ++i)
        sum.values[i] += inputs[peer].values[i];
  return sum;
}

void checkSum(RandomCase &c, bool isScattered, Sizes sizes) {
  int64_t g = c.groupSize(), dim = c.draw(0, int64_t(sizes.size()) - 1);
  int64_t order = c.anyOrder();
  if (isScattered)
    sizes[size_t(dim)] *= 2 * g;
  std::vector<Array> inputs = randomInputs(c, sizes, 1);
  cprt_dtype dtype = c.floatType();
  bool hasGaps = c.draw(0, 1);
  World world(c.setting.mesh);
  world.run([&](int64_t rank, cprt_context *context) {
    Array expected = sumFor(c, inputs, rank);
    if (isScattered)
      expected = partOf(expected, dim, order, g, c.member(rank).position);
    Tensor in(dtype, inputs[size_t(rank)], hasGaps);
    Tensor out(dtype, expected.sizes, hasGaps);
    Call call;
    call.in(in).out(out).array(c.setting.axes);
    if (isScattered)
      call.attr(dim).attr(order);
    call.run(isScattered ? cprt_reduce_scatter : cprt_all_reduce, context);
    in.write(Array(in.sizes));
    EXPECT_EQ(out.read(), expected);
    EXPECT_TRUE(out.gapsAreIntact());
  });
  ASSERT_EQ(world.failures(), "");
  const char *op = isScattered ? "reduce_scatter" : "all_reduce";
  expectSumSent(world.counter(0, op, maskOf(c.setting.axes)), isScattered,
                product(sizes), int64_t(cprt_dtype_size(dtype)), g);
}

} // namespace

TEST(Reduce, AllReduceSums) {
  forEachCase([](RandomCase &c) { checkSum(c, false, c.anySizes(3)); });
}

TEST(Reduce, ReduceScatterSums) {
  forEachCase([](RandomCase &c) { checkSum(c, true, c.anySizes(3)); });
}

TEST(Reduce, SumsMoreThanATile) {
  for (bool isScattered : {false, true})
    for (const Sizes &sizes : {Sizes{1, 700, 30}, Sizes{70, 300, 1}}) {
      RandomCase c{{{3}, {0}}, testSeed()};
      SCOPED_TRACE(testing::Message() << c);
      checkSum(c, isScattered, sizes);
    }
}

/// Fewer rows than ranks, and rows that ranks share unevenly: what each sends
/// is what plans say of it.
TEST(Reduce, SharesWhatIsLarge) {
  for (const Sizes &sizes : {Sizes{2, 9000}, Sizes{1, 5, 4001}, Sizes{20000},
                             Sizes{16384}, Sizes{16383}}) {
    RandomCase c{{{2, 3}, {1, 0}}, testSeed()};
    SCOPED_TRACE(testing::Message()
                 << c << " " << testing::PrintToString(sizes));
    std::vector<Array> inputs = randomInputs(c, sizes, 1);
    World world(c.setting.mesh);
    world.run([&](int64_t rank, cprt_context *context) {
      Tensor in(CPRT_F32, inputs[size_t(rank)]), out(CPRT_F32, sizes);
      Call()
          .in(in)
          .out(out)
          .array(c.setting.axes)
          .run(cprt_all_reduce, context);
      EXPECT_EQ(out.read(), sumFor(c, inputs, rank));
    });
    ASSERT_EQ(world.failures(), "");
    cp::Mesh mesh{{{"a", 2}, {"b", 3}}};
    cp::Layout terms{mesh, {}, {0, 1}}, sums{mesh, {}, {}};
    terms.dims.resize(sizes.size());
    sums.dims.resize(sizes.size());
    cp::Step step{{1, 0}, cp::Partial(), cp::Whole()};
    for (int64_t rank = 0; rank < 6; ++rank)
      EXPECT_EQ(world.counter(rank, "all_reduce", 3).bytes_sent,
                4 * cp::elementsSent(step, terms, sums, sizes, rank))
          << rank;
  }
}

TEST(Reduce, SumsNumbersWithoutDimensions) {
  World world({3});
  world.run([](int64_t rank, cprt_context *context) {
    Array one({});
    one.values[0] = double(rank + 1);
    Tensor in(CPRT_F64, one), out(CPRT_F64, Sizes{});
    Call().array({0}).in(in).out(out).run(cprt_all_reduce, context);
    EXPECT_EQ(out.read().values[0], 6);
  });
  EXPECT_EQ(world.failures(), "");
}

/// Sums that do not commute in floating point: 1e8 + 1 - 1e8 in f32.
TEST(Reduce, AddsInTheOrderOfThePositions) {
  World world({3});
  const double values[] = {1e8, 1, -1e8};
  world.run([&](int64_t rank, cprt_context *context) {
    Array one({1});
    one.values[0] = values[rank];
    Tensor in(CPRT_F32, one), out(CPRT_F32, Sizes{1});
    Call().array({0}).in(in).out(out).run(cprt_all_reduce, context);
    EXPECT_EQ(out.read().values[0], 0);
  });
  World reversed({3});
  const double later[] = {1e8, -1e8, 1};
  reversed.run([&](int64_t rank, cprt_context *context) {
    Array one({1});
    one.values[0] = later[rank];
    Tensor in(CPRT_F32, one), out(CPRT_F32, Sizes{1});
    Call().array({0}).in(in).out(out).run(cprt_all_reduce, context);
    EXPECT_EQ(out.read().values[0], 1);
  });
}

TEST(Reduce, RefusesOtherTypes) {
  for (cprt_dtype dtype : {CPRT_I32, CPRT_I64}) {
    World world({2});
    world.run([&](int64_t, cprt_context *context) {
      Tensor in(dtype, Sizes{2}), out(dtype, Sizes{2});
      Call().array({0}).in(in).out(out).run(cprt_all_reduce, context);
      EXPECT_EQ(cprt_context_status(context), CPRT_UNSUPPORTED);
    });
    World second({2});
    second.run([&](int64_t, cprt_context *context) {
      Tensor in(dtype, Sizes{2}), out(dtype, Sizes{1});
      Call().array({0}).attr(0).attr(0).in(in).out(out).run(cprt_reduce_scatter,
                                                            context);
      EXPECT_EQ(cprt_context_status(context), CPRT_UNSUPPORTED);
    });
  }
}

/// Several tensors, of several types, are one exchange.
TEST(Reduce, SumsSeveralAtOnce) {
  World world({3});
  world.run([](int64_t rank, cprt_context *context) {
    Array one({2, 3}), two({5});
    for (double &value : one.values)
      value = double(rank + 1);
    for (double &value : two.values)
      value = double(10 * rank);
    Tensor a(CPRT_BF16, one), b(CPRT_F64, two);
    Tensor sumOfA(CPRT_BF16, one.sizes), sumOfB(CPRT_F64, two.sizes);
    Call().array({0}).in(a).in(b).out(sumOfA).out(sumOfB).run(cprt_all_reduce,
                                                              context);
    for (double value : sumOfA.read().values)
      EXPECT_EQ(value, 6);
    for (double value : sumOfB.read().values)
      EXPECT_EQ(value, 30);
  });
  ASSERT_EQ(world.failures(), "");
  cprt_counter counter = world.counter(0, "all_reduce", maskOf({0}));
  EXPECT_EQ(counter.calls, 1);
  EXPECT_EQ(counter.bytes_sent, 2 * (6 * 2 + 5 * 8));
}

/// The same of parts, each of its own tensor.
TEST(Reduce, ScattersSeveralAtOnce) {
  World world({2});
  world.run([](int64_t rank, cprt_context *context) {
    Array one({4, 3}), two({4});
    for (size_t i = 0; i < one.values.size(); ++i)
      one.values[i] = double(i) * double(rank + 1);
    for (size_t i = 0; i < two.values.size(); ++i)
      two.values[i] = double(100 * i);
    Tensor a(CPRT_F32, one), b(CPRT_F64, two);
    Tensor partOfA(CPRT_F32, Sizes{2, 3}), partOfB(CPRT_F64, Sizes{2});
    Call().array({0}).attr(0).attr(1).in(a).in(b).out(partOfA).out(partOfB).run(
        cprt_reduce_scatter, context);
    // In zigzag order rank 0 has rows 0 and 3, rank 1 the two between.
    int64_t rows[2] = {rank, 3 - rank};
    for (int64_t i = 0; i < 2; ++i) {
      EXPECT_EQ(partOfB.read().values[size_t(i)], double(200 * rows[i]));
      for (int64_t j = 0; j < 3; ++j)
        EXPECT_EQ(partOfA.read().values[size_t(i * 3 + j)],
                  double(3 * (rows[i] * 3 + j)));
    }
  });
  ASSERT_EQ(world.failures(), "");
  cprt_counter counter = world.counter(0, "reduce_scatter", maskOf({0}));
  EXPECT_EQ(counter.calls, 1);
  EXPECT_EQ(counter.bytes_sent, 6 * 4 + 2 * 8);
}

/// A model has hundreds of gradients, which one call adds up.
TEST(Reduce, SumsAsManyAsAModelHas) {
  World world({2});
  world.run([](int64_t rank, cprt_context *context) {
    std::vector<Tensor> terms, sums;
    for (int i = 0; i < 1000; ++i) {
      Array term({1});
      term.values[0] = double(i + rank);
      terms.emplace_back(CPRT_F32, term);
      sums.emplace_back(CPRT_F32, term.sizes);
    }
    Call call;
    call.array({0});
    for (Tensor &term : terms)
      call.in(term);
    for (Tensor &sum : sums)
      call.out(sum);
    call.run(cprt_all_reduce, context);
    for (int i = 0; i < 1000; ++i)
      EXPECT_EQ(sums[i].read().values[0], 2 * i + 1) << i;
  });
  ASSERT_EQ(world.failures(), "");
}

TEST(Reduce, RefusesOtherCounts) {
  World world({2});
  world.run([](int64_t, cprt_context *context) {
    Tensor a(CPRT_F32, Sizes{2}), b(CPRT_F32, Sizes{2}), c(CPRT_F32, Sizes{2});
    Call().array({0}).in(a).in(b).out(c).run(cprt_all_reduce, context);
    EXPECT_EQ(cprt_context_status(context), CPRT_INVALID_ARGUMENT);
  });
}
