//===- ProgramTableTest.cpp - The tables of a compiled program ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "cp/Runtime/cprt_program.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace cp::test;
using testing::HasSubstr;

namespace {

const char *const axisNames[] = {"dp", "cp"};
const int64_t axisSizes[] = {2, 3};

cprt_program programOf(const cprt_entry *entries = nullptr) {
  return {CPRT_PROGRAM_ABI_MAJOR,
          CPRT_PROGRAM_ABI_MINOR,
          2,
          axisNames,
          axisSizes,
          7,
          entries ? 1 : 0,
          entries};
}

/// x[4, 12, 2] of f64, its rows over dp and its columns over cp in some order.
struct Cutting {
  explicit Cutting(int64_t order) : cuts{{0, 0, 0, 1}, {1, 1, order, 1}} {
    // Of striped cuts the unit is how long each run is.
    cuts[1].unit = order > 1 ? order - 1 : 1;
  }
  cprt_program_tensor tensor() const {
    return {"x", CPRT_F64, CPRT_ROLE_DATA, 3, 2, sizes, local, cuts, nullptr};
  }
  int64_t sizes[3] = {4, 12, 2}, local[3] = {2, 4, 2};
  cprt_cut cuts[2];
};

} // namespace

TEST(ProgramTable, CutsAndJoinsAsLayoutsSay) {
  for (int64_t order : {0, 1, 2, 3}) {
    SCOPED_TRACE(order);
    Cutting cutting(order);
    cprt_program program = programOf();
    cprt_program_tensor tensor = cutting.tensor();
    EXPECT_EQ(cprt_tensor_bytes(&tensor), 4 * 12 * 2 * 8);
    EXPECT_EQ(cprt_tensor_part_bytes(&tensor), 2 * 4 * 2 * 8);
    std::mt19937_64 random(testSeed());
    Array whole = randomArray({4, 12, 2}, random), joined({4, 12, 2});
    for (int64_t rank = 0; rank < 6; ++rank) {
      Array part({2, 4, 2});
      ASSERT_EQ(cprt_tensor_split(&program, &tensor, rank, whole.values.data(),
                                  part.values.data()),
                CPRT_OK);
      EXPECT_EQ(part, partOf(partOf(whole, 0, 0, 2, rank / 3), 1, order, 3,
                             rank % 3));
      ASSERT_EQ(cprt_tensor_join(&program, &tensor, rank, part.values.data(),
                                 joined.values.data()),
                CPRT_OK);
    }
    EXPECT_EQ(joined, whole);
  }
}

/// Of 7 columns over 3 ranks each has room for 3, the last 1 and zeros.
TEST(ProgramTable, WhatCutsDoNotDivideIsPadded) {
  Cutting cutting(0);
  cutting.sizes[1] = 7;
  cutting.local[1] = 3;
  cprt_program program = programOf();
  cprt_program_tensor tensor = cutting.tensor();
  std::mt19937_64 random(testSeed());
  Array whole = randomArray({4, 7, 2}, random), joined({4, 7, 2});
  for (int64_t rank = 0; rank < 6; ++rank) {
    Array part = randomArray({2, 3, 2}, random);
    ASSERT_EQ(cprt_tensor_split(&program, &tensor, rank, whole.values.data(),
                                part.values.data()),
              CPRT_OK);
    for (size_t i = 0; i < part.values.size(); ++i) {
      size_t row = size_t(rank) / 3 * 2 + i / 6,
             column = size_t(rank) % 3 * 3 + i / 2 % 3;
      EXPECT_EQ(part.values[i],
                column < 7 ? whole.values[(row * 7 + column) * 2 + i % 2] : 0);
    }
    ASSERT_EQ(cprt_tensor_join(&program, &tensor, rank, part.values.data(),
                               joined.values.data()),
              CPRT_OK);
  }
  EXPECT_EQ(joined, whole);
}

/// Of 7 columns rank 0 of three holds 1, the next none and the last 6.
TEST(ProgramTable, SizesOfTheirOwn) {
  cprt_program program = programOf();
  const int64_t sizes[] = {4, 7, 2}, local[] = {2, 6, 2}, held[] = {1, 0, 6};
  std::vector<cprt_cut> cuts = {{0, 0, 0, 1},
                                {1, 1, CPRT_CUT_SIZES, 1},
                                {1, 1, CPRT_CUT_SIZES, 0},
                                {1, 1, CPRT_CUT_SIZES, 6}};
  auto tensor = [&] {
    return cprt_program_tensor{
        "x",   CPRT_F64, CPRT_ROLE_DATA, 3,      int32_t(cuts.size()),
        sizes, local,    cuts.data(),    nullptr};
  };
  std::mt19937_64 random(testSeed());
  Array whole = randomArray({4, 7, 2}, random), joined({4, 7, 2});
  cprt_program_tensor good = tensor();
  for (int64_t rank = 0; rank < 6; ++rank) {
    Array part = randomArray({2, 6, 2}, random);
    ASSERT_EQ(cprt_tensor_split(&program, &good, rank, whole.values.data(),
                                part.values.data()),
              CPRT_OK);
    for (size_t i = 0; i < part.values.size(); ++i) {
      size_t row = size_t(rank) / 3 * 2 + i / 12, column = i / 2 % 6;
      size_t first = rank % 3 == 0 ? 0 : 1;
      EXPECT_EQ(part.values[i],
                int64_t(column) < held[rank % 3]
                    ? whole.values[(row * 7 + first + column) * 2 + i % 2]
                    : 0);
    }
    ASSERT_EQ(cprt_tensor_join(&program, &good, rank, part.values.data(),
                               joined.values.data()),
              CPRT_OK);
  }
  EXPECT_EQ(joined, whole);
  // One too few, another axis between them, and a sum that is another.
  auto refuses = [&] {
    cprt_program_tensor wrong = tensor();
    Array part({2, 6, 2});
    return cprt_tensor_split(&program, &wrong, 0, whole.values.data(),
                             part.values.data()) == CPRT_INVALID_ARGUMENT;
  };
  cuts.pop_back();
  EXPECT_TRUE(refuses());
  cuts.push_back({1, 0, CPRT_CUT_SIZES, 6});
  EXPECT_TRUE(refuses());
  cuts.back() = {1, 1, CPRT_CUT_SIZES, 7};
  EXPECT_TRUE(refuses());
}

