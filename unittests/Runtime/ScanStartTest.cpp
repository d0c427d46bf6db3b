//===- ScanStartTest.cpp - Sequences that start among the parts -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A decay of -0 says that a sequence starts among a part's tokens. Nothing of a
// state passes it, NaN neither, and the decay of all that it is part of is -0
// too. A decay of 0 is a factor as any other.
//
//===----------------------------------------------------------------------===//

#include "ScanSupport.h"

#include <cmath>
#include <limits>

using namespace cp::test;

namespace {

/// Parts of which some have a start; what is before the last of these is NaN
/// here and there, decays and states.
Summaries drawParts(RandomCase &c, const Sample &sample, int64_t parts) {
  Summaries made = randomSummaries(c, sample, parts);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  int64_t last = -1;
  for (int64_t part = 0; part < parts; ++part) {
    bool starts = c.draw(0, 2) == 0;
    for (double &value : made.decays[size_t(part)].values)
      value = starts ? -0.0 : std::fabs(value);
    if (starts)
      last = part;
  }
  for (int64_t part = 0; part < last; ++part)
    if (c.draw(0, 1)) {
      for (double &value : made.states[size_t(part)].values)
        value = nan;
      bool starts = std::signbit(made.decays[size_t(part)].values.front());
      for (double &value : made.decays[size_t(part)].values)
        value = starts ? value : nan;
    }
  return made;
}

/// Backwards from part `end`, as far as a start: not a fold.
void expectPrefix(const Summaries &parts, int64_t end, const Array &decay,
                  const Array &state, double tolerance) {
  size_t decays = decay.values.size(), states = state.values.size();
  for (size_t i = 0; i < states; ++i) {
    size_t d = i / (states / decays);
    double after = 1, sum = 0;
    bool isStart = false;
    for (int64_t part = end; part-- > 0 && !isStart;) {
      sum += after * parts.states[size_t(part)].values[i];
      double own = parts.decays[size_t(part)].values[d];
      isStart = own == 0 && std::signbit(own);
      after *= own;
    }
    if (std::isnan(sum))
      EXPECT_TRUE(std::isnan(state.values[i])) << i;
    else
      EXPECT_NEAR(state.values[i], sum, tolerance) << i;
    EXPECT_EQ(decay.values[d] == 0 && std::signbit(decay.values[d]), isStart)
        << d;
    if (!isStart && std::isnan(after))
      EXPECT_TRUE(std::isnan(decay.values[d])) << d;
    else
      EXPECT_NEAR(decay.values[d], isStart ? 0 : after, tolerance) << d;
  }
}

void check(RandomCase &c, const Sample &sample, Way way) {
  SCOPED_TRACE(testing::Message()
               << "algorithm " << way.algorithm
               << (way.isReverse ? ", in reverse, " : ", ")
               << (sample.dtype == CPRT_F32 ? "f32" : "f64"));
  int64_t ranks = c.groupSize();
  // In the direction of the scan.
  Summaries parts = drawParts(c, sample, ranks);
  Summaries byRank = way.isReverse ? turned(parts) : parts;
  World world({ranks});
  world.run([&](int64_t rank, cprt_context *context) {
    Array decay = byRank.decays[size_t(rank)],
          state = byRank.states[size_t(rank)];
    Summaries total;
    scan(context, sample, {0}, way, decay, state, &total);
    double tolerance = sample.dtype == CPRT_F32 ? 1e-5 : 1e-12;
    expectPrefix(parts, way.isReverse ? ranks - 1 - rank : rank, decay, state,
                 tolerance);
    expectPrefix(parts, ranks, total.decays[0], total.states[0], tolerance);
  });
  EXPECT_EQ(world.failures(), "");
}

TEST(ScanStart, NothingPassesIt) {
  forEachLine({1, 2, 3, 4, 5, 8}, [](RandomCase &c) {
    for (Algorithm algorithm : algorithms)
      for (bool isReverse : {false, true})
        for (cprt_dtype dtype : {CPRT_F32, CPRT_F64}) {
          Sample sample = randomSample(c);
          sample.dtype = dtype;
          check(c, sample, {algorithm, false, isReverse});
        }
  });
}

} // namespace
