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
TEST(DocumentPlaces, CountFromTheBeginOfEachDocument) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    int64_t b = pick(random, 1, 3), n = pick(random, 2, 12);
    int64_t length = pick(random, 0, 2) ? pick(random, 0, 40) : 700;
    Tensor<int32_t> documents({b, n}, pickLay(random), random);
    for (int64_t row = 0; row < b; ++row) {
      std::vector<int32_t> ends = drawEnds(random, n, length);
      for (int64_t i = 0; i < n; ++i)
        documents(row, i) = ends[size_t(i)];
    }
    Lay lay = pickLay(random);
    for (KernelFn kernel : kernelsOf("document_places", DType::I32)) {
      Tensor<int64_t> places({b, length}, lay, random);
      ASSERT_EQ(run(kernel, {documents.buffer()}, {places.buffer()}, {}), "");
      EXPECT_TRUE(places.isIntact());
      for (int64_t row = 0; row < b; ++row)
        for (int64_t token = 0, place = 0; token < length; ++token, ++place) {
          for (int64_t i = 0; i < n; ++i)
            if (documents(row, i) == token)
              place = 0;
          ASSERT_EQ(places(row, token), place)
              << "token " << token << " of row " << row;
        }
    }
  }
}

} // namespace
