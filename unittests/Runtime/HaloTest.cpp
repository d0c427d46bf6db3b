//===- HaloTest.cpp - Rows of the previous rank ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomCase.h"

#include <algorithm>

using namespace cp::test;

/// Rows [begin, end) of `dim`.
static Array rowsOf(Array array, int64_t dim, int64_t begin, int64_t end) {
  Sizes sizes = array.sizes;
  sizes[size_t(dim)] = end - begin;
  Array rows(sizes);
  forEachIndex(sizes, [&](const Sizes &index) {
    Sizes source = index;
    source[size_t(dim)] += begin;
    rows.at(index) = array.at(source);
  });
  return rows;
}

/// The global oracle: initial rows (or zeros) in front of the whole sequence,
/// then the rows that precede each rank's part.
static void checkHalo(RandomCase &c) {
  int64_t g = c.groupSize(), dim = c.draw(0, 2);
  bool hasInitial = c.draw(0, 1), hasGaps = c.draw(0, 1);
  cprt_dtype dtype = c.anyType();
  Sizes sizes = c.anySizes(3);
  int64_t local = sizes[size_t(dim)], before = c.draw(0, local);
  sizes[size_t(dim)] = before + local * g;
  std::vector<Array> padded[2] = {c.wholes(sizes), c.wholes(sizes)};
  if (!hasInitial)
    for (std::vector<Array> &list : padded)
      for (Array &array : list)
        forEachIndex(sizes, [&](const Sizes &index) {
          if (index[size_t(dim)] < before)
            array.at(index) = 0;
        });

  World world(c.setting.mesh);
  world.run([&](int64_t rank, cprt_context *context) {
    Place place = c.place(rank);
    int64_t begin = place.position * local;
    auto rows = [&](int i, int64_t from, int64_t to) {
      return rowsOf(padded[i][size_t(place.group)], dim, from, to);
    };
    std::vector<Tensor> ins, initials, outs;
    for (int i : {0, 1}) {
      ins.emplace_back(dtype, rows(i, begin + before, begin + before + local),
                       hasGaps);
      initials.emplace_back(dtype, rows(i, 0, before));
      outs.emplace_back(dtype, initials[size_t(i)].sizes, hasGaps);
    }
    Call call;
    call.in(ins[0]).in(ins[1]);
    if (hasInitial)
      call.in(initials[0]).in(initials[1]);
    call.out(outs[0]).out(outs[1]);
    call.array(c.setting.axes).attr(before).attr(dim).attr(int64_t(hasInitial));
    call.attr(0);
    call.run(cprt_halo, context);
    for (int i : {0, 1}) {
      EXPECT_EQ(outs[size_t(i)].read(), rows(i, begin, begin + before));
      EXPECT_TRUE(outs[size_t(i)].gapsAreIntact());
    }
  });
  ASSERT_EQ(world.failures(), "");
  int64_t taken = 2 * before * product(sizes) /
                  std::max<int64_t>(sizes[size_t(dim)], 1) *
                  int64_t(cprt_dtype_size(dtype));
  for (int64_t rank = 0; rank < world.size(); ++rank) {
    bool isLast = c.place(rank).position == g - 1;
    EXPECT_EQ(world.counter(rank, "halo", maskOf(c.setting.axes)).bytes_sent,
              isLast ? 0 : taken);
  }
}

TEST(Halo, BringsTheRowsBefore) { forEachCase(checkHalo); }

TEST(Halo, RefusesMoreRowsThanThePreviousRankHas) {
  World world({2});
  world.run([](int64_t, cprt_context *context) {
    Tensor in(CPRT_F32, Sizes{2, 4}), out(CPRT_F32, Sizes{3, 4});
    Call call(7);
    call.in(in).out(out).array({0}).attr(3).attr(0).attr(0).attr(0);
    call.run(cprt_halo, context);
    EXPECT_EQ(cprt_context_status(context), CPRT_INVALID_ARGUMENT);
    EXPECT_STREQ(cprt_context_message(context),
                 "halo (call 7): input 0 is f32[2, 4], expected at least 3 "
                 "rows along dim 0; use fewer ranks on this axis");
  });
}
