//===- SafetensorsTest.cpp - Tests of valid safetensors files -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"

#include "cp/Files/Safetensors.h"

#include <cstring>

using namespace cp;
using namespace cp::test;

/// Bytes 0, 1, 2, ...
static std::vector<uint8_t> ramp(size_t count, uint8_t first = 0) {
  std::vector<uint8_t> out(count);
  for (size_t i = 0; i < count; ++i)
    out[i] = uint8_t(first + i);
  return out;
}

// The bytes as the format's document gives them, made by hand.
TEST(Safetensors, ReadsAHandMadeFile) {
  std::string file = safetensorsBytes(
      R"({"__metadata__":{"format":"pt"},)"
      R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[12,16]},)"
      R"("a":{"dtype":"F32","shape":[3,1],"data_offsets":[0,12]},)"
      R"("e":{"dtype":"I64","shape":[0,4],"data_offsets":[12,12]},)"
      R"("s":{"dtype":"I32","shape":[],"data_offsets":[16,20]}}   )",
      "abcdefghijklmnopqrst");
  auto tensors = TensorFile::fromBuffer(bufferOf(file));
  ASSERT_TRUE(bool(tensors)) << llvm::toString(tensors.takeError());
  ASSERT_EQ(tensors->tensors().size(), 4u);
  const TensorView *b = tensors->find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->dtype, DType::BF16);
  EXPECT_EQ(b->shape, std::vector<int64_t>{2});
  EXPECT_EQ(std::string(b->bytes.begin(), b->bytes.end()), "mnop");
  EXPECT_EQ(tensors->find("a")->shape, (std::vector<int64_t>{3, 1}));
  EXPECT_TRUE(tensors->find("e")->bytes.empty());
  EXPECT_TRUE(tensors->find("s")->shape.empty());
  EXPECT_EQ(tensors->find("zz"), nullptr);
  EXPECT_EQ(tensors->tensors()[0].name, "a");
  EXPECT_EQ(tensors->tensors()[3].name, "s");
}

TEST(Safetensors, ReadsAnEmptyFile) {
  auto tensors = TensorFile::fromBuffer(bufferOf(safetensorsBytes("{}", "")));
  ASSERT_TRUE(bool(tensors)) << llvm::toString(tensors.takeError());
  EXPECT_TRUE(tensors->tensors().empty());
}

// In any order and in pieces the same file as at once.
TEST(Safetensors, WriterTakesBytesInAnyOrder) {
  TempDir dir;
  std::vector<uint8_t> f = ramp(12, 'a'), d = ramp(16, 'A');
  std::vector<TensorView> views = {{"f", DType::F32, {3}, f},
                                   {"d", DType::F64, {1, 2}, d},
                                   {"none", DType::F32, {0}, {}}};
  std::string once = dir.path("once"), pieces = dir.path("pieces");
  ASSERT_FALSE(bool(writeSafetensors(once, views, {{"format", "pt"}})));
  for (TensorView &view : views)
    view.bytes = {};
  auto writer = SafetensorsWriter::create(pieces, views, {{"format", "pt"}});
  ASSERT_TRUE(bool(writer)) << llvm::toString(writer.takeError());
  llvm::ArrayRef<uint8_t> all = d, others = f;
  EXPECT_FALSE(bool(writer->write("d", 9, all.drop_front(9))));
  EXPECT_FALSE(bool(writer->write("f", 0, others.take_front(5))));
  EXPECT_FALSE(bool(writer->write("d", 0, all.take_front(9))));
  EXPECT_FALSE(bool(writer->write("f", 5, others.drop_front(5))));
  // Nobody sees it before all of it is there.
  EXPECT_FALSE(llvm::sys::fs::exists(pieces));
  EXPECT_FALSE(bool(writer->commit()));
  EXPECT_EQ(readAll(pieces), readAll(once));
}

TEST(Safetensors, WriterThatGoesLeavesNothing) {
  TempDir dir;
  std::vector<TensorView> views = {{"f", DType::F32, {3}, {}}};
  {
    auto writer = SafetensorsWriter::create(dir.path("x"), views);
    ASSERT_TRUE(bool(writer)) << llvm::toString(writer.takeError());
    std::vector<uint8_t> bytes = ramp(8);
    expectParts(errorOf(writer->write("f", 5, bytes)),
                {"tensor 'f' has no place for 8 bytes from 5 on"});
    expectParts(errorOf(writer->write("g", 0, bytes)),
                {"tensor 'g' has no place"});
    expectParts(errorOf(writer->write("f", -1, bytes)), {"from -1 on"});
  }
  EXPECT_TRUE(dir.list().empty());
}

// Names and sizes are checked against what was written, bytes against a file
// made by hand.
TEST(Safetensors, WritesTheDocumentedBytes) {
  TempDir dir;
  std::vector<uint8_t> f = ramp(4, 'a'), d = ramp(8, 'A');
  TensorView small{"small", DType::F32, {1}, f};
  TensorView big{"big", DType::F64, {1, 1}, d};
  std::string path = dir.path("out.safetensors");
  ASSERT_EQ(errorOf(writeSafetensors(path, {small, big})), "");
  std::string header =
      R"({"big":{"dtype":"F64","shape":[1,1],"data_offsets":[0,8]},)"
      R"("small":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(readAll(path), safetensorsBytes(header, "ABCDEFGHabcd"));
  EXPECT_EQ(dir.list(), std::vector<std::string>{"out.safetensors"});
}

