//===- MatmulTest.cpp - Matrix product ------------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <gtest/gtest.h>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {
template <typename T> class MatmulTest : public testing::Test {};
using Floats = testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(MatmulTest, Floats);

/// Operands A[m1, m2, k] and W, and C before and after the call.
template <typename T> struct Problem {
  int64_t m1, m2, n, k;
  bool accumulate, transposed;
  Tensor<T> a, w, before, c;

  Problem(int64_t m1, int64_t m2, int64_t n, int64_t k, Random &random)
      : m1(m1), m2(m2), n(n), k(k), accumulate(pick(random, 0, 1)),
        transposed(pick(random, 0, 1)), a({m1, m2, k}, pickLay(random), random),
        w(transposed ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n},
          pickLay(random), random),
        before({m1, m2, n}, pickLay(random), random) {
    a.fill(random, -1, 1);
    w.fill(random, -1, 1);
    before.fill(random, -1, 1);
    c = before;
  }

  /// Both operands lie along k, as kernels that take k by twos want them; with
  /// `lay` Gaps at odd distances too.
  void alignDepth(Lay lay, Random &random) {
    transposed = true;
    a = Tensor<T>({m1, m2, k}, lay, random);
    w = Tensor<T>({n, k}, pick(random, 0, 3) ? Lay::Dense : lay, random);
    a.fill(random, -1, 1);
    w.fill(random, -1, 1);
  }

  std::string run(KernelFn kernel) {
    c = before;
    return test::run(kernel, {a.buffer(), w.buffer()}, {c.buffer()},
                     {accumulate, transposed});
  }

  Expected expected(int64_t i, int64_t j, int64_t column) {
    Expected sum;
    if (accumulate)
      sum.add(before(i, j, column));
    for (int64_t x = 0; x < k; ++x)
      sum.add(double(a(i, j, x)) *
              double(transposed ? w(column, x) : w(x, column)));
    return sum;
  }
};

template <typename T> void check(Problem<T> &problem) {
  for (const Implementation &implementation : implementations()) {
    SCOPED_TRACE(implementation.name);
    ASSERT_EQ(problem.run(implementation.find("matmul", Element<T>::dtype)),
              "");
    EXPECT_TRUE(problem.c.isIntact());
    for (int64_t i = 0; i < problem.m1; ++i)
      for (int64_t j = 0; j < problem.m2; ++j)
        for (int64_t x = 0; x < problem.n; ++x)
          ASSERT_TRUE(isClose(problem.c(i, j, x), problem.expected(i, j, x)))
              << i << ' ' << j << ' ' << x << " got " << problem.c(i, j, x);
  }
}

TYPED_TEST(MatmulTest, MatchesDefinitionOnRandomShapes) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Problem<TypeParam> problem(pick(random, 1, 3), pick(random, 1, 30),
                               pick(random, 1, 90), pick(random, 0, 70),
                               random);
    check(problem);
  }
}

TYPED_TEST(MatmulTest, MatchesDefinitionAcrossBlocks) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    // Blocks of rows and of k, and panels.
    for (auto [rows, n] : {std::pair<int64_t, int64_t>{207, 3}, {7, 70}}) {
      Problem<TypeParam> problem(5, rows, n, 1203, random);
      problem.accumulate = seed % 2;
      check(problem);
    }
  }
}

TYPED_TEST(MatmulTest, MatchesDefinitionAlongDepth) {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    bool isDeep = seed % 8 == 0;
    Problem<TypeParam> problem(pick(random, 1, 3), pick(random, 1, 30),
                               pick(random, 1, 90),
                               isDeep ? 2406 : pick(random, 0, 70), random);
    problem.accumulate = seed % 16 == 0;
    problem.alignDepth(seed % 2 ? Lay::Gaps : Lay::Dense, random);
    check(problem);
  }
}

