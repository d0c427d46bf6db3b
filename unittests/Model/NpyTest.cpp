//===- NpyTest.cpp - Tests of .npy files ----------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"

#include "cp/Files/Npy.h"

#include <cstring>

using namespace cp;
using namespace cp::test;

/// A file of version 1.0 with this dictionary and data.
static std::string npyBytes(llvm::StringRef dict, llvm::StringRef data) {
  char length[2];
  llvm::support::endian::write16le(length, uint16_t(dict.size()));
  return std::string("\x93NUMPY\x01\0", 8) + std::string(length, 2) +
         dict.str() + data.str();
}

static std::string errorIn(llvm::StringRef bytes) {
  std::string error = errorOf(parseNpy(bytes, "in.npy"));
  EXPECT_TRUE(error.empty() || error.rfind("'in.npy': ", 0) == 0) << error;
  return error;
}

// What numpy.save writes for numpy.arange(3, dtype='<i4'), byte for byte.
static const std::string fromNumpy =
    std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
    "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }" +
    std::string(60, ' ') + "\n" + std::string("\0\0\0\0\1\0\0\0\2\0\0\0", 12);

TEST(Npy, ReadsWhatNumpyWrites) {
  auto array = parseNpy(fromNumpy, "in.npy");
  ASSERT_TRUE(bool(array)) << llvm::toString(array.takeError());
  EXPECT_EQ(array->dtype, DType::I32);
  EXPECT_EQ(array->shape, std::vector<int64_t>{3});
  int32_t values[3];
  ASSERT_EQ(array->bytes.size(), sizeof(values));
  std::memcpy(values, array->bytes.data(), sizeof(values));
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[2], 2);
}

TEST(Npy, WritesWhatNumpyWrites) {
  TempDir dir;
  int32_t values[3] = {0, 1, 2};
  llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<uint8_t *>(values), 12);
  ASSERT_EQ(errorOf(writeNpy(dir.path("f"), DType::I32, {3}, bytes)), "");
  EXPECT_EQ(readAll(dir.path("f")), fromNumpy);
}

TEST(Npy, RoundTripsEveryTypeAndRank) {
  TempDir dir;
  std::vector<std::vector<int64_t>> shapes = {
      {}, {5}, {2, 3}, {0, 7}, {1, 2, 3}};
  for (DType dtype : {DType::F32, DType::F64, DType::I32, DType::I64})
    for (const std::vector<int64_t> &shape : shapes) {
      Bytes bytes(*tensorBytes(shape, dtype));
      for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = uint8_t(3 * i + 1);
      ASSERT_EQ(errorOf(writeNpy(dir.path("f"), dtype, shape, bytes)), "");
      auto back = readNpy(dir.path("f"));
      ASSERT_TRUE(bool(back)) << llvm::toString(back.takeError());
      EXPECT_EQ(back->dtype, dtype);
      EXPECT_EQ(back->shape, shape);
      EXPECT_EQ(back->bytes, bytes);
      // The format wants the data at a multiple of 64.
      EXPECT_EQ((readAll(dir.path("f")).size() - bytes.size()) % 64, 0u);
    }
}

TEST(Npy, ReadsVersion2AndOtherSpellings) {
  std::string dict = "{ 'shape':(2 ,1), 'fortran_order' : False,'descr':'<f4'}";
  char length[4];
  llvm::support::endian::write32le(length, uint32_t(dict.size()));
  std::string file = std::string("\x93NUMPY\x02\0", 8) +
                     std::string(length, 4) + dict + "12345678";
  auto array = parseNpy(file, "in.npy");
  ASSERT_TRUE(bool(array)) << llvm::toString(array.takeError());
  EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 1}));
  expectParts(errorIn(llvm::StringRef(file).take_front(11)), {"truncated"});
}

TEST(Npy, TruncatedFiles) {
  for (size_t size = 0; size < fromNumpy.size(); ++size)
    EXPECT_NE(errorIn(llvm::StringRef(fromNumpy).take_front(size)), "");
  expectParts(errorIn(fromNumpy + "x"), {"12 bytes of shape [3]", "got 13"});
}

TEST(Npy, RefusesByName) {
  auto dict = [](const char *descr, const char *order, const char *shape) {
    return errorIn(npyBytes(std::string("{'descr': ") + descr +
                                ", 'fortran_order': " + order +
                                ", 'shape': " + shape + "}",
                            "12345678"));
  };
  EXPECT_EQ(dict("'<f4'", "False", "(2,)"), "");
  expectParts(dict("'>f4'", "False", "(2,)"), {"descr", "'>f4'", "astype"});
  expectParts(dict("'<c8'", "False", "(1,)"), {"descr", "'<c8'"});
  expectParts(dict("'<f4'", "True", "(2,)"), {"fortran_order", "got True"});
  expectParts(dict("'<f4'", "False", "(3,)"), {"12 bytes", "[3]", "got 8"});
  expectParts(dict("'<f4'", "False", "(4294967296, 4294967296)"),
              {"more than 2^63-1"});
  for (const char *shape : {"(2)", "(-2,)", "(2,,)", "2", "(2,", "(a,)",
                            "(99999999999999999999,)", "[2]"})
    expectParts(dict("'<f4'", "False", shape), {"header", "dictionary"});
  expectParts(dict("'<f4", "False", "(2,)"), {"dictionary"});
  expectParts(dict("'<f\\x34'", "False", "(2,)"), {"dictionary"});
  expectParts(dict("'<f4'", "Maybe", "(2,)"), {"dictionary"});
  expectParts(dict("'<f4'", "False", "(2,), 'shape': (2,)"), {"dictionary"});
  expectParts(dict("'<f4'", "False", "(2,), 'x': 1"), {"dictionary"});
  expectParts(errorIn(npyBytes("{'descr': '<f4'}", "")), {"dictionary"});
  // Three keys, one of them twice and one missing.
  expectParts(errorIn(npyBytes("{'descr': '<f4', 'descr': '<f4', 'shape': ()}",
                               "1234")),
              {"dictionary"});
  std::string version3 = fromNumpy;
  version3[6] = 3;
  expectParts(errorIn(version3), {"version 1.0 or 2.0", "got 3.0"});
  expectParts(errorIn("not an array"), {"expected a .npy file"});
}

TEST(Npy, WritingErrors) {
  TempDir dir;
  uint8_t bytes[8] = {};
  auto write = [&](const char *name, DType dtype, std::vector<int64_t> shape) {
    return errorOf(writeNpy(dir.path(name), dtype, shape, bytes));
  };
  expectParts(write("f", DType::BF16, {4}), {"F32, F64, I32 or I64", "BF16"});
  expectParts(write("f", DType::F32, {3}), {"F32[3]", "got 8"});
  expectParts(write("f", DType::F32, {-2}), {"F32[-2]"});
  expectParts(write("no/f", DType::F32, {2}), {"cannot create"});
  std::vector<int64_t> ones(30000, 1);
  expectParts(errorOf(writeNpy(dir.path("f"), DType::F64, ones, bytes)),
              {"header of at most 65535"});
  expectParts(errorOf(readNpy(dir.path("f"))), {"cannot open"});
  EXPECT_TRUE(dir.list().empty());
}
