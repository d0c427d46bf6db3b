//===- ScanTotalTest.cpp - The sum of all summaries on every rank ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The total is, bit by bit, the prefix that one more part would start from.
//
//===----------------------------------------------------------------------===//

#include "ScanSupport.h"

using namespace cp::test;

namespace {

/// The prefix of a part behind all others, each on a rank of its own.
Summaries expectedTotal(Summaries inputs, const Sample &sample, Way way) {
  if (way.isReverse)
    inputs = turned(inputs);
  inputs.decays.emplace_back(sample.decay);
  inputs.states.emplace_back(sample.state);
  Summaries prefix;
  World world({int64_t(inputs.decays.size())});
  world.run([&](int64_t rank, cprt_context *context) {
    Array decay = inputs.decays[size_t(rank)],
          state = inputs.states[size_t(rank)];
    scan(context, sample, {0}, {way.algorithm}, decay, state);
    if (rank + 1 == world.size())
      prefix = {{decay}, {state}};
  });
  EXPECT_EQ(world.failures(), "");
  return prefix;
}

/// What a rank brings, of one part or two.
Array broughtBy(const std::vector<Array> &parts, Way way, int64_t ranks,
                int64_t rank) {
  Array first = parts[size_t(rank)];
  return way.isZigzag ? inTurn(first, parts[size_t(2 * ranks - 1 - rank)])
                      : first;
}

/// What a rank sends more.
int64_t moreBytes(Way way, const Sample &sample, int64_t ranks, int64_t rank) {
  int64_t states = product(sample.state), last = ranks - 1;
  if (way.isZigzag || way.isReverse)
    last = 0;
  switch (way.algorithm) {
  case Gather:
    return 0;
  case Transposed:
    return (ranks - 1) * sample.width() *
           (states / ranks + (rank < states % ranks ? 1 : 0));
  default:
    return rank == last ? (ranks - 1) * sample.bytes() : 0;
  }
}

/// The prefixes with and without a total; bytes by rank come back.
std::vector<int64_t> run(const Summaries &inputs, const Sample &sample, Way way,
                         int64_t ranks, std::vector<Summaries> *totals,
                         std::vector<Summaries> &prefixes) {
  World world({ranks});
  world.run([&](int64_t rank, cprt_context *context) {
    Array decay = broughtBy(inputs.decays, way, ranks, rank);
    Array state = broughtBy(inputs.states, way, ranks, rank);
    scan(context, sample, {0}, way, decay, state,
         totals ? &(*totals)[size_t(rank)] : nullptr);
    prefixes[size_t(rank)] = {{decay}, {state}};
  });
  EXPECT_EQ(world.failures(), "");
  std::vector<int64_t> bytes;
  for (int64_t rank = 0; rank < ranks; ++rank)
    bytes.push_back(world.counter(rank, "scan_state", 1).bytes_sent);
  return bytes;
}

void checkTotal(RandomCase &c, const Sample &sample, Way way) {
  SCOPED_TRACE(testing::Message() << "algorithm " << way.algorithm
                                  << (way.isZigzag ? ", zigzag" : "")
                                  << (way.isReverse ? ", in reverse" : ""));
  int64_t ranks = c.groupSize();
  Summaries inputs =
      randomSummaries(c, sample, way.isZigzag ? 2 * ranks : ranks);
  Summaries expected = expectedTotal(inputs, sample, way);
  auto size = size_t(ranks);
  std::vector<Summaries> totals(size), prefixes(size), plain(size);
  std::vector<int64_t> bytes =
      run(inputs, sample, way, ranks, &totals, prefixes);
  std::vector<int64_t> without =
      run(inputs, sample, way, ranks, nullptr, plain);
  for (size_t rank = 0; rank < size; ++rank) {
    SCOPED_TRACE(testing::Message() << "rank " << rank);
    expectSameBits(totals[rank].decays, expected.decays);
    expectSameBits(totals[rank].states, expected.states);
    expectSameBits(prefixes[rank].decays, plain[rank].decays);
    expectSameBits(prefixes[rank].states, plain[rank].states);
    EXPECT_EQ(bytes[rank] - without[rank],
              moreBytes(way, sample, ranks, int64_t(rank)));
  }
}

} // namespace

TEST(ScanTotal, IsWhatOneMorePartWouldStartFrom) {
  forEachLine({1, 2, 3, 4, 5, 8}, [](RandomCase &c) {
    Sample sample = randomSample(c);
    sample.dtype = c.draw(0, 1) ? CPRT_F32 : CPRT_F64;
    for (Algorithm algorithm : algorithms)
      for (bool isZigzag : {false, true})
        for (bool isReverse : {false, true})
          checkTotal(c, sample, {algorithm, isZigzag, isReverse});
  });
}

/// Several blocks of a pipeline.
TEST(ScanTotal, OfManyStates) {
  forEachLine({3}, [](RandomCase &c) {
    for (Algorithm algorithm : algorithms)
      for (bool isZigzag : {false, true})
        checkTotal(c, {{2}, {2, 40000}, false}, {algorithm, isZigzag, false});
  });
}

TEST(ScanTotal, HasTheSizeOfOnePart) {
  World world({2});
  world.run([&](int64_t, cprt_context *context) {
    Tensor decay(CPRT_F32, Sizes{4}), state(CPRT_F32, {4, 3});
    Tensor outDecay(CPRT_F32, Sizes{4}), outState(CPRT_F32, {4, 3});
    Tensor totalDecay(CPRT_F32, Sizes{2}), totalState(CPRT_F32, {4, 3});
    Call call;
    call.in(decay).in(state).out(outDecay).out(outState);
    call.out(totalDecay).out(totalState);
    call.attr(0).array({0}).attr(1).attr(0).attr(1);
    call.run(cprt_scan_state, context);
    EXPECT_EQ(cprt_context_status(context), CPRT_INVALID_ARGUMENT);
    std::string message = cprt_context_message(context);
    EXPECT_NE(message.find("f32[4, 3], expected f32[2, 3]"), std::string::npos)
        << message;
  });
}
