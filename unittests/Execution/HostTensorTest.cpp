//===- HostTensorTest.cpp - Parts of tensors, and their distance ----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace cp;
using namespace cp::test;

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

const Mesh mesh{{{"a", 2}, {"b", 2}}};

/// 8 x 6 numbers that tell their place.
HostTensor numbered() {
  std::vector<float> values(48);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  return floats({8, 6}, values);
}

std::vector<Layout> layouts() {
  Cut a{0, Order::Contiguous, 1}, b{1, Order::Contiguous, 1};
  Cut zigzag{0, Order::Zigzag, 1}, unit{1, Order::Contiguous, 3};
  return {{mesh, {{}, {}}, {}},        {mesh, {{a}, {}}, {}},
          {mesh, {{}, {b}}, {}},       {mesh, {{a}, {b}}, {}},
          {mesh, {{b, a}, {}}, {}},    {mesh, {{zigzag}, {}}, {}},
          {mesh, {{zigzag}, {b}}, {}}, {mesh, {{zigzag, b}, {}}, {}},
          {mesh, {{a}, {unit}}, {}}};
}

TEST(HostTensorTest, APartHoldsTheElementsThatTheLayoutGivesTheRank) {
  HostTensor whole = numbered();
  for (const Layout &layout : layouts())
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
      HostTensor part = partOf(whole, layout, rank);
      ASSERT_EQ(part.shape, localShape(layout, whole.shape));
      std::vector<double> values = part.asDoubles();
      for (int64_t i = 0; i < part.numElements(); ++i) {
        int64_t row =
            globalIndex(mesh, layout.dims[0], 8, rank, i / part.shape[1]);
        int64_t column =
            globalIndex(mesh, layout.dims[1], 6, rank, i % part.shape[1]);
        EXPECT_EQ(values[i], row * 6 + column);
      }
    }
}

/// Of sizes that the cuts do not divide, also where a part has room for as many
/// elements as there are, and none of them.
TEST(HostTensorTest, WhatIsBehindTheWholeIsZeros) {
  for (std::vector<int64_t> shape :
       {std::vector<int64_t>{3, 1, 2}, {2, 2, 3}, {5, 7, 1}, {1, 3, 1}}) {
    HostTensor whole = HostTensor::zeros(DType::I64, shape);
    auto *words = reinterpret_cast<int64_t *>(whole.bytes.data());
    for (int64_t i = 0; i < whole.numElements(); ++i)
      words[i] = i + 1;
    for (Order order : allOrders) {
      Layout layout{mesh, {{{0}}, {{1, order}}, {}}, {}};
      if (order == Order::Sizes)
        layout.dims[1][0].sizes = {1, shape[1] - 1};
      HostTensor joined = HostTensor::zeros(DType::I64, shape);
      for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
        HostTensor part = partOf(whole, layout, rank);
        std::vector<double> values = part.asDoubles();
        for (int64_t i = 0; i < part.numElements(); ++i) {
          std::vector<int64_t> at = unravel(i, part.shape);
          int64_t row =
                      globalIndex(mesh, layout.dims[0], shape[0], rank, at[0]),
                  column =
                      globalIndex(mesh, layout.dims[1], shape[1], rank, at[1]);
          bool isThere = row < shape[0] && column < shape[1];
          EXPECT_EQ(values[i],
                    isThere ? (row * shape[1] + column) * shape[2] + at[2] + 1
                            : 0);
        }
        putPart(part, layout, rank, joined);
      }
      EXPECT_EQ(joined.bytes, whole.bytes);
    }
  }
}

TEST(HostTensorTest, PartsPutBackGiveTheWhole) {
  HostTensor whole = numbered();
  for (const Layout &layout : layouts()) {
    HostTensor back = HostTensor::zeros(DType::F32, whole.shape);
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
      putPart(partOf(whole, layout, rank), layout, rank, back);
    EXPECT_EQ(back.bytes, whole.bytes);
  }
}

TEST(HostTensorTest, ScalarsAndEmptyTensorsHaveParts) {
  HostTensor scalar = floats({}, {3});
  EXPECT_EQ(partOf(scalar, {mesh, {}, {}}, 3).bytes, scalar.bytes);
  HostTensor empty = HostTensor::zeros(DType::F64, {0, 4});
  EXPECT_EQ(
      partOf(empty, {mesh, {{}, {{1, Order::Contiguous, 1}}}, {}}, 1).shape,
      (std::vector<int64_t>{0, 2}));
}

TEST(HostTensorTest, IntegersBecomeDoubles) {
  HostTensor tensor = HostTensor::zeros(DType::I64, {2});
  int64_t values[] = {-1, int64_t(1) << 40};
  std::memcpy(tensor.bytes.data(), values, sizeof(values));
  EXPECT_EQ(tensor.asDoubles(), (std::vector<double>{-1, 1099511627776.0}));
}

