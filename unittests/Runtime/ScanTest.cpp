//===- ScanTest.cpp - The exclusive scan of states ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScanSupport.h"

#include <cstring>

using namespace cp::test;

namespace {

Summaries runScan(World &world, const Sizes &axes, const Summaries &inputs,
                  Algorithm algorithm, const Sample &sample) {
  Summaries results = inputs;
  world.run([&](int64_t rank, cprt_context *context) {
    scan(context, sample, axes, {algorithm}, results.decays[size_t(rank)],
         results.states[size_t(rank)]);
  });
  EXPECT_EQ(world.failures(), "");
  return results;
}

/// What the rank at `position` of `ranks` sends; sizes in elements of `width`
/// bytes.
struct Traffic {
  int64_t position, ranks, states, decays, width;

  int64_t summary() const { return (states + decays) * width; }
  int64_t handedOn() const { return position + 1 < ranks ? summary() : 0; }
  int64_t doubled() const {
    int64_t bytes = 0;
    for (int64_t distance = 1; position + distance < ranks; distance *= 2)
      bytes += summary();
    return bytes + handedOn();
  }
  int64_t transposed() const {
    int64_t slice = states / ranks + (position < states % ranks ? 1 : 0);
    int64_t others = ranks - 1;
    return (states - slice + others * slice + others * decays) * width;
  }
  int64_t bytes(Algorithm algorithm) const {
    switch (algorithm) {
    case Chain:
    case Pipelined:
      return handedOn();
    case Gather:
      return (ranks - 1) * summary();
    case Doubling:
      return doubled();
    case Transposed:
      return transposed();
    }
    return -1;
  }
};

void checkTraffic(RandomCase &c, const World &world, const Sample &sample,
                  Algorithm algorithm) {
  for (int64_t rank = 0; rank < world.size(); ++rank) {
    Member member = c.member(rank);
    Traffic traffic = {member.position, member.size, product(sample.state),
                       product(sample.decay), sample.width()};
    cprt_counter counter =
        world.counter(rank, "scan_state", maskOf(c.setting.axes));
    EXPECT_EQ(counter.bytes_sent, traffic.bytes(algorithm)) << "rank " << rank;
    EXPECT_EQ(counter.calls, 1);
  }
}

/// Not a fold: the sum over earlier positions j of s_j times the decays of the
/// positions between j and this one.
void checkAgainstSum(RandomCase &c, const Summaries &inputs,
                     const Summaries &results, double tolerance) {
  int64_t ranks = product(c.setting.mesh);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Member here = c.member(rank);
    std::vector<size_t> earlier(size_t(here.position), 0);
    for (int64_t peer = 0; peer < ranks; ++peer)
      if (c.member(peer).group == here.group &&
          c.member(peer).position < here.position)
        earlier[size_t(c.member(peer).position)] = size_t(peer);
    size_t decays = inputs.decays[0].values.size();
    size_t states = inputs.states[0].values.size();
    for (size_t i = 0; i < states; ++i) {
      size_t d = i / (states / decays);
      long double after = 1, sum = 0;
      for (size_t j = earlier.size(); j-- > 0;) {
        sum += after * inputs.states[earlier[j]].values[i];
        after *= inputs.decays[earlier[j]].values[d];
      }
      EXPECT_NEAR(results.states[size_t(rank)].values[i], double(sum),
                  tolerance);
      EXPECT_NEAR(results.decays[size_t(rank)].values[d], double(after),
                  tolerance);
    }
  }
}

/// Every algorithm against the sum and its formula of bytes; all but doubling
/// against the chain.
void checkAll(RandomCase &c, Sample sample) {
  SCOPED_TRACE(testing::Message() << "decays " << product(sample.decay)
                                  << ", states " << product(sample.state));
  Summaries inputs = randomSummaries(c, sample, product(c.setting.mesh));
  for (cprt_dtype dtype : {CPRT_F32, CPRT_F64}) {
    sample.dtype = dtype;
    std::vector<Summaries> results;
    for (Algorithm algorithm : algorithms) {
      SCOPED_TRACE(testing::Message() << "algorithm " << algorithm);
      World world(c.setting.mesh);
      results.push_back(
          runScan(world, c.setting.axes, inputs, algorithm, sample));
      checkTraffic(c, world, sample, algorithm);
      checkAgainstSum(c, inputs, results.back(),
                      dtype == CPRT_F32 ? 1e-5 : 1e-12);
      if (algorithm == Doubling)
        continue;
      expectSameBits(results.back().decays, results[Chain].decays);
      expectSameBits(results.back().states, results[Chain].states);
    }
  }
}

} // namespace

TEST(Scan, AllAlgorithmsOnEveryMesh) {
  forEachCase([](RandomCase &c) { checkAll(c, randomSample(c)); });
}

TEST(Scan, AllAlgorithmsOnOneToNineAndSixteenRanks) {
  forEachLine({1, 2, 3, 4, 5, 6, 7, 8, 9, 16},
              [](RandomCase &c) { checkAll(c, randomSample(c)); });
}

