//===- ScanSupport.cpp - What the tests of scans share --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScanSupport.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace cp::test {

Sample randomSample(RandomCase &c) {
  Sample sample = {c.anySizes(2), {}, c.draw(0, 1) == 1};
  sample.state = sample.decay;
  sample.state.push_back(c.draw(1, 5));
  sample.state.push_back(c.draw(1, 5));
  return sample;
}

Summaries randomSummaries(RandomCase &c, const Sample &sample, int64_t parts) {
  Summaries made;
  std::uniform_real_distribution<double> decay(0.2, 1), state(-1, 1);
  for (int64_t part = 0; part < parts; ++part) {
    made.decays.emplace_back(sample.decay);
    made.states.emplace_back(sample.state);
    for (double &value : made.decays.back().values)
      value = c.draw(0, 7) ? decay(c.random) : (c.draw(0, 1) ? -0.0 : 0.0);
    for (double &value : made.states.back().values)
      value = c.draw(0, 7) ? state(c.random) : (c.draw(0, 1) ? -0.0 : 0.0);
  }
  return made;
}

void scan(cprt_context *context, const Sample &sample, const Sizes &axes,
          Way way, Array &decays, Array &states, Summaries *total) {
  Tensor decay(sample.dtype, decays, sample.hasGaps);
  Tensor state(sample.dtype, states, sample.hasGaps);
  Tensor outDecay(sample.dtype, decays.sizes, sample.hasGaps);
  Tensor outState(sample.dtype, states.sizes, sample.hasGaps);
  Call call;
  call.in(decay).in(state).out(outDecay).out(outState);
  Tensor totalDecay(sample.dtype, sample.decay, sample.hasGaps);
  Tensor totalState(sample.dtype, sample.state, sample.hasGaps);
  if (total)
    call.out(totalDecay).out(totalState);
  call.attr(way.algorithm).array(axes).attr(way.isZigzag).attr(way.isReverse);
  call.attr(total != nullptr).run(cprt_scan_state, context);
  // The results must not depend on what becomes of the operands.
  state.write(Array(state.sizes));
  decay.write(Array(decay.sizes));
  EXPECT_TRUE(outDecay.gapsAreIntact() && outState.gapsAreIntact());
  decays = outDecay.read();
  states = outState.read();
  if (!total)
    return;
  EXPECT_TRUE(totalDecay.gapsAreIntact() && totalState.gapsAreIntact());
  *total = {{totalDecay.read()}, {totalState.read()}};
}

Summaries turned(Summaries summaries) {
  std::reverse(summaries.decays.begin(), summaries.decays.end());
  std::reverse(summaries.states.begin(), summaries.states.end());
  return summaries;
}

Array inTurn(Array first, Array second) {
  Sizes sizes = first.sizes;
  sizes[0] *= 2;
  Array both(sizes);
  forEachIndex(sizes, [&](const Sizes &index) {
    Sizes at = index;
    at[0] /= 2;
    both.at(index) = (index[0] % 2 ? second : first).at(at);
  });
  return both;
}

Array everySecond(Array both, int64_t slot) {
  Sizes sizes = both.sizes;
  sizes[0] /= 2;
  Array one(sizes);
  forEachIndex(sizes, [&](const Sizes &index) {
    Sizes at = index;
    at[0] = 2 * at[0] + slot;
    one.at(index) = both.at(at);
  });
  return one;
}

void expectSameBits(const std::vector<Array> &a, const std::vector<Array> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t part = 0; part < a.size(); ++part) {
    size_t bytes = a[part].values.size() * sizeof(double);
    EXPECT_EQ(a[part], b[part]) << "part " << part;
    EXPECT_TRUE(!bytes || !std::memcmp(a[part].values.data(),
                                       b[part].values.data(), bytes))
        << "part " << part;
  }
}

void forEachLine(const Sizes &lengths,
                 const std::function<void(RandomCase &)> &body) {
  uint64_t seed = testSeed();
  const bool onlyOne = std::getenv("CP_TEST_ONE_LINE") != nullptr;
  for (int64_t ranks :
       onlyOne ? Sizes{lengths[seed % lengths.size()]} : lengths) {
    RandomCase c{{{ranks}, {0}}, seed};
    SCOPED_TRACE(testing::Message() << c);
    body(c);
    if (testing::Test::HasFailure())
      return;
  }
}

} // namespace cp::test
