//===- ZigzagHaloTest.cpp - Rows before both parts of a rank --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomCase.h"

#include <cstring>

using namespace cp::test;

namespace {

/// A sequence along `dim` of three dimensions, and rows in front of it.
struct Sample {
  int64_t dim, before, rows;
  Array whole, initial;
};

/// What the rank at `position` must find in front of each of its rows' parts:
/// looked up row by row in the whole sequence.
Array expectedRows(Sample sample, int64_t ranks, int64_t position) {
  Sizes sizes = sample.initial.sizes;
  sizes[size_t(sample.dim)] *= 2;
  Array rows(sizes);
  forEachIndex(sizes, [&](const Sizes &index) {
    int64_t row = index[size_t(sample.dim)];
    bool isSecond = row >= sample.before;
    int64_t part = isSecond ? 2 * ranks - 1 - position : position;
    int64_t back = sample.before - row % std::max<int64_t>(sample.before, 1);
    int64_t global = part * sample.rows - back;
    Sizes at = index;
    at[size_t(sample.dim)] = global < 0 ? sample.before + global : global;
    rows.at(index) = global < 0 ? sample.initial.at(at) : sample.whole.at(at);
  });
  return rows;
}

Sample randomSample(RandomCase &c, bool hasInitial) {
  Sizes sizes = c.anySizes(3);
  Sample sample = {c.draw(0, 2), 0, 0, Array(sizes), Array(sizes)};
  int64_t &size = sizes[size_t(sample.dim)];
  sample.rows = size;
  sample.before = c.draw(0, sample.rows);
  size = 2 * c.groupSize() * sample.rows;
  sample.whole = randomArray(sizes, c.random);
  size = sample.before;
  sample.initial = hasInitial ? randomArray(sizes, c.random) : Array(sizes);
  return sample;
}

void runHalo(RandomCase &c, const Sample &sample, bool hasInitial,
             cprt_dtype dtype, cprt_context *context, const Place &place) {
  bool hasGaps = c.seed % 2 == 0;
  Tensor in(dtype,
            partOf(sample.whole, sample.dim, 1, place.size, place.position),
            hasGaps);
  Tensor initial(dtype, sample.initial, hasGaps);
  Array expected = expectedRows(sample, place.size, place.position);
  Tensor out(dtype, expected.sizes, hasGaps);
  Call call;
  call.in(in);
  if (hasInitial)
    call.in(initial);
  call.out(out).array(c.setting.axes).attr(sample.before).attr(sample.dim);
  call.attr(hasInitial).attr(1).run(cprt_halo, context);
  in.write(Array(in.sizes));
  EXPECT_EQ(out.read(), expected) << "position " << place.position;
  EXPECT_TRUE(out.gapsAreIntact());
}

void checkHalo(RandomCase &c) {
  bool hasInitial = c.draw(0, 1);
  cprt_dtype dtype = c.anyType();
  Sample sample = randomSample(c, hasInitial);
  World world(c.setting.mesh);
  world.run([&](int64_t rank, cprt_context *context) {
    runHalo(c, sample, hasInitial, dtype, context, c.place(rank));
  });
  ASSERT_EQ(world.failures(), "");
  int64_t bytes =
      product(sample.initial.sizes) * int64_t(cprt_dtype_size(dtype));
  for (int64_t rank = 0; rank < world.size(); ++rank) {
    Place place = c.place(rank);
    int64_t neighbours =
        (place.position > 0) + (place.position + 1 < place.size);
    cprt_counter counter = world.counter(rank, "halo", maskOf(c.setting.axes));
    EXPECT_EQ(counter.bytes_sent, neighbours * bytes);
    EXPECT_EQ(counter.calls, 1);
  }
}

} // namespace

TEST(ZigzagHalo, BringsTheRowsBeforeBothParts) { forEachCase(checkHalo); }

/// By hand: two ranks, parts of two rows, one row before.
TEST(ZigzagHalo, TwoRanks) {
  World world({2});
  const double held[2][4] = {{0, 1, 6, 7}, {2, 3, 4, 5}};
  const double expected[2][2] = {{-1, 5}, {1, 3}};
  world.run([&](int64_t rank, cprt_context *context) {
    Array rows({4}), before({1});
    std::copy_n(held[rank], 4, rows.values.begin());
    before.values[0] = -1;
    Tensor in(CPRT_F32, rows), initial(CPRT_F32, before);
    Tensor out(CPRT_F32, Sizes{2});
    Call call;
    call.in(in).in(initial).out(out).array({0}).attr(1).attr(0).attr(1).attr(1);
    call.run(cprt_halo, context);
    Array result = out.read();
    EXPECT_EQ(result.values[0], expected[rank][0]) << rank;
    EXPECT_EQ(result.values[1], expected[rank][1]) << rank;
  });
  EXPECT_EQ(world.failures(), "");
}

TEST(ZigzagHalo, RefusesWhatItCannotBring) {
  struct Bad {
    int64_t rows, before, out, order;
    cprt_status status;
    const char *text;
  };
  const Bad cases[] = {
      {6, 4, 8, 1, CPRT_INVALID_ARGUMENT,
       "expected at least 4 rows for each half along dim 0"},
      {7, 2, 4, 1, CPRT_INVALID_ARGUMENT, "expected an even dim 0"},
      {6, 2, 2, 1, CPRT_INVALID_ARGUMENT, "f32[2, 3], expected f32[4, 3]"},
      {6, 2, 2, 2, CPRT_UNSUPPORTED, "reorder the sequence first"},
      {6, 2, 2, 9, CPRT_UNSUPPORTED, "'order' is 9 (striped)"},
      {6, 2, 2, -1, CPRT_INVALID_ARGUMENT, "attribute 'order' is -1"},
  };
  for (const Bad &bad : cases) {
    World world({2});
    world.run([&](int64_t, cprt_context *context) {
      Tensor in(CPRT_F32, Sizes{bad.rows, 3}), out(CPRT_F32, {bad.out, 3});
      Call call;
      call.in(in).out(out).array({0}).attr(bad.before).attr(0).attr(0);
      call.attr(bad.order).run(cprt_halo, context);
      EXPECT_EQ(cprt_context_status(context), bad.status);
      EXPECT_NE(std::strstr(cprt_context_message(context), bad.text), nullptr)
          << cprt_context_message(context);
    });
  }
}