/// Most slices of the transposed scan are empty, or all of them.
TEST(Scan, FewerStatesThanRanks) {
  forEachLine({1, 2, 5, 16}, [](RandomCase &c) {
    checkAll(c, {{1}, {1}, false});
    checkAll(c, {{3}, {3, 1}, true});
    checkAll(c, {{2}, {2, 0}, false});
    checkAll(c, {{0}, {0, 4}, false});
  });
}

/// Large enough for several blocks of uneven length in the pipeline, two to
/// seven of them, with cuts inside the states of one decay.
TEST(Scan, StatesOfManyBlocks) {
  forEachLine({5, 16},
              [](RandomCase &c) { checkAll(c, {{7}, {7, 1289}, false}); });
}

/// The table by hand: 64 states and 4 decays of 4 bytes are m = 272 bytes.
TEST(Scan, BytesOfTheFirstRankAreThoseOfTheTable) {
  struct Row {
    int64_t ranks, bytes[5];
  };
  const Row rows[] = {
      {1, {0, 0, 0, 0, 0}},
      {2, {272, 272, 2 * 272, 272, 2 * 256 / 2 + 16}},
      {4, {272, 3 * 272, 3 * 272, 272, 2 * 3 * 256 / 4 + 3 * 16}},
      {5, {272, 4 * 272, 4 * 272, 272, (64 - 13 + 4 * 13 + 4 * 4) * 4}},
      {8, {272, 7 * 272, 4 * 272, 272, 2 * 7 * 256 / 8 + 7 * 16}},
      {9, {272, 8 * 272, 5 * 272, 272, (64 - 8 + 8 * 8 + 8 * 4) * 4}},
      {16, {272, 15 * 272, 5 * 272, 272, 2 * 15 * 256 / 16 + 15 * 16}},
  };
  for (const Row &row : rows)
    for (Algorithm algorithm : algorithms) {
      World world({row.ranks});
      Summaries zeros;
      zeros.decays.assign(size_t(row.ranks), Array({4}));
      zeros.states.assign(size_t(row.ranks), Array({4, 16}));
      runScan(world, {0}, zeros, algorithm, {{4}, {4, 16}, false});
      EXPECT_EQ(world.counter(0, "scan_state", 1).bytes_sent,
                row.bytes[algorithm])
          << row.ranks << " ranks, algorithm " << algorithm;
    }
}

TEST(Scan, RefusesWhatItCannotScan) {
  struct Bad {
    cprt_dtype dtype;
    Sizes decay, state;
    int64_t algorithm;
    cprt_status status;
    const char *text;
  };
  const Bad cases[] = {
      {CPRT_BF16, {2}, {2, 3}, 0, CPRT_UNSUPPORTED, "convert before the scan"},
      {CPRT_I32, {2}, {2, 3}, 0, CPRT_UNSUPPORTED, "convert before the scan"},
      {CPRT_F32, {3}, {2, 3}, 0, CPRT_INVALID_ARGUMENT, "begin the state's"},
      {CPRT_F32,
       {2, 3, 1},
       {2, 3},
       0,
       CPRT_INVALID_ARGUMENT,
       "begin the state's"},
      {CPRT_F32,
       {2},
       {2, 3},
       5,
       CPRT_INVALID_ARGUMENT,
       "attribute 'algorithm' is 5, expected 0 to 4"},
  };
  for (const Bad &bad : cases) {
    World world({2});
    world.run([&](int64_t, cprt_context *context) {
      Tensor decay(bad.dtype, bad.decay), state(bad.dtype, bad.state);
      Tensor outDecay(bad.dtype, bad.decay), outState(bad.dtype, bad.state);
      Call call;
      call.in(decay).in(state).out(outDecay).out(outState);
      call.attr(bad.algorithm).array({0}).attr(0).attr(0).attr(0);
      call.run(cprt_scan_state, context);
      EXPECT_EQ(cprt_context_status(context), bad.status);
      EXPECT_NE(std::strstr(cprt_context_message(context), bad.text), nullptr)
          << cprt_context_message(context);
    });
  }
}

/// Buffers of 2^61 bytes, which make 2^64 over four ranks, and such that one
/// rank's do not fit 63 bits; nobody gets as far as to touch them.
TEST(Scan, SummariesThatNoMemoryHolds) {
  for (int64_t algorithm : algorithms)
    for (int64_t elements : {int64_t(1) << 58, (int64_t(1) << 60) - 2}) {
      std::vector<int64_t> table = {2, 2, 6, 0};
      for (int64_t rank : {1, 2, 1, 2}) {
        Sizes buffer = {CPRT_F64, rank, elements};
        if (rank == 2)
          buffer.push_back(1);
        buffer.insert(buffer.end(), size_t(rank), 1);
        table.insert(table.end(), buffer.begin(), buffer.end());
      }
      table.insert(table.end(), {algorithm, 1, 0, 0, 0, 0});
      double memory[4] = {};
      void *pointers[] = {&memory[0], &memory[1], &memory[2], &memory[3]};
      World world({4}, 100);
      cprt_context *context = world.context(0);
      cprt_scan_state(context, nullptr, table.data(), pointers);
      EXPECT_EQ(cprt_context_status(context), CPRT_OUT_OF_MEMORY)
          << cprt_context_message(context);
      EXPECT_NE(std::strstr(cprt_context_message(context), "use the chain"),
                nullptr);
    }
}
