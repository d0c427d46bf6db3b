//===- ConvertTest.cpp - Tests of conversions and of token ids ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"

#include "cp/Files/Convert.h"
#include "cp/Model/Random.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <cstring>

using namespace cp;
using namespace cp::test;
using llvm::APFloat;

namespace {

const llvm::fltSemantics &semanticsOf(DType dtype) {
  switch (dtype) {
  case DType::F16:
    return APFloat::IEEEhalf();
  case DType::BF16:
    return APFloat::BFloat();
  case DType::F32:
    return APFloat::IEEEsingle();
  default:
    return APFloat::IEEEdouble();
  }
}

/// One element through convertElements(), by its bits.
llvm::Expected<uint64_t> convertBits(uint64_t bits, DType from, DType to) {
  std::vector<uint8_t> bytes(dtypeBytes(from));
  std::memcpy(bytes.data(), &bits, bytes.size());
  auto out = convertElements(bytes, from, to, "x");
  if (!out)
    return out.takeError();
  uint64_t result = 0;
  EXPECT_EQ(int64_t(out->size()), dtypeBytes(to));
  std::memcpy(&result, out->data(), out->size());
  return result;
}

/// Against LLVM's software floating point.
void expectAsAPFloat(uint64_t bits, DType from, DType to) {
  SCOPED_TRACE(llvm::utohexstr(bits) + " of " + dtypeName(from).str() + " to " +
               dtypeName(to).str());
  APFloat value(semanticsOf(from),
                llvm::APInt(unsigned(8 * dtypeBytes(from)), bits));
  bool wasFinite = value.isFinite(), lost;
  value.convert(semanticsOf(to), APFloat::rmNearestTiesToEven, &lost);
  auto result = convertBits(bits, from, to);
  if (wasFinite && !value.isFinite()) {
    expectParts(errorOf(std::move(result)), {"x: element 0", "got "});
    return;
  }
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  APFloat got(semanticsOf(to),
              llvm::APInt(unsigned(8 * dtypeBytes(to)), *result));
  EXPECT_TRUE(got.bitwiseIsEqual(value) || (got.isNaN() && value.isNaN()));
  EXPECT_EQ(got.isNegative(), value.isNegative());
}

} // namespace

TEST(Convert, EveryHalf) {
  for (uint64_t bits = 0; bits < 65536; ++bits)
    for (DType from : {DType::F16, DType::BF16})
      for (DType to : {DType::BF16, DType::F32, DType::F64})
        expectAsAPFloat(bits, from, to);
}

TEST(Convert, RoundsOnceToNearestEven) {
  // Near each bf16 and half-way between two, from both sides.
  for (uint64_t upper = 0; upper < 65536; upper += 7)
    for (uint64_t lower : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      expectAsAPFloat(upper << 16 | lower, DType::F32, DType::BF16);
  for (uint64_t i = 0; i < 200000; ++i) {
    uint64_t bits = splitMix64(7, i);
    expectAsAPFloat(bits & 0xffffffff, DType::F32, DType::BF16);
    expectAsAPFloat(bits, DType::F64, DType::F32);
    // Half-way between two bf16 but for bits that a float has not.
    double middle = double(1 + (i % 128) / 128.0 + 1 / 256.0);
    uint64_t near;
    std::memcpy(&near, &middle, sizeof(near));
    near ^= i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : -uint64_t(1) >> 40;
    expectAsAPFloat(near, DType::F64, DType::BF16);
    expectAsAPFloat(bits >> 2 | 1ull << 61, DType::F64, DType::BF16);
  }
}

TEST(Convert, WhatConverts) {
  EXPECT_TRUE(isConvertible(DType::F16, DType::F32));
  EXPECT_TRUE(isConvertible(DType::U16, DType::I32));
  EXPECT_TRUE(isConvertible(DType::Bool, DType::Bool));
  EXPECT_FALSE(isConvertible(DType::F32, DType::F16));
  EXPECT_FALSE(isConvertible(DType::I32, DType::F32));
  EXPECT_FALSE(isConvertible(DType::F32, DType::I32));
  EXPECT_FALSE(isConvertible(DType::U64, DType::I64));
  EXPECT_TRUE(isExact(DType::F16, DType::F32));
  EXPECT_FALSE(isExact(DType::F16, DType::BF16));
  EXPECT_FALSE(isExact(DType::F64, DType::F32));
}

TEST(Convert, Integers) {
  EXPECT_EQ(llvm::cantFail(convertBits(0xffffffff, DType::I32, DType::I64)),
            ~0ull);
  EXPECT_EQ(llvm::cantFail(convertBits(0xffff, DType::U16, DType::I32)),
            0xffffull);
  EXPECT_EQ(llvm::cantFail(convertBits(~0ull - 1, DType::I64, DType::I32)),
            0xfffffffeull);
  expectParts(errorOf(convertBits(1ull << 31, DType::I64, DType::I32)),
              {"x: element 0", "I32", "2147483648"});
}

TEST(TokenIds, ReadsNumbersBetweenSpaceAndCommas) {
  auto ids = parseTokenIds(" 1 22\n3,4 , 5\t-6\r\n", "f.ids");
  ASSERT_TRUE(bool(ids)) << llvm::toString(ids.takeError());
  EXPECT_EQ(*ids, (std::vector<int64_t>{1, 22, 3, 4, 5, -6}));
  for (const char *none : {"", " \n"})
    EXPECT_TRUE(llvm::cantFail(parseTokenIds(none, "f")).empty());
}

TEST(TokenIds, RefusesTheRest) {
  auto errorIn = [](const char *text) {
    return errorOf(parseTokenIds(text, "f.ids"));
  };
  expectParts(errorIn("1 2\n3 four"),
              {"'f.ids':2: expected whole numbers", "got 'four'"});
  expectParts(errorIn("1, 2.5"), {"'f.ids':1", "got '2.5'"});
  expectParts(errorIn("1,,2"), {"got ','"});
  expectParts(errorIn(",1"), {"got ','"});
  expectParts(errorIn("1,2,"), {"the end behind a comma"});
  expectParts(errorIn("[1]"), {"got '[1]'"});
  expectParts(errorIn("1-2"), {"got '1-2'"});
  expectParts(errorIn("99999999999999999999"), {"got '99999999999999999999'"});
}
