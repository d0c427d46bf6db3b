//===- ZigzagScanTest.cpp - The scan over two parts of a rank -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R ranks in zigzag order against 2R ranks in contiguous order, which ScanTest
// holds against a sum: the bits must be the same, for each algorithm.
//
//===----------------------------------------------------------------------===//

#include "ScanSupport.h"

#include <cstring>

using namespace cp::test;

namespace {

/// The same scan by a rank for each part.
Summaries scanContiguous(const Summaries &inputs, const Sample &sample,
                         Way way) {
  Summaries results = inputs;
  World world({int64_t(inputs.decays.size())});
  world.run([&](int64_t rank, cprt_context *context) {
    scan(context, sample, {0}, way, results.decays[size_t(rank)],
         results.states[size_t(rank)]);
  });
  EXPECT_EQ(world.failures(), "");
  return results;
}

/// Each group scans the same summaries, which come back part by part.
std::vector<Summaries> scanZigzag(RandomCase &c, World &world,
                                  const Summaries &inputs, const Sample &sample,
                                  Algorithm algorithm, bool isReverse = false) {
  std::vector<Summaries> results(size_t(c.numGroups()), inputs);
  world.run([&](int64_t rank, cprt_context *context) {
    Member member = c.member(rank);
    size_t first = size_t(member.position);
    size_t second = size_t(2 * member.size - 1) - first;
    Array decays = inTurn(inputs.decays[first], inputs.decays[second]);
    Array states = inTurn(inputs.states[first], inputs.states[second]);
    scan(context, sample, c.setting.axes, {algorithm, true, isReverse}, decays,
         states);
    Summaries &result = results[size_t(member.group)];
    for (int64_t slot : {0, 1}) {
      result.decays[slot ? second : first] = everySecond(decays, slot);
      result.states[slot ? second : first] = everySecond(states, slot);
    }
  });
  EXPECT_EQ(world.failures(), "");
  return results;
}

/// Counts, pair by pair, the summaries that go from one rank to another.
class Traffic {
public:
  Traffic(int64_t ranks, int64_t position) : ranks(ranks), position(position) {}

  int64_t bytes(Algorithm algorithm, const Sample &sample) const {
    if (algorithm == Gather)
      return 2 * (ranks - 1) * sample.bytes();
    if (algorithm == Transposed)
      return transposed(product(sample.state), product(sample.decay)) *
             sample.width();
    int64_t summaries = sent(1);
    for (int64_t k = 1; algorithm == Doubling && k < 2 * ranks; k *= 2)
      summaries += sent(k);
    return summaries * sample.bytes();
  }

private:
  int64_t ownerOf(int64_t part) const {
    return part < ranks ? part : 2 * ranks - 1 - part;
  }
  /// When each part sends to the one `distance` further on.
  int64_t sent(int64_t distance) const {
    int64_t count = 0;
    for (int64_t part = 0; part + distance < 2 * ranks; ++part)
      count +=
          ownerOf(part) == position && ownerOf(part + distance) != position;
    return count;
  }
  /// Its states but its own slice, then its slice of the others' prefixes.
  int64_t transposed(int64_t states, int64_t decays) const {
    int64_t slice = states / ranks + (position < states % ranks ? 1 : 0);
    int64_t others = ranks - 1;
    return 2 * (states - slice) + 2 * others * slice + 2 * others * decays;
  }

  int64_t ranks, position;
};

/// A rank's parts come in the same order whichever way the scan goes, so it
/// sends the same.
void checkAll(RandomCase &c, Sample sample) {
  SCOPED_TRACE(testing::Message() << "decays " << product(sample.decay)
                                  << ", states " << product(sample.state));
  Summaries inputs = randomSummaries(c, sample, 2 * c.groupSize());
  for (cprt_dtype dtype : {CPRT_F32, CPRT_F64}) {
    sample.dtype = dtype;
    bool isReverse = c.draw(0, 1);
    Summaries first = isReverse ? turned(inputs) : inputs;
    Summaries chain = scanContiguous(first, sample, {Chain});
    Summaries doubling = scanContiguous(first, sample, {Doubling});
    for (Algorithm algorithm : algorithms) {
      SCOPED_TRACE(testing::Message() << "algorithm " << algorithm
                                      << (isReverse ? " in reverse" : ""));
      World world(c.setting.mesh);
      Summaries expected = algorithm == Doubling ? doubling : chain;
      if (isReverse)
        expected = turned(expected);
      for (const Summaries &result :
           scanZigzag(c, world, inputs, sample, algorithm, isReverse)) {
        expectSameBits(result.decays, expected.decays);
        expectSameBits(result.states, expected.states);
      }
      for (int64_t rank = 0; rank < world.size(); ++rank) {
        Member member = c.member(rank);
        cprt_counter counter =
            world.counter(rank, "scan_state", maskOf(c.setting.axes));
        EXPECT_EQ(
            counter.bytes_sent,
            Traffic(member.size, member.position).bytes(algorithm, sample));
        EXPECT_EQ(counter.calls, 1);
      }
    }
  }
}

} // namespace

TEST(ZigzagScan, AllAlgorithmsOnEveryMesh) {
  forEachCase([](RandomCase &c) { checkAll(c, randomSample(c)); });
}