TEST(HostTensorTest, CompareMeasuresTheDistance) {
  Difference same = compare(floats({2}, {1, 2}), floats({2}, {1, 2}));
  EXPECT_TRUE(same.bitwiseEqual);
  EXPECT_EQ(same.maxAbs, 0);
  EXPECT_EQ(same.relL2, 0);
  Difference apart = compare(floats({2}, {3, 1}), floats({2}, {3, 4}));
  EXPECT_FALSE(apart.bitwiseEqual);
  EXPECT_DOUBLE_EQ(apart.maxAbs, 3);
  EXPECT_DOUBLE_EQ(apart.relL2, 3.0 / 5.0);
  EXPECT_DOUBLE_EQ(compare(floats({1}, {2}), floats({1}, {0})).relL2, 2);
  // Equal as numbers, not as bits.
  Difference zeros = compare(floats({1}, {0.0f}), floats({1}, {-0.0f}));
  EXPECT_EQ(zeros.maxAbs, 0);
  EXPECT_FALSE(zeros.bitwiseEqual);
}

TEST(HostTensorTest, ANaNIsNeverLost) {
  for (auto [a, b] :
       {std::pair(floats({3}, {1, nan, 3}), floats({3}, {1, 2, 3.5})),
        std::pair(floats({3}, {1, 2, 3}), floats({3}, {nan, 2, 3.5}))}) {
    Difference difference = compare(a, b);
    EXPECT_TRUE(std::isnan(difference.maxAbs));
    EXPECT_TRUE(std::isnan(difference.relL2));
  }
}

TEST(HostTensorTest, ValuesThatAreNotFiniteAgreeWithTheirLikeOnly) {
  Difference same = compare(floats({4}, {infinity, -infinity, nan, 2}),
                            floats({4}, {infinity, -infinity, nan, 2.5}));
  EXPECT_EQ(same.maxAbs, 0.5);
  EXPECT_DOUBLE_EQ(same.relL2, 0.2);
  for (auto [a, b] : {std::pair(infinity, 1.0f), std::pair(1.0f, infinity),
                      std::pair(infinity, -infinity)})
    EXPECT_TRUE(std::isinf(compare(floats({1}, {a}), floats({1}, {b})).relL2));
  for (auto [a, b] : {std::pair(nan, infinity), std::pair(-infinity, nan)})
    EXPECT_TRUE(std::isnan(compare(floats({1}, {a}), floats({1}, {b})).relL2));
}

/// An infinity that both have must not make the others weightless.
TEST(HostTensorTest, AnInfinityHidesNoError) {
  EXPECT_DOUBLE_EQ(
      compare(floats({2}, {infinity, 3}), floats({2}, {infinity, 2})).relL2,
      0.5);
}

TEST(HostTensorTest, LargeValuesHaveADistance) {
  HostTensor a = fromDoubles(DType::F64, {2}, {3e200, 1e200});
  HostTensor b = fromDoubles(DType::F64, {2}, {3e200, 4e200});
  EXPECT_DOUBLE_EQ(compare(a, b).relL2, 3.0 / 5.0);
}

TEST(HostTensorTest, LargeIntegersAreComparedExactly) {
  auto integer = [](int64_t value) {
    HostTensor tensor = HostTensor::zeros(DType::I64, {1});
    std::memcpy(tensor.bytes.data(), &value, sizeof(value));
    return tensor;
  };
  int64_t large = int64_t(1) << 60;
  EXPECT_EQ(compare(integer(large), integer(large + 1)).maxAbs, 1);
  EXPECT_EQ(compare(integer(large), integer(large)).maxAbs, 0);
}

TEST(HostTensorTest, OtherShapesAndTypesWithoutNumbersAreInfinitelyFar) {
  EXPECT_TRUE(std::isinf(compare(floats({1}, {1}), floats({2}, {1, 2})).relL2));
  EXPECT_TRUE(std::isinf(
      compare(floats({2, 1}, {1, 2}), floats({1, 2}, {1, 2})).relL2));
  HostTensor a = HostTensor::zeros(DType::U8, {1}), b = a;
  EXPECT_EQ(compare(a, b).relL2, 0);
  b.bytes[0] = 1;
  EXPECT_TRUE(std::isinf(compare(a, b).relL2));
}

TEST(HostTensorTest, ElementsThatAreNotFiniteAreFound) {
  NotFinite found = findNotFinite(floats({2, 3}, {0, 1, 2, 3, -infinity, nan}));
  EXPECT_EQ(found.count, 2);
  EXPECT_EQ(found.first, (std::vector<int64_t>{1, 1}));
  for (DType dtype : {DType::F64, DType::BF16})
    EXPECT_EQ(findNotFinite(fromDoubles(dtype, {3}, {1, nan, 2})).count, 1);
  EXPECT_EQ(findNotFinite(floats({2}, {1, 2})).count, 0);
  EXPECT_EQ(findNotFinite(HostTensor::zeros(DType::I64, {2})).count, 0);
  EXPECT_EQ(findNotFinite(floats({}, {nan})).count, 1);
}

TEST(HostTensorTest, TheWorseOfTwoIsWorseInEachRespect) {
  Difference worse = worseOf({1, 4, true}, {2, 3, false});
  EXPECT_EQ(worse.maxAbs, 2);
  EXPECT_EQ(worse.relL2, 4);
  EXPECT_FALSE(worse.bitwiseEqual);
  EXPECT_TRUE(std::isnan(worseOf({nan, 1, true}, {2, 2, true}).maxAbs));
  EXPECT_TRUE(std::isnan(worseOf({1, 1, true}, {2, nan, true}).relL2));
}

} // namespace