TYPED_TEST(MatmulTest, AcceptsEmptyTensors) {
  Random random(1);
  for (auto [m, n] : {std::pair<int64_t, int64_t>{0, 3}, {3, 0}, {0, 0}}) {
    Problem<TypeParam> problem(2, m, n, 5, random);
    check(problem);
  }
}

/// A product with A transposed, by definition.
template <typename T>
void checkContraction(std::vector<int64_t> rows, int64_t m, int64_t n,
                      Random &random) {
  using Acc = AccumulatorOf<T>;
  auto with = [&](int64_t columns) {
    std::vector<int64_t> sizes = rows;
    sizes.push_back(columns);
    return sizes;
  };
  Tensor<T> a(with(m), pickLay(random), random),
      b(with(n), pickLay(random), random);
  Tensor<Acc> before({m, n}, pickLay(random), random);
  a.fill(random, -1, 1);
  b.fill(random, -1, 1);
  before.fill(random, -1, 1);
  bool accumulate = pick(random, 0, 1);
  for (const Implementation &implementation : implementations()) {
    SCOPED_TRACE(implementation.name);
    Tensor<Acc> c = before;
    ASSERT_EQ(run(implementation.find("contract_rows", Element<T>::dtype),
                  {a.buffer(), b.buffer()}, {c.buffer()}, {accumulate}),
              "");
    EXPECT_TRUE(c.isIntact());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        Expected sum;
        if (accumulate)
          sum.add(before(i, j));
        int64_t count = m ? a.count() / m : 0;
        for (int64_t row = 0; row < count; ++row)
          sum.add(double(a[row * m + i]) * double(b[row * n + j]));
        ASSERT_TRUE(isClose(c(i, j), sum)) << i << ' ' << j;
      }
  }
}

TYPED_TEST(MatmulTest, ContractsRows) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    checkContraction<TypeParam>({pick(random, 0, 3), pick(random, 0, 40)},
                                pick(random, 0, 40), pick(random, 0, 90),
                                random);
  }
  // Blocks of rows and of columns, and a depth beyond one panel's.
  for (auto [m, n] : {std::pair<int64_t, int64_t>{207, 3}, {7, 150}}) {
    Random random(m);
    checkContraction<TypeParam>({3, 401}, m, n, random);
    checkContraction<TypeParam>({1203}, m, n, random);
  }
}

template <typename T> void checkRows(Problem<T> &whole) {
  for (const Implementation &implementation : implementations()) {
    SCOPED_TRACE(implementation.name);
    KernelFn kernel = implementation.find("matmul", Element<T>::dtype);
    ASSERT_EQ(whole.run(kernel), "");
    Problem<T> part = whole;
    for (int64_t first : {0, 3, 40}) {
      int64_t count = first == 3 ? 19 : 1;
      Buffer a = whole.a.buffer(), c = part.c.buffer();
      int64_t aSizes[] = {1, count, whole.k}, cSizes[] = {1, count, whole.n};
      a.sizes = aSizes;
      c.sizes = cSizes;
      a.data = &whole.a(0, first, 0);
      part.c = whole.before;
      c.data = &part.c(0, first, 0);
      ASSERT_EQ(run(kernel, {a, whole.w.buffer()}, {c},
                    {whole.accumulate, whole.transposed}),
                "");
      for (int64_t i = first; i < first + count; ++i)
        for (int64_t j = 0; j < whole.n; ++j)
          ASSERT_EQ(part.c(0, i, j), whole.c(0, i, j)) << i << ' ' << j;
    }
  }
}

/// A row's result is the same bits whatever other rows the call has.
TYPED_TEST(MatmulTest, RowsDoNotDependOnTheirNumber) {
  Random random(7);
  Problem<TypeParam> whole(1, 41, 50, 1203, random);
  checkRows(whole);
  for (Lay lay : {Lay::Dense, Lay::Gaps}) {
    whole.alignDepth(lay, random);
    checkRows(whole);
  }
}
} // namespace
