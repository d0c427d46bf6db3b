//===- HaloTest.cpp - Rows of neighbours ----------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle looks up each row of a halo in the whole sequence, by its place.
//
//===----------------------------------------------------------------------===//

#include "RandomCase.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace cp::test;

namespace {

/// A sequence along `dim` of three dimensions, of parts of `rows` rows, and the
/// `count` rows in front of it, or behind it.
struct Sample {
  int64_t dim, rows, count;
  bool isZigzag, isReverse, hasInitial;
  Array whole, initial;

  int64_t parts() const { return isZigzag ? 2 : 1; }
  int64_t partAt(int64_t ranks, int64_t position, int64_t slot) const {
    return slot ? 2 * ranks - 1 - position : position;
  }
  int64_t holderOf(int64_t ranks, int64_t part) const {
    return part < ranks ? part : 2 * ranks - 1 - part;
  }
  /// The place in the whole sequence of row `row` of the halo of a part.
  int64_t placeOf(int64_t part, int64_t row) const {
    return isReverse ? (part + 1) * rows + row : part * rows - count + row;
  }
};

Sample randomSample(RandomCase &c) {
  Sizes sizes = c.anySizes(3);
  int64_t ranks = c.groupSize();
  Sample sample = {c.draw(0, 2),
                   0,
                   0,
                   c.draw(0, 1) == 1,
                   c.draw(0, 1) == 1,
                   c.draw(0, 1) == 1,
                   Array(sizes),
                   Array(sizes)};
  int64_t &size = sizes[size_t(sample.dim)];
  sample.rows = c.draw(0, 7) ? size : 0;
  int64_t length = ranks * sample.parts() * sample.rows;
  // As often from the neighbour alone as from farther away.
  sample.count = c.draw(0, c.draw(0, 1) ? sample.rows : length + 2);
  size = length;
  sample.whole = randomArray(sizes, c.random);
  size = sample.count;
  sample.initial =
      sample.hasInitial ? randomArray(sizes, c.random) : Array(sizes);
  return sample;
}

/// What the rank at `position` must find next to each of its parts. Counts, by
/// position, the rows that come from others.
Array expectedRows(Sample sample, int64_t ranks, int64_t position,
                   std::map<int64_t, int64_t> &taken) {
  Sizes sizes = sample.initial.sizes;
  auto dim = size_t(sample.dim);
  int64_t length = sample.whole.sizes[dim];
  sizes[dim] = sample.parts() * sample.count;
  Array rows(sizes);
  forEachIndex(sizes, [&](const Sizes &index) {
    int64_t part = sample.partAt(ranks, position, index[dim] / sample.count);
    int64_t place = sample.placeOf(part, index[dim] % sample.count);
    Sizes at = index;
    at[dim] = place;
    if (place >= 0 && place < length) {
      rows.at(index) = sample.whole.at(at);
      int64_t holder = sample.holderOf(ranks, place / sample.rows);
      taken[holder] += holder != position;
      return;
    }
    at[dim] = sample.isReverse ? place - length : sample.count + place;
    rows.at(index) = sample.initial.at(at);
  });
  return rows;
}

void runHalo(RandomCase &c, const Sample &sample, cprt_dtype dtype,
             cprt_context *context, const Member &member) {
  bool hasGaps = c.seed % 2 == 0;
  Array part = partOf(sample.whole, sample.dim, sample.isZigzag, member.size,
                      member.position);
  Tensor in(dtype, part, hasGaps), initial(dtype, sample.initial, hasGaps);
  std::map<int64_t, int64_t> taken;
  Array expected = expectedRows(sample, member.size, member.position, taken);
  // Two tensors as one exchange.
  Tensor first(dtype, expected.sizes, hasGaps);
  Tensor second(dtype, expected.sizes, hasGaps);
  Call call;
  call.in(in).in(in);
  if (sample.hasInitial)
    call.in(initial).in(initial);
  call.out(first).out(second).array(c.setting.axes).attr(sample.dim);
  call.attr(sample.isZigzag).attr(sample.isReverse);
  call.attr(sample.count).run(cprt_halo, context);
  in.write(Array(in.sizes));
  for (Tensor *out : {&first, &second}) {
    EXPECT_EQ(out->read(), expected) << "position " << member.position;
    EXPECT_TRUE(out->gapsAreIntact());
  }
}

void checkHalo(RandomCase &c) {
  cprt_dtype dtype = c.anyType();
  Sample sample = randomSample(c);
  SCOPED_TRACE(testing::Message()
               << sample.count << (sample.isReverse ? " after, " : " before, ")
               << sample.parts() << " parts of " << sample.rows);
  World world(c.setting.mesh);
  world.run([&](int64_t rank, cprt_context *context) {
    runHalo(c, sample, dtype, context, c.member(rank));
  });
  ASSERT_EQ(world.failures(), "");
  std::map<int64_t, int64_t> sent;
  for (int64_t position = 0; position < c.groupSize(); ++position)
    expectedRows(sample, c.groupSize(), position, sent);
  for (int64_t rank = 0; rank < world.size(); ++rank) {
    cprt_counter counter = world.counter(rank, "halo", maskOf(c.setting.axes));
    EXPECT_EQ(counter.bytes_sent, 2 * sent[c.member(rank).position] *
                                      int64_t(cprt_dtype_size(dtype)));
    EXPECT_EQ(counter.calls, 1);
  }
}

/// One halo of a single dimension: what each of two ranks holds and gets.
void checkTwoRanks(const double (&held)[2][4], const double (&expected)[2][4],
                   int64_t isZigzag, int64_t isReverse, int64_t count) {
  World world({2});
  world.run([&](int64_t rank, cprt_context *context) {
    Array rows({4}), beside({count});
    std::copy_n(held[rank], 4, rows.values.begin());
    for (int64_t i = 0; i < count; ++i)
      beside.values[size_t(i)] = double(-1 - i);
    Tensor in(CPRT_F32, rows), initial(CPRT_F32, beside);
    Tensor out(CPRT_F32, Sizes{(1 + isZigzag) * count});
    Call call;
    call.in(in).in(initial).out(out).array({0}).attr(0);
    call.attr(isZigzag).attr(isReverse).attr(count).run(cprt_halo, context);
    Array result = out.read();
    for (size_t i = 0; i < result.values.size(); ++i)
      EXPECT_EQ(result.values[i], expected[rank][i]) << rank << ", row " << i;
  });
  EXPECT_EQ(world.failures(), "");
}

} // namespace

