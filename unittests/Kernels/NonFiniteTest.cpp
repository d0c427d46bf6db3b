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

#include "OpCalls.h"
#include "SsdParts.h"

#include <algorithm>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

/// What the plain kernels do not read at all, of which the others need not
/// make the same: chunk states are for kernels that work by chunks.
bool isRead(const OpCall &call, size_t input) {
  return std::string(call.op) != "ssd_scan" || input != 5;
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
