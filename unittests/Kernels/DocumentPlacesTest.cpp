//===- DocumentPlacesTest.cpp - Places within documents -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {

/// Where n - 1 documents of `length` tokens together begin and end, some of
/// them empty.
std::vector<int32_t> drawEnds(Random &random, int64_t n, int64_t length) {
  std::vector<int32_t> ends(static_cast<size_t>(n));
  for (int32_t &end : ends)
    end = int32_t(pick(random, 0, length));
  if (n > 2 && pick(random, 0, 1))
    ends[1] = ends[2];
  ends.front() = 0;
  ends.back() = int32_t(length);
  std::sort(ends.begin(), ends.end());
  return ends;
}

/// A token at a time, counted from where the last document began.
std::vector<int64_t> countedPlaces(const std::vector<int32_t> &ends) {
  std::vector<int64_t> places;
  for (int64_t token = 0, place = 0; token < ends.back(); ++token, ++place) {
    if (std::count(ends.begin(), ends.end(), token))
      place = 0;
    places.push_back(place);
  }
  return places;
}

/// Rows of one of several ranks, that all have the same lists; each rank has
/// its rows in an order of its own, or has all.
TEST(DocumentPlaces, CountFromTheBeginOfEachDocument) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    int64_t r = pick(random, 1, 4), b = pick(random, 1, 3),
            n = pick(random, 2, 12), own = pick(random, 0, r - 1);
    int64_t length = pick(random, 0, 2) ? pick(random, 0, 40) : 700;
    Tensor<int32_t> documents({r, b, n}, pickLay(random), random);
    std::vector<std::vector<int64_t>> expected;
    for (int64_t row = 0; row < b; ++row) {
      std::vector<int32_t> ends = drawEnds(random, n, length);
      expected.push_back(countedPlaces(ends));
      for (int64_t rank = 0; rank < r; ++rank)
        for (int64_t i = 0; i < n; ++i)
          documents(rank, row, i) = ends[size_t(i)];
    }
    bool hasAll = pick(random, 0, 1) || length == 0;
    int64_t l = hasAll ? length : pick(random, 1, 30);
    Tensor<int64_t> rows({l}, pickLay(random), random);
    for (int64_t i = 0; i < l; ++i)
      rows(i) = hasAll ? i : pick(random, 0, length - 1);
    Lay lay = pickLay(random);
    for (KernelFn kernel : kernelsOf("document_places", DType::I32)) {
      Tensor<int64_t> places({b, l}, lay, random);
      ASSERT_EQ(run(kernel,
                    {documents.buffer(), hasAll ? absent : rows.buffer()},
                    {places.buffer()}, {own, length}),
                "");
      EXPECT_TRUE(places.isIntact());
      for (int64_t row = 0; row < b; ++row)
        for (int64_t i = 0; i < l; ++i)
          ASSERT_EQ(places(row, i), expected[size_t(row)][size_t(rows(i))])
              << "token " << rows(i) << " of row " << row;
    }
  }
}

} // namespace
