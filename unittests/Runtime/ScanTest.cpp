//===- ScanTest.cpp - The exclusive scan of states ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomCase.h"

#include <cmath>

using namespace cp::test;

namespace {

/// All ranks' summaries, by rank.
struct Summaries {
  std::vector<Array> decays, states;
};

Summaries randomSummaries(RandomCase &c, const Sizes &decaySizes,
                          const Sizes &stateSizes) {
  Summaries made;
  std::uniform_real_distribution<double> decay(0.2, 1), state(-1, 1);
  for (int64_t rank = 0; rank < product(c.setting.mesh); ++rank) {
    made.decays.emplace_back(decaySizes);
    made.states.emplace_back(stateSizes);
    for (double &value : made.decays.back().values)
      value = decay(c.random);
    for (double &value : made.states.back().values)
      value = state(c.random);
  }
  return made;
}

struct Results {
  std::vector<Array> decays, states;
};

Results runScan(RandomCase &c, const Summaries &inputs, int64_t algorithm,
                cprt_dtype dtype, bool hasGaps, int64_t bytesPerRank) {
  World world(c.setting.mesh);
  Results results = {inputs.decays, inputs.states};
  world.run([&](int64_t rank, cprt_context *context) {
    Tensor decay(dtype, inputs.decays[size_t(rank)], hasGaps);
    Tensor state(dtype, inputs.states[size_t(rank)], hasGaps);
    Tensor outDecay(dtype, decay.sizes, hasGaps);
    Tensor outState(dtype, state.sizes, hasGaps);
    Call call;
    call.in(decay).in(state).out(outDecay).out(outState);
    call.attr(algorithm).array(c.setting.axes).run(cprt_scan_state, context);
    state.write(Array(state.sizes));
    decay.write(Array(decay.sizes));
    results.decays[size_t(rank)] = outDecay.read();
    results.states[size_t(rank)] = outState.read();
  });
  EXPECT_EQ(world.failures(), "");
  int64_t g = c.groupSize();
  for (int64_t rank = 0; rank < world.size(); ++rank) {
    bool isLast = c.place(rank).position == g - 1;
    int64_t takers = algorithm == 1 ? g - 1 : (isLast ? 0 : 1);
    EXPECT_EQ(
        world.counter(rank, "scan_state", maskOf(c.setting.axes)).bytes_sent,
        takers * bytesPerRank);
  }
  return results;
}

/// Not a fold: the sum over earlier positions j of s_j times the decays of the
/// positions between j and this one.
void checkAgainstSum(RandomCase &c, const Summaries &inputs,
                     const Results &results, double tolerance) {
  int64_t ranks = product(c.setting.mesh);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Place here = c.place(rank);
    std::vector<int64_t> earlier(size_t(here.position), 0);
    for (int64_t peer = 0; peer < ranks; ++peer)
      if (c.place(peer).group == here.group &&
          c.place(peer).position < here.position)
        earlier[size_t(c.place(peer).position)] = peer;
    size_t decays = inputs.decays[0].values.size();
    size_t inner = inputs.states[0].values.size() / decays;
    for (size_t i = 0; i < decays * inner; ++i) {
      long double after = 1, sum = 0;
      for (size_t j = earlier.size(); j-- > 0;) {
        sum += after * inputs.states[size_t(earlier[j])].values[i];
        after *= inputs.decays[size_t(earlier[j])].values[i / inner];
      }
      EXPECT_NEAR(results.states[size_t(rank)].values[i], double(sum),
                  tolerance);
      EXPECT_NEAR(results.decays[size_t(rank)].values[i / inner], double(after),
                  tolerance);
    }
  }
}

} // namespace

TEST(Scan, ChainAndGatherAgreeBitByBitAndWithTheSum) {
  forEachCase([](RandomCase &c) {
    Sizes decaySizes = c.anySizes(2), stateSizes = decaySizes;
    stateSizes.push_back(c.draw(1, 5));
    stateSizes.push_back(c.draw(1, 5));
    bool hasGaps = c.draw(0, 1);
    for (cprt_dtype dtype : {CPRT_F32, CPRT_F64}) {
      Summaries inputs = randomSummaries(c, decaySizes, stateSizes);
      int64_t bytes = (product(decaySizes) + product(stateSizes)) *
                      int64_t(cprt_dtype_size(dtype));
      Results chain = runScan(c, inputs, 0, dtype, hasGaps, bytes);
      Results gather = runScan(c, inputs, 1, dtype, hasGaps, bytes);
      EXPECT_EQ(chain.decays, gather.decays);
      EXPECT_EQ(chain.states, gather.states);
      checkAgainstSum(c, inputs, chain, dtype == CPRT_F32 ? 1e-5 : 1e-13);
    }
  });
}

TEST(Scan, RefusesWhatItCannotScan) {
  struct Bad {
    cprt_dtype dtype;
    Sizes decay, state;
    cprt_status status;
  };
  const Bad cases[] = {
      {CPRT_BF16, {2}, {2, 3}, CPRT_UNSUPPORTED},
      {CPRT_I32, {2}, {2, 3}, CPRT_UNSUPPORTED},
      {CPRT_F32, {3}, {2, 3}, CPRT_INVALID_ARGUMENT},
      {CPRT_F32, {2, 3, 1}, {2, 3}, CPRT_INVALID_ARGUMENT},
  };
  for (const Bad &bad : cases) {
    World world({2});
    world.run([&](int64_t, cprt_context *context) {
      Tensor decay(bad.dtype, bad.decay), state(bad.dtype, bad.state);
      Tensor outDecay(bad.dtype, bad.decay), outState(bad.dtype, bad.state);
      Call call;
      call.in(decay).in(state).out(outDecay).out(outState);
      call.attr(int64_t(0)).array({0}).run(cprt_scan_state, context);
      EXPECT_EQ(cprt_context_status(context), bad.status);
    });
  }
}
