//===- NonFiniteTest.cpp - NaN and infinities reach what they should ------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An input that is NaN or infinite spoils what depends on it and nothing else,
// above all no earlier token: a product with 0 hides numbers only. The plain
// kernels go token by token, so that nothing can leak there; the elements that
// are not finite must be the same.
//
//===----------------------------------------------------------------------===//

#include "SsdParts.h"

#include <algorithm>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

struct OpCall {
  const char *op;
  std::vector<std::vector<int64_t>> ins, outs;
  std::vector<int64_t> attrs;
  /// The inputs and outputs from here on are of the type that sums.
  size_t firstSumIn = SIZE_MAX, firstSumOut = SIZE_MAX;
};

const int64_t inf = bitsOf(std::numeric_limits<double>::infinity());

std::vector<OpCall> allCalls() {
  std::vector<OpCall> calls = {
      {"matmul", {{70, 33}, {45, 33}}, {{70, 45}}, {0, 1}},
      {"matmul", {{3, 33}, {33, 45}}, {{3, 45}}, {0, 0}},
      {"conv1d",
       {{2, 70, 37}, {37, 4}, {37}, {2, 3, 37}},
       {{2, 70, 37}},
       {1, 1, 1}},
      {"rms_norm",
       {{20, 66}, {66}, {20, 66}},
       {{20, 66}},
       {bitsOf(1e-5), 1, 2, 1, 1}},
  };
  for (int64_t chunk : {16, 64, 100}) {
    int64_t l = 150, chunks = (l + chunk - 1) / chunk;
    calls.push_back({"ssd",
                     {{1, l, 4, 33},
                      {1, l, 4},
                      {4},
                      {1, l, 2, 17},
                      {1, l, 2, 17},
                      {4},
                      {4},
                      {1, 4, 33, 17}},
                     {{1, l, 4, 33}, {1, 4, 33, 17}},
                     {chunk, inf, 0, 1, 1, 1}});
    calls.push_back(
        {"ssd_states",
         {{1, l, 4, 33}, {1, l, 4}, {4}, {1, l, 2, 17}},
         {{1, 4}, {1, 4, 33, 17}, {1, chunks, 4, 33, 17}, {1, l, 4}},
         {chunk, inf, 0, 0},
         SIZE_MAX,
         0});
  }
  // With chunks that fit a tile, chunk states say what x and B come to; see
  // TwoPartsSpoilWhatTheWholeSpoils.
  calls.push_back({"ssd_scan",
                   {{1, 150, 4, 33},
                    {4},
                    {1, 150, 2, 17},
                    {1, 150, 2, 17},
                    {1, 2, 4, 33, 17},
                    {1, 150, 4},
                    {1, 4},
                    {1, 4, 33, 17}},
                   {{1, 150, 4, 33}, {1, 4, 33, 17}},
                   {100, 0, 0},
                   4,
                   1});
  for (int64_t window : {0, 70})
    calls.push_back({"attention",
                     {{1, 150, 4, 20}, {1, 150, 2, 20}, {1, 150, 2, 10}},
                     {{1, 150, 4, 10}, {1, 4, 150}},
                     {1, bitsOf(0.2), window, 3, 0, 150, 1, 3, 0, 150, 1},
                     SIZE_MAX,
                     1});
  return calls;
}

/// Tensors of T, and from `firstSum` on of the type that sums.
template <typename T> struct Tensors {
  std::vector<Tensor<T>> values;
  std::vector<Tensor<AccumulatorOf<T>>> sums;

  Tensors(const std::vector<std::vector<int64_t>> &sizes, size_t firstSum,
          uint64_t seed) {
    Random random(seed);
    for (size_t i = 0; i < sizes.size(); ++i)
      if (i < firstSum)
        values.emplace_back(sizes[i], Lay::Dense, random).fill(random, -1, 1);
      else
        sums.emplace_back(sizes[i], Lay::Dense, random).fill(random, 0.1, 1);
  }
  size_t size() const { return values.size() + sums.size(); }
  int64_t count(size_t i) const {
    return i < values.size() ? values[i].count()
                             : sums[i - values.size()].count();
  }
  void set(size_t i, int64_t at, float value) {
    if (i < values.size())
      values[i][at] = T(value);
    else
      sums[i - values.size()][at] = value;
  }
  double get(size_t i, int64_t at) {
    return i < values.size() ? double(AccumulatorOf<T>(values[i][at]))
                             : double(sums[i - values.size()][at]);
  }
  std::vector<Buffer> buffers() {
    std::vector<Buffer> all;
    for (Tensor<T> &tensor : values)
      all.push_back(tensor.buffer());
    for (Tensor<AccumulatorOf<T>> &tensor : sums)
      all.push_back(tensor.buffer());
    return all;
  }
};

/// One number of one input of a call becomes `value`.
struct Spoiled {
  size_t input;
  int64_t at;
  float value;
};