TEST(Safetensors, WritingDoesNotDependOnTheOrder) {
  TempDir dir;
  std::vector<uint8_t> x = ramp(12), y = ramp(8, 50), z = ramp(2, 90);
  TensorView a{"a\n\"\xc3\xa9", DType::F32, {3}, x};
  TensorView b{"b", DType::I64, {1}, y};
  TensorView c{"c", DType::BF16, {1}, z};
  std::string one = dir.path("1"), two = dir.path("2");
  ASSERT_EQ(errorOf(writeSafetensors(one, {a, b, c}, {{"format", "pt"}})), "");
  ASSERT_EQ(errorOf(writeSafetensors(two, {c, a, b}, {{"format", "pt"}})), "");
  EXPECT_EQ(readAll(one), readAll(two));
  auto file = TensorFile::open(one);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->label(), one);
  const TensorView *back = file->find(a.name);
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->bytes, llvm::ArrayRef<uint8_t>(x));
  EXPECT_EQ(back->shape, a.shape);
  EXPECT_EQ(file->find("c")->dtype, DType::BF16);
}

// Large enough to be mapped; moving the file keeps the views.
TEST(Safetensors, MapsAndMoves) {
  TempDir dir;
  std::vector<uint8_t> bytes = ramp(1 << 20);
  TensorView big{"big", DType::U8, {1 << 20}, bytes};
  ASSERT_EQ(errorOf(writeSafetensors(dir.path("f"), {big})), "");
  auto file = TensorFile::open(dir.path("f"));
  ASSERT_TRUE(bool(file));
  TensorFile moved = std::move(*file);
  EXPECT_EQ(moved.find("big")->bytes, llvm::ArrayRef<uint8_t>(bytes));
}

TEST(Safetensors, ReadsTheShardsOfAnIndex) {
  TempDir dir;
  std::vector<uint8_t> x = ramp(4), y = ramp(4, 9);
  TensorView a{"a", DType::F32, {1}, x}, b{"b", DType::F32, {1}, y};
  TensorView stale{"a", DType::F32, {1}, y};
  ASSERT_EQ(errorOf(writeSafetensors(dir.path("1.safetensors"), {a})), "");
  // What the index maps elsewhere does not count here.
  ASSERT_EQ(errorOf(writeSafetensors(dir.path("2.safetensors"), {b, stale})),
            "");
  std::string index = dir.write(
      "m.safetensors.index.json",
      R"({"metadata":{"total_size":8},"weight_map":{"b":"2.safetensors",)"
      R"("a":"1.safetensors"}})");
  auto file = TensorFile::open(index);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  ASSERT_EQ(file->tensors().size(), 2u);
  EXPECT_EQ(file->find("a")->bytes, llvm::ArrayRef<uint8_t>(x));
  EXPECT_EQ(file->find("b")->bytes, llvm::ArrayRef<uint8_t>(y));
  // But it is not forgotten.
  ASSERT_EQ(file->strays().size(), 1u);
  EXPECT_EQ(file->strays()[0].name, "a");
  EXPECT_EQ(file->strays()[0].bytes, llvm::ArrayRef<uint8_t>(y));
}

TEST(Safetensors, KnowsItsTypes) {
  for (const char *name : {"BOOL", "U8", "I8", "U16", "I16", "F16", "BF16",
                           "U32", "I32", "F32", "U64", "I64", "F64"}) {
    std::optional<DType> dtype = parseDType(name);
    ASSERT_TRUE(dtype.has_value()) << name;
    EXPECT_EQ(dtypeName(*dtype), name);
    // The digits of a name are its bits; BOOL alone has none.
    llvm::StringRef digits = llvm::StringRef(name).ltrim("BFIUOL");
    int bits = digits.empty() ? 8 : std::stoi(digits.str());
    EXPECT_EQ(dtypeBytes(*dtype) * 8, bits) << name;
  }
  EXPECT_FALSE(parseDType("f32").has_value());
}

TEST(Safetensors, CountsBytesWithoutOverflow) {
  int64_t half = int64_t(1) << 32;
  EXPECT_EQ(tensorBytes({}, DType::F64), 8);
  EXPECT_EQ(tensorBytes({2, 3}, DType::F32), 24);
  EXPECT_EQ(tensorBytes({half, half, 0}, DType::F64), 0);
  EXPECT_EQ(tensorBytes({half, half}, DType::U8), std::nullopt);
  EXPECT_EQ(tensorBytes({half, half / 8}, DType::U8), int64_t(1) << 61);
  EXPECT_EQ(tensorBytes({half, half / 8}, DType::F32), std::nullopt);
  EXPECT_EQ(tensorBytes({-1, 0}, DType::U8), std::nullopt);
}