/// Behind a cut over another axis there are sizes for the ranks on both.
TEST(ProgramTable, SizesOfTheRanksOnSeveralAxes) {
  cprt_program program = programOf();
  const int64_t sizes[] = {9}, local[] = {3}, held[] = {3, 0, 1, 2, 1, 2};
  std::vector<cprt_cut> cuts = {{0, 0, 0, 1}};
  for (int64_t each : held)
    cuts.push_back({0, 1, CPRT_CUT_SIZES, each});
  cprt_program_tensor tensor = {
      "x",   CPRT_F64, CPRT_ROLE_DATA, 1,      int32_t(cuts.size()),
      sizes, local,    cuts.data(),    nullptr};
  std::mt19937_64 random(testSeed());
  Array whole = randomArray({9}, random), joined({9});
  size_t first = 0;
  for (int64_t rank = 0; rank < 6; ++rank) {
    Array part = randomArray({3}, random);
    ASSERT_EQ(cprt_tensor_split(&program, &tensor, rank, whole.values.data(),
                                part.values.data()),
              CPRT_OK);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(part.values[i],
                int64_t(i) < held[rank] ? whole.values[first + i] : 0);
    ASSERT_EQ(cprt_tensor_join(&program, &tensor, rank, part.values.data(),
                               joined.values.data()),
              CPRT_OK);
    first += size_t(held[rank]);
  }
  EXPECT_EQ(joined, whole);
  cuts.pop_back();
  tensor.num_cuts = int32_t(cuts.size());
  EXPECT_EQ(cprt_tensor_split(&program, &tensor, 0, whole.values.data(),
                              joined.values.data()),
            CPRT_INVALID_ARGUMENT);
}

TEST(ProgramTable, RefusesWhatMakesNoSense) {
  Cutting cutting(0);
  cprt_program program = programOf();
  cprt_program_tensor tensor = cutting.tensor();
  Array whole({4, 12, 2}), part({2, 4, 2});
  auto split = [&](int64_t rank) {
    return cprt_tensor_split(&program, &tensor, rank, whole.values.data(),
                             part.values.data());
  };
  EXPECT_EQ(split(5), CPRT_OK);
  for (int64_t rank : {-1, 6})
    EXPECT_EQ(split(rank), CPRT_INVALID_ARGUMENT);
  EXPECT_EQ(
      cprt_tensor_split(&program, &tensor, 0, nullptr, part.values.data()),
      CPRT_INVALID_ARGUMENT);
  EXPECT_EQ(cprt_tensor_split(nullptr, &tensor, 0, whole.values.data(),
                              part.values.data()),
            CPRT_INVALID_ARGUMENT);
  EXPECT_EQ(cprt_tensor_join(&program, nullptr, 0, part.values.data(),
                             whole.values.data()),
            CPRT_INVALID_ARGUMENT);
  for (cprt_cut wrong :
       {cprt_cut{3, 1, 0, 1}, cprt_cut{1, 2, 0, 1}, cprt_cut{1, 0, 0, 1},
        cprt_cut{1, 1, -1, 1}, cprt_cut{1, 1, 0, 0}, cprt_cut{1, 1, 0, 5}}) {
    cutting.cuts[1] = wrong;
    EXPECT_EQ(split(0), CPRT_INVALID_ARGUMENT)
        << wrong.dim << " " << wrong.axis << " " << wrong.order << " "
        << wrong.unit;
  }
}

TEST(ProgramTable, TermsAreToBeAddedUp) {
  Cutting cutting(0);
  cutting.cuts[0] = {CPRT_CUT_TERMS, 0, 0, 1};
  cutting.local[0] = 4;
  cprt_program program = programOf();
  cprt_program_tensor tensor = cutting.tensor();
  Array whole({4, 12, 2}), part({4, 4, 2});
  EXPECT_EQ(cprt_tensor_split(&program, &tensor, 0, whole.values.data(),
                              part.values.data()),
            CPRT_UNSUPPORTED);
  EXPECT_EQ(cprt_tensor_join(&program, &tensor, 0, part.values.data(),
                             whole.values.data()),
            CPRT_UNSUPPORTED);
}

TEST(ProgramTable, InterfacesThatRun) {
  char message[256];
  cprt_program program = programOf();
  EXPECT_EQ(cprt_program_check(&program, message, sizeof message), CPRT_OK);
  program.abi_minor = CPRT_PROGRAM_ABI_MINOR + 1;
  EXPECT_EQ(cprt_program_check(&program, message, sizeof message),
            CPRT_UNSUPPORTED);
  EXPECT_THAT(message, HasSubstr("the program is of interface 1.6, and this "
                                 "runtime runs 1.0 to 1.5"));
  program.abi_minor = 0;
  program.abi_major = CPRT_PROGRAM_ABI_MAJOR + 1;
  EXPECT_EQ(cprt_program_check(&program, message, sizeof message),
            CPRT_UNSUPPORTED);
  EXPECT_EQ(cprt_program_check(nullptr, message, sizeof message),
            CPRT_INVALID_ARGUMENT);
}
