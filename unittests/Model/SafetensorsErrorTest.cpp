//===- SafetensorsErrorTest.cpp - Tests of hostile tensor files -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"

#include "cp/Files/Safetensors.h"

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace cp;
using namespace cp::test;

static std::string errorIn(llvm::StringRef bytes) {
  std::string error = errorOf(TensorFile::fromBuffer(bufferOf(bytes)));
  EXPECT_FALSE(error.empty()) << "accepted: " << bytes.str();
  EXPECT_EQ(error.rfind("'memory': ", 0), 0u) << error;
  return error;
}

/// The error for a file of 8 data bytes with this header.
static std::string headerError(llvm::StringRef header) {
  return errorIn(safetensorsBytes(header, "12345678"));
}

/// The same for one tensor "t" of these three members.
static std::string tensorError(llvm::StringRef members) {
  return headerError(("{\"t\":{" + members + "}}").str());
}

TEST(SafetensorsErrors, TruncatedFile) {
  expectParts(errorIn(""), {"8 bytes", "0 bytes", "truncated"});
  expectParts(errorIn("1234567"), {"8 bytes", "7 bytes"});
  std::string whole = safetensorsBytes(
      R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "12345678");
  for (size_t size = 0; size < whole.size(); ++size)
    errorIn(llvm::StringRef(whole).take_front(size));
}

TEST(SafetensorsErrors, HeaderLength) {
  std::string bytes = safetensorsBytes("{}", "");
  bytes[0] = 3;
  expectParts(errorIn(bytes), {"header length", "at most the 2", "got 3"});
  // 2^63, and all ones, which would wrap around when 8 is added.
  std::string huge = std::string("\0\0\0\0\0\0\0\x80", 8) + "{}";
  expectParts(errorIn(huge), {"header length", "9223372036854775808"});
  expectParts(errorIn(std::string(8, '\xff') + "{}"),
              {"header length", "18446744073709551615"});
  expectParts(errorIn(std::string(8, '\0')), {"starts with '{'"});
  std::string longHeader(100000001, ' ');
  longHeader[0] = '{';
  expectParts(errorIn(safetensorsBytes(longHeader, "")),
              {"header length", "100000000", "100000001"});
}

TEST(SafetensorsErrors, HeaderText) {
  expectParts(headerError(" {}"), {"starts with '{'"});
  expectParts(headerError("[]"), {"starts with '{'"});
  expectParts(headerError("{\"a\":}"), {"header", "valid JSON"});
  expectParts(headerError("{} x"), {"valid JSON"});
  expectParts(headerError("{\"\xff\":1}"), {"valid JSON", "UTF-8"});
  expectParts(headerError("{\"a"), {"valid JSON"});
  expectParts(headerError("{\"a\\"), {"valid JSON"});
  expectParts(headerError("{\"t\":Infinity}"), {"valid JSON"});
  std::string deep = "{\"t\":" + std::string(1000000, '[');
  expectParts(headerError(deep), {"64 levels"});
  expectParts(headerError("{\"__metadata__\":1}"),
              {"__metadata__", "object of strings", "got 1"});
  expectParts(headerError("{\"__metadata__\":{\"k\":[]}}"),
              {"__metadata__", "'k'", "a list"});
}

TEST(SafetensorsErrors, NamesTwice) {
  std::string t = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  std::string u = R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})";
  expectParts(headerError("{\"t\":" + t + ",\"t\":" + u + "}"),
              {"each name once", "'t'"});
  // The same name in another spelling.
  expectParts(headerError("{\"t\":" + t + ",\"\\u0074\" :" + u + "}"),
              {"each name once", "'t'"});
  expectParts(tensorError(R"("dtype":"F32","dtype":"F32")"),
              {"each name once", "'dtype'"});
}

TEST(SafetensorsErrors, Members) {
  expectParts(headerError(R"({"t":[]})"), {"'t'", "an object", "a list"});
  expectParts(
      tensorError(
          R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"stride":[1])"),
      {"'t'", "got also 'stride'"});
  expectParts(tensorError(R"("shape":[2],"data_offsets":[0,8])"),
              {"'t'", "dtype", "no string"});
  expectParts(tensorError(R"("dtype":"F33","shape":[2],"data_offsets":[0,8])"),
              {"'t'", "dtype", "'F33'"});
  expectParts(tensorError(R"("dtype":"F32","data_offsets":[0,8])"),
              {"'t'", "shape", "list of sizes"});
  expectParts(tensorError(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"),
              {"'t'", "shape", "got -2"});
  expectParts(
      tensorError(R"("dtype":"F32","shape":[1.5],"data_offsets":[0,8])"),
      {"'t'", "shape", "got 1.5"});
  expectParts(tensorError(R"("dtype":"F32","shape":[9223372036854775808],)"
                          R"("data_offsets":[0,8])"),
              {"'t'", "shape", "9223372036854775808"});
  expectParts(tensorError(R"("dtype":"F32","shape":[4294967296,4294967296],)"
                          R"("data_offsets":[0,8])"),
              {"'t'", "shape", "2^63"});
  expectParts(tensorError(R"("dtype":"F64","shape":[2],"data_offsets":[0,8])"),
              {"'t'", "16 bytes of F64[2]", "got 8"});
}

TEST(SafetensorsErrors, Offsets) {
  auto offsets = [](const char *text) {
    return tensorError(
        std::string(R"("dtype":"F32","shape":[2],"data_offsets":)") + text);
  };
  expectParts(offsets("[0]"), {"'t'", "data_offsets", "[begin, end]"});
  expectParts(offsets("{}"), {"'t'", "data_offsets", "[begin, end]"});
  expectParts(offsets("[-1,7]"), {"'t'", "data_offsets", "got -1"});
  expectParts(offsets("[0,\"8\"]"), {"'t'", "data_offsets", "string '8'"});
  expectParts(offsets("[8,0]"), {"'t'", "begin <= end", "[8, 0]"});
  expectParts(offsets("[1,9]"), {"'t'", "<= 8", "[1, 9]"});
  expectParts(offsets("[18446744073709551608,18446744073709551615]"),
              {"'t'", "<= 8"});
}

TEST(SafetensorsErrors, EveryByteInOneTensor) {
  auto two = [](const char *first, const char *second) {
    return headerError(
        std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") +
        first + R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second +
        "}}");
  };
  expectParts(two("[0,4]", "[3,7]"),
              {"'b'", "begin at 4", "got 3", "overlaps"});
  expectParts(two("[0,4]", "[0,4]"), {"'b'", "overlaps"});
  expectParts(
      headerError(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})"),
      {"'a'", "begin at 0", "got 4", "in no tensor"});
  expectParts(
      headerError(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})"),
      {"expected 4 bytes", "got 8"});
}