TEST(ZigzagScan, AllAlgorithmsOnOneToNineRanks) {
  forEachLine({1, 2, 3, 4, 5, 6, 7, 8, 9},
              [](RandomCase &c) { checkAll(c, randomSample(c)); });
}

/// Blocks of uneven length, fewer and more of them than steps between a rank's
/// two parts; and slices that are empty.
TEST(ZigzagScan, ManyBlocksAndFewStates) {
  forEachLine({2, 5, 8}, [](RandomCase &c) {
    checkAll(c, {{7}, {7, 1289}, false});
    checkAll(c, {{2}, {2, 40000}, false});
    checkAll(c, {{1}, {1}, false});
    checkAll(c, {{2}, {2, 0}, true});
    checkAll(c, {{0}, {0, 4}, false});
  });
}

/// The table by hand: 64 states and 4 decays of 4 bytes are m = 272 bytes.
TEST(ZigzagScan, BytesAreThoseOfTheTable) {
  struct Row {
    int64_t ranks, position, bytes[5];
  };
  const Row rows[] = {
      {1, 0, {0, 0, 0, 0, 0}},
      {2, 0, {272, 2 * 272, 3 * 272, 272, 2 * 256 + 2 * 16}},
      {2, 1, {272, 2 * 272, 3 * 272, 272, 2 * 256 + 2 * 16}},
      {4, 0, {272, 6 * 272, 4 * 272, 272, 4 * 3 * 64 + 6 * 16}},
      {4, 1, {2 * 272, 6 * 272, 6 * 272, 2 * 272, 4 * 3 * 64 + 6 * 16}},
      {4, 3, {272, 6 * 272, 5 * 272, 272, 4 * 3 * 64 + 6 * 16}},
  };
  for (const Row &row : rows)
    for (Algorithm algorithm : algorithms) {
      RandomCase c{{{row.ranks}, {0}}, 0};
      World world({row.ranks});
      Sample sample = {{4}, {4, 16}, false};
      Summaries zeros = randomSummaries(c, sample, 2 * row.ranks);
      scanZigzag(c, world, zeros, sample, algorithm);
      EXPECT_EQ(world.counter(row.position, "scan_state", 1).bytes_sent,
                row.bytes[algorithm])
          << row.ranks << " ranks, position " << row.position << ", algorithm "
          << algorithm;
    }
}

/// Staging and lists stay in the context: a second call takes nothing new.
TEST(ZigzagScan, AllocatesInItsFirstCallOnly) {
  for (Algorithm algorithm : algorithms) {
    World world({4});
    world.run([&](int64_t, cprt_context *context) {
      Sample sample = {{2}, {2, 300}, false};
      Array decays(sample.decay), states(sample.state);
      scan(context, sample, {0}, {algorithm, true}, decays, states);
      int64_t first = cprt_context_allocations(context);
      EXPECT_GT(first, 0);
      scan(context, sample, {0}, {algorithm, true}, decays, states);
      EXPECT_EQ(cprt_context_allocations(context), first);
    });
    EXPECT_EQ(world.failures(), "");
  }
}

/// One part a rank: the other way round than ranks numbered from the last.
TEST(ReverseScan, AllAlgorithmsOnOneToNineRanks) {
  forEachLine({1, 2, 3, 4, 5, 6, 7, 8, 9}, [](RandomCase &c) {
    Sample sample = randomSample(c);
    sample.dtype = c.draw(0, 1) ? CPRT_F32 : CPRT_F64;
    Summaries inputs = randomSummaries(c, sample, c.groupSize());
    for (Algorithm algorithm : algorithms) {
      SCOPED_TRACE(testing::Message() << "algorithm " << algorithm);
      Summaries result =
          scanContiguous(inputs, sample, {algorithm, false, true});
      Summaries expected =
          turned(scanContiguous(turned(inputs), sample, {algorithm}));
      expectSameBits(result.decays, expected.decays);
      expectSameBits(result.states, expected.states);
    }
  });
}

TEST(ZigzagScan, RefusesWhatItCannotScan) {
  struct Bad {
    Sizes decay, state;
    int64_t order;
    cprt_status status;
    const char *text;
  };
  const Bad cases[] = {
      {{3}, {3, 2}, 1, CPRT_INVALID_ARGUMENT, "expected an even dim 0"},
      {{}, {2}, 1, CPRT_INVALID_ARGUMENT, "expected an even dim 0"},
      {{2}, {2, 2}, 2, CPRT_UNSUPPORTED, "reorder the sequence first"},
      {{2}, {2, 2}, 5, CPRT_UNSUPPORTED, "'order' is 5 (striped)"},
      {{2}, {2, 2}, -1, CPRT_INVALID_ARGUMENT, "attribute 'order' is -1"},
  };
  for (const Bad &bad : cases) {
    World world({2});
    world.run([&](int64_t, cprt_context *context) {
      Tensor decay(CPRT_F32, bad.decay), state(CPRT_F32, bad.state);
      Tensor outDecay(CPRT_F32, bad.decay), outState(CPRT_F32, bad.state);
      Call call;
      call.in(decay).in(state).out(outDecay).out(outState);
      call.attr(0).array({0}).attr(bad.order).attr(0).attr(0);
      call.run(cprt_scan_state, context);
      EXPECT_EQ(cprt_context_status(context), bad.status);
      EXPECT_NE(std::strstr(cprt_context_message(context), bad.text), nullptr)
          << cprt_context_message(context);
    });
  }
}
