//===- NarrowTest.cpp - bf16 through the runtime --------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomCase.h"

#include <cmath>
#include <cstring>

using namespace cp::test;

namespace {

/// Numbers of many magnitudes that bf16 holds, so that sums are not exact.
Array randomNumbers(const Sizes &sizes, std::mt19937_64 &random) {
  Array array(sizes);
  for (double &value : array.values)
    value = roundedToBF16(
        std::ldexp(double(random() % 2001) - 1000, -int(random() % 12)));
  return array;
}

/// The group's sum in f32, by position, rounded at the end.
Array sumFor(RandomCase &c, const std::vector<Array> &inputs, int64_t rank) {
  Array sum(inputs[0].sizes);
  for (size_t peer = 0; peer < inputs.size(); ++peer)
    if (c.member(int64_t(peer)).group == c.member(rank).group)
      for (size_t i = 0; i < sum.values.size(); ++i)
        sum.values[i] = float(sum.values[i]) + float(inputs[peer].values[i]);
  return sum;
}

void checkSum(RandomCase &c, bool isScattered, Sizes sizes) {
  int64_t g = c.groupSize(), dim = c.draw(0, int64_t(sizes.size()) - 1);
  int64_t order = c.anyOrder();
  bool hasGaps = c.draw(0, 1);
  if (isScattered)
    sizes[size_t(dim)] *= 2 * g;
  std::vector<Array> inputs;
  for (int64_t i = 0; i < product(c.setting.mesh); ++i)
    inputs.push_back(randomNumbers(sizes, c.random));
  World world(c.setting.mesh);
  world.run([&](int64_t rank, cprt_context *context) {
    Array expected = sumFor(c, inputs, rank);
    if (isScattered)
      expected = partOf(expected, dim, order, g, c.member(rank).position);
    // A rank's strides are its own.
    Tensor in(CPRT_BF16, bf16Bits(inputs[size_t(rank)]), hasGaps || rank == 1);
    Tensor out(CPRT_BF16, expected.sizes, hasGaps);
    Call call;
    call.in(in).out(out).array(c.setting.axes);
    if (isScattered)
      call.attr(dim).attr(order);
    call.run(isScattered ? cprt_reduce_scatter : cprt_all_reduce, context);
    for (double &value : expected.values)
      value = roundedToBF16(value);
    EXPECT_EQ(bf16Numbers(out.read()), expected);
    EXPECT_TRUE(out.gapsAreIntact());
  });
  ASSERT_EQ(world.failures(), "");
  const char *op = isScattered ? "reduce_scatter" : "all_reduce";
  expectSumSent(world.counter(0, op, maskOf(c.setting.axes)), isScattered,
                product(sizes), 2, g);
}

} // namespace

TEST(Narrow, AllReduceRoundsOnce) {
  forEachCase([](RandomCase &c) { checkSum(c, false, c.anySizes(3)); });
}

TEST(Narrow, ReduceScatterRoundsOnce) {
  forEachCase([](RandomCase &c) { checkSum(c, true, c.anySizes(3)); });
}

TEST(Narrow, SumsMoreThanATile) {
  for (bool isScattered : {false, true})
    for (const Sizes &sizes : {Sizes{1, 700, 30}, Sizes{70, 300, 1}}) {
      RandomCase c{{{3}, {0}}, testSeed()};
      SCOPED_TRACE(testing::Message() << c);
      checkSum(c, isScattered, sizes);
    }
}

TEST(Narrow, SumsNumbersWithoutDimensions) {
  World world({3});
  const double values[] = {256, 1, 1};
  world.run([&](int64_t rank, cprt_context *context) {
    Array one({});
    one.values[0] = values[rank];
    Tensor in(CPRT_BF16, bf16Bits(one)), out(CPRT_BF16, Sizes{});
    Call().array({0}).in(in).out(out).run(cprt_all_reduce, context);
    // Rounding after each sum would lose both ones.
    EXPECT_EQ(bf16Numbers(out.read()).values[0], 258);
  });
  EXPECT_EQ(world.failures(), "");
}

namespace {

/// A scan of one head with p = 3 and n = 2, cut between ranks.
struct Scan {
  static constexpr int64_t tokens = 12, chunk = 4;
  Array x{{1, tokens, 1, 3}}, dt{{1, tokens, 1}}, aLog{{1}},
      B{{1, tokens, 1, 2}}, C{{1, tokens, 1, 2}};
  const int64_t none = 0;
  int64_t unlimited;

  Scan() {
    std::mt19937_64 random(1);
    for (Array *array : {&x, &dt, &aLog, &B, &C})
      for (double &value : array->values)
        value = roundedToBF16(double(random() % 257) / 128 - 1);
    double infinity = INFINITY;
    std::memcpy(&unlimited, &infinity, sizeof unlimited);
  }