TEST(SafetensorsErrors, HostileNamesAreEscapedAndCut) {
  std::string name(1000, 'x');
  std::string error = headerError("{\"\\u001b[2J" + name + "\":1}");
  expectParts(error, {"\\1B[2J", "..."});
  EXPECT_LT(error.size(), 300u);
}

TEST(SafetensorsErrors, Paths) {
  TempDir dir;
  expectParts(errorOf(TensorFile::open(dir.path("none"))),
              {"none", "cannot open"});
  expectParts(errorOf(TensorFile::open(dir.path("."))), {"a directory"});
  ASSERT_EQ(mkfifo(dir.path("pipe").c_str(), 0600), 0);
  expectParts(errorOf(TensorFile::open(dir.path("pipe"))), {"a pipe"});
}

TEST(SafetensorsErrors, Index) {
  TempDir dir;
  auto indexError = [&](llvm::StringRef text) {
    return errorOf(
        TensorFile::open(dir.write("m.safetensors.index.json", text)));
  };
  expectParts(indexError("{"), {"index.json", "valid JSON"});
  expectParts(indexError("{}"), {"weight_map"});
  expectParts(indexError("[]"), {"weight_map"});
  for (const char *name :
       {"\"../x\"", "\"/etc/passwd\"", "\"..\"", "\"\"", "7", "\"a\\u0000b\""})
    expectParts(
        indexError(std::string("{\"weight_map\":{\"w\":") + name + "}}"),
        {"'w'", "beside the index"});
  expectParts(indexError(R"({"weight_map":{"w":"a","w":"b"}})"),
              {"each name once"});
  expectParts(indexError(R"({"weight_map":{"w":"none"}})"),
              {"in its shard", "none", "cannot open"});
  // An index that names itself does not loop.
  expectParts(indexError(R"({"weight_map":{"w":"m.safetensors.index.json"}})"),
              {"in its shard", "header length"});
  dir.write("s", safetensorsBytes("{}", ""));
  expectParts(indexError(R"({"weight_map":{"w":"s"}})"),
              {"'w'", "does not hold it"});
}

TEST(SafetensorsErrors, Writing) {
  TempDir dir;
  std::string path = dir.path("f");
  uint8_t bytes[8] = {};
  TensorView good{"t", DType::F32, {2}, bytes};
  auto with = [&](auto change) {
    TensorView tensor = good;
    change(tensor);
    return errorOf(writeSafetensors(path, {tensor}));
  };
  expectParts(with([](TensorView &t) { t.shape = {3}; }),
              {"'t'", "12 bytes of F32[3]", "got 8"});
  expectParts(with([](TensorView &t) { t.shape = {-1}; }),
              {"'t'", "shape [-1]"});
  expectParts(with([](TensorView &t) { t.name = "__metadata__"; }),
              {"__metadata__", "reserves"});
  expectParts(with([](TensorView &t) { t.name = "\xff"; }), {"UTF-8"});
  expectParts(errorOf(writeSafetensors(path, {good, good})),
              {"'t'", "each name once"});
  expectParts(errorOf(writeSafetensors(path, {good}, {{"k", "\xff"}})),
              {"metadata 'k'", "UTF-8"});
  expectParts(errorOf(writeSafetensors(dir.path("no/f"), {good})),
              {"cannot create a file beside it"});
  EXPECT_TRUE(dir.list().empty());
}

// A full disk, imitated by a limit on the size of a file: the old file stays.
TEST(SafetensorsErrors, WritingKeepsTheOldFileWhenTheDiskIsFull) {
  TempDir dir;
  std::string path = dir.write("f", "old");
  std::vector<uint8_t> bytes(1 << 20);
  TensorView big{"t", DType::U8, {1 << 20}, bytes};
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = {4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string error = errorOf(writeSafetensors(path, {big}));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  expectParts(error, {"cannot write"});
  EXPECT_EQ(readAll(path), "old");
  EXPECT_EQ(dir.list().size(), 1u);
}