template <typename T>
Tensors<T> resultsOf(const OpCall &call, const Implementation &implementation,
                     const Spoiled &spoiled) {
  Tensors<T> ins(call.ins, call.firstSumIn, 5);
  Tensors<T> outs(call.outs, call.firstSumOut, 6);
  ins.set(spoiled.input, spoiled.at, spoiled.value);
  EXPECT_EQ(run(implementation.find(call.op, Element<T>::dtype), ins.buffers(),
                outs.buffers(), call.attrs),
            "");
  return outs;
}

/// What the plain kernels do not read at all, of which the others need not
/// make the same: chunk states are for kernels that work by chunks.
bool isRead(const OpCall &call, size_t input) {
  return std::string(call.op) != "ssd_scan" || input != 4;
}

template <typename T> class NonFiniteTest : public testing::Test {};
using Floats = testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(NonFiniteTest, Floats);

TYPED_TEST(NonFiniteTest, ReachesWhatDependsOnItAndNothingElse) {
  const std::vector<Implementation> &all = implementations();
  for (uint64_t seed = 0; seed < 40; ++seed)
    for (const OpCall &call : allCalls()) {
      Random random(seed);
      Spoiled spoiled = {};
      do
        spoiled.input = size_t(pick(random, 0, int64_t(call.ins.size()) - 1));
      while (!isRead(call, spoiled.input));
      int64_t count = 1;
      for (int64_t size : call.ins[spoiled.input])
        count *= size;
      spoiled.at = pick(random, 0, count - 1);
      // Sums of infinities may be NaN or not, as their order is; of NaN not.
      spoiled.value = std::numeric_limits<float>::quiet_NaN();
      SCOPED_TRACE(testing::Message()
                   << "seed " << seed << ", " << call.op << " input "
                   << spoiled.input << " at " << spoiled.at);
      Tensors<TypeParam> expected = resultsOf<TypeParam>(call, all[0], spoiled);
      for (size_t k = 1; k < all.size(); ++k) {
        SCOPED_TRACE(all[k].name);
        Tensors<TypeParam> got = resultsOf<TypeParam>(call, all[k], spoiled);
        for (size_t i = 0; i < got.size(); ++i)
          for (int64_t at = 0; at < got.count(i); ++at)
            ASSERT_EQ(std::isfinite(got.get(i, at)),
                      std::isfinite(expected.get(i, at)))
                << "result " << i << " at " << at;
      }
    }
}

/// Infinite activations spoil no earlier token either.
TYPED_TEST(NonFiniteTest, InfinitiesReachNoEarlierToken) {
  for (const OpCall &call : allCalls()) {
    bool isSequence = call.ins[0].size() > 2 && call.ins[0][1] == 150;
    if (!isSequence || std::string(call.op) == "ssd_states")
      continue;
    for (int64_t token : {0, 5, 63, 64, 100, 149})
      for (size_t input = 0; input < call.ins.size(); ++input) {
        if (call.ins[input].size() < 3 || call.ins[input][1] != 150)
          continue;
        int64_t perToken = 1;
        for (size_t i = 2; i < call.ins[input].size(); ++i)
          perToken *= call.ins[input][i];
        Spoiled spoiled = {input, token * perToken + perToken / 2, INFINITY};
        for (const Implementation &implementation : implementations()) {
          SCOPED_TRACE(testing::Message()
                       << call.op << " " << implementation.name << " input "
                       << input << " at token " << token);
          Tensors<TypeParam> got =
              resultsOf<TypeParam>(call, implementation, spoiled);
          int64_t before = got.count(0) / 150 * token;
          for (int64_t at = 0; at < before; ++at)
            ASSERT_TRUE(std::isfinite(got.get(0, at))) << at;
        }
      }
  }
}

/// The state carries NaN from part to part.
TYPED_TEST(NonFiniteTest, TwoPartsSpoilWhatTheWholeSpoils) {
  using T = TypeParam;
  const std::vector<Implementation> &all = implementations();
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    SsdProblem<T> problem(pickShape(random), Fading(seed % 3), random);
    Tensor<T> *inputs[] = {&problem.x, &problem.dt, &problem.aLog,
                           &problem.B, &problem.C,  &problem.initial};
    Tensor<T> &input = *inputs[pick(random, 0, 5)];
    input[pick(random, 0, input.count() - 1)] =
        T(std::numeric_limits<float>::quiet_NaN());
    int64_t cut = pick(random, 0, problem.s.l);
    auto spoiled = [&] {
      std::vector<bool> result;
      for (int64_t i = 0; i < problem.y.count(); ++i)
        result.push_back(!std::isfinite(double(problem.y[i])));
      return result;
    };
    ASSERT_EQ(problem.run(all[0].find("ssd", Element<T>::dtype)), "");
    std::vector<bool> expected = spoiled();
    for (const Implementation &implementation : all) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", cut at " << cut
                                      << ", " << implementation.name);
      runInParts(problem, cut, implementation, random);
      ASSERT_EQ(spoiled(), expected);
    }
  }
}

} // namespace