  /// In f64 on one rank, which is the oracle.
  Array whole() {
    World world({1});
    Tensor xs(CPRT_F64, x), dts(CPRT_F64, dt), rate(CPRT_F64, aLog),
        bs(CPRT_F64, B), cs(CPRT_F64, C), y(CPRT_F64, x.sizes),
        state(CPRT_F64, Sizes{1, 1, 3, 2});
    Call call;
    call.in(xs).in(dts).in(rate).in(bs).in(cs).out(y).out(state);
    call.attr(chunk).attr(unlimited).attr(none);
    call.run(cprt_ssd, world.context(0));
    EXPECT_EQ(world.failures(), "");
    return y.read();
  }

  /// One rank's part, in bf16 with f32 between the halves.
  Array part(int64_t rank, int64_t ranks, cprt_context *context) {
    auto cut = [&](const Array &array) {
      return Tensor(CPRT_BF16, bf16Bits(partOf(array, 1, 0, ranks, rank)));
    };
    int64_t length = tokens / ranks;
    Tensor xs = cut(x), dts = cut(dt), bs = cut(B), cs = cut(C),
           rate(CPRT_BF16, bf16Bits(aLog)), y(CPRT_BF16, xs.sizes);
    auto sums = [](Sizes sizes) { return Tensor(CPRT_F32, sizes); };
    Tensor decay = sums({1, 1}), state = sums({1, 1, 3, 2}),
           chunks = sums({1, (length + chunk - 1) / chunk, 1, 3, 2}),
           delta = sums({1, length, 1}), prefixDecay = decay,
           prefixState = state, last = state;
    Call states, scan;
    states.in(xs).in(dts).in(rate).in(bs);
    states.out(decay).out(state).out(chunks).out(delta);
    states.attr(chunk).attr(unlimited).attr(none);
    states.run(cprt_ssd_states, context);
    Call prefix;
    prefix.in(decay).in(state).out(prefixDecay).out(prefixState).attr(none);
    prefix.array({0}).attr(0).attr(0).attr(0).run(cprt_scan_state, context);
    scan.in(xs).in(rate).in(bs).in(cs).none().in(chunks).in(delta);
    scan.in(prefixDecay).in(prefixState).out(y).out(last);
    scan.attr(chunk).run(cprt_ssd_scan, context);
    return bf16Numbers(y.read());
  }
};

/// What the ranks of a world compute, with `part` rank by rank.
std::vector<Array> partsOf(Scan &scan, int64_t ranks, cprt_kernel_set kernels) {
  World world({ranks}, 0, kernels);
  std::vector<Array> parts(size_t(ranks), Array(Sizes{0}));
  world.run([&](int64_t rank, cprt_context *context) {
    parts[size_t(rank)] = scan.part(rank, ranks, context);
  });
  EXPECT_EQ(world.failures(), "");
  return parts;
}

} // namespace

/// However many ranks share a scan, y of reference kernels is off by its own
/// rounding alone.
TEST(Narrow, SplitScansRoundOnlyTheirOutputs) {
  Scan scan;
  Array oracle = scan.whole();
  for (int64_t ranks : {1, 2, 3, 4}) {
    SCOPED_TRACE(testing::Message() << ranks << " ranks");
    std::vector<Array> parts = partsOf(scan, ranks, CPRT_KERNELS_REFERENCE);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const Array &y = parts[size_t(rank)];
      Array expected = partOf(oracle, 1, 0, ranks, rank);
      for (size_t i = 0; i < y.values.size(); ++i)
        EXPECT_NEAR(y.values[i], expected.values[i],
                    std::fabs(expected.values[i]) / 256 + 1e-5);
    }
  }
}

/// Fast kernels may round the factors of a term twice more. A rounding's mean
/// square over a binade is (2^-8)^2 / 6, so that all three together move y by
/// (1 / 2)^(1 / 2) 2^-8 in the mean.
TEST(Narrow, SplitScansOfFastKernelsRoundFactorsToo) {
  Scan scan;
  Array oracle = scan.whole();
  for (int64_t ranks : {1, 2, 3, 4}) {
    SCOPED_TRACE(testing::Message() << ranks << " ranks");
    std::vector<Array> parts = partsOf(scan, ranks, CPRT_KERNELS_FAST);
    double errors = 0, squares = 0;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Array expected = partOf(oracle, 1, 0, ranks, rank);
      for (size_t i = 0; i < expected.values.size(); ++i) {
        double error = parts[size_t(rank)].values[i] - expected.values[i];
        errors += error * error;
        squares += expected.values[i] * expected.values[i];
      }
    }
    EXPECT_LE(std::sqrt(errors / squares), 1.0 / 256);
  }
}