TEST(Halo, BringsTheRowsOfTheWholeSequence) { forEachCase(checkHalo); }

/// By hand.
TEST(Halo, TwoRanks) {
  const double inRow[2][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  checkTwoRanks(inRow, {{-1, -2}, {2, 3}}, 0, 0, 2);
  checkTwoRanks(inRow, {{4, 5}, {-1, -2}}, 0, 1, 2);
  const double zigzag[2][4] = {{0, 1, 6, 7}, {2, 3, 4, 5}};
  checkTwoRanks(zigzag, {{-1, 5}, {1, 3}}, 1, 0, 1);
  checkTwoRanks(zigzag, {{2, -1}, {4, 6}}, 1, 1, 1);
  // Farther than one part.
  checkTwoRanks(zigzag, {{-1, -2, 4, 5}, {0, 1, 2, 3}}, 1, 0, 2);
}

TEST(Halo, ReachesOverSeveralRanks) {
  World world({4});
  world.run([&](int64_t rank, cprt_context *context) {
    Array row({1});
    row.values[0] = double(rank + 1);
    for (bool isReverse : {false, true}) {
      Tensor in(CPRT_F64, row), out(CPRT_F64, Sizes{3});
      Call call;
      call.in(in).out(out).array({0}).attr(0).attr(0).attr(isReverse);
      call.attr(3).run(cprt_halo, context);
      for (int64_t i = 0; i < 3; ++i) {
        int64_t from = isReverse ? rank + 1 + i : rank - 3 + i;
        bool isThere = from >= 0 && from < 4;
        EXPECT_EQ(out.read().values[size_t(i)], isThere ? double(from + 1) : 0);
      }
    }
  });
  EXPECT_EQ(world.failures(), "");
  // Rank 0 to the three behind it, then rank 3 to those before it.
  for (int64_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(world.counter(rank, "halo", 1).bytes_sent, 3 * 8);
}

TEST(Halo, RefusesWhatItCannotBring) {
  constexpr int64_t most = INT64_MAX;
  struct Bad {
    int64_t size, rows, out, dim, order;
    cprt_status status;
    const char *text;
  };
  const Bad cases[] = {
      {7, 2, 4, 0, 1, CPRT_INVALID_ARGUMENT, "expected an even dim 0"},
      {6, 2, 2, 0, 1, CPRT_INVALID_ARGUMENT, "f32[2, 3], expected f32[4, 3]"},
      {6, 4, 6, 0, 0, CPRT_INVALID_ARGUMENT, "f32[6, 3], expected f32[4, 3]"},
      {6, most, 6, 0, 1, CPRT_INVALID_ARGUMENT, "attribute 'rows' is"},
      {6, -1, 6, 0, 0, CPRT_INVALID_ARGUMENT, "attribute 'rows' is -1"},
      {6, 2, 2, 2, 0, CPRT_INVALID_ARGUMENT, "expected a dim 2"},
      {6, 2, 2, 0, 2, CPRT_UNSUPPORTED, "reorder the sequence first"},
      {6, 2, 2, 0, 9, CPRT_UNSUPPORTED, "'order' is 9 (striped)"},
      {6, 2, 2, 0, -1, CPRT_INVALID_ARGUMENT, "attribute 'order' is -1"},
  };
  for (const Bad &bad : cases) {
    World world({2});
    world.run([&](int64_t, cprt_context *context) {
      Tensor in(CPRT_F32, Sizes{bad.size, 3}), out(CPRT_F32, {bad.out, 3});
      Call call;
      call.in(in).out(out).array({0}).attr(bad.dim).attr(bad.order);
      call.attr(0).attr(bad.rows).run(cprt_halo, context);
      EXPECT_EQ(cprt_context_status(context), bad.status) << bad.text;
      EXPECT_NE(std::strstr(cprt_context_message(context), bad.text), nullptr)
          << cprt_context_message(context);
    });
  }
}
