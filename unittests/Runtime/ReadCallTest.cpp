//===- ReadCallTest.cpp - Calls of operations of one's own ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include "TestOperations.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace cp::test;

namespace {

int64_t bitsOf(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// What reading a call gives, or says.
struct Read {
  World world{{1}};
  test_mix_call call;
  int isRead;

  explicit Read(const Call &made) {
    isRead = test_mix_read(world.context(0), made.table().data(),
                           made.pointers().data(), &call);
  }
  std::string message() { return cprt_context_message(world.context(0)); }
};

class ReadCall : public testing::Test {
protected:
  Tensor x{CPRT_F32, Sizes{3}}, bias{CPRT_F32, Sizes{3}},
      ids{CPRT_I64, Sizes{3}}, last{CPRT_F32, Sizes{3}}, y{CPRT_F32, Sizes{3}};

  Call attrs(Call call) {
    call.out(y).attr(bitsOf(0.25)).array({7, 8}).attr(1).attr(-5).attr(2);
    return call;
  }
  void expectRefused(const Call &call, const std::string &text) {
    Read read(call);
    EXPECT_EQ(read.isRead, 0);
    EXPECT_EQ(cprt_context_status(read.world.context(0)),
              CPRT_INVALID_ARGUMENT);
    EXPECT_NE(read.message().find("test_mix (call 0): " + text),
              std::string::npos)
        << read.message();
  }
};

} // namespace

TEST_F(ReadCall, GivesEverythingByItsName) {
  Call call = attrs(Call().in(x).in(bias).in(ids).in(last));
  Read read(call);
  ASSERT_EQ(read.isRead, 1) << read.message();
  EXPECT_EQ(read.call.x.data, x.data());
  EXPECT_EQ(read.call.bias.data, bias.data());
  EXPECT_EQ(read.call.ids.data, ids.data());
  EXPECT_EQ(read.call.ids.dtype, CPRT_I64);
  EXPECT_EQ(read.call.last.data, last.data());
  EXPECT_EQ(read.call.y.data, y.data());
  EXPECT_EQ(read.call.y.rank, 1);
  EXPECT_EQ(read.call.scale, 0.25);
  EXPECT_EQ(read.call.places_size, 2);
  EXPECT_EQ(read.call.flag, 1);
  EXPECT_EQ(read.call.offset, -5);
  EXPECT_EQ(read.call.count, 2);
}

TEST_F(ReadCall, PointsIntoTheTable) {
  World world({1});
  std::vector<int64_t> table = attrs(Call().in(x).none().in(ids)).table();
  std::vector<void *> pointers = {x.data(), nullptr, ids.data(), y.data()};
  test_mix_call call;
  ASSERT_EQ(
      test_mix_read(world.context(0), table.data(), pointers.data(), &call), 1);
  EXPECT_EQ(call.x.sizes[0], 3);
  EXPECT_EQ(call.y.strides[0], 1);
  EXPECT_EQ(call.places[0], 7);
  EXPECT_EQ(call.places[1], 8);
}

TEST_F(ReadCall, InputsThatAreLeftOutHaveNoData) {
  for (const Call &call : {attrs(Call().in(x).none().in(ids)),
                           attrs(Call().in(x).none().in(ids).none())}) {
    Read read(call);
    ASSERT_EQ(read.isRead, 1) << read.message();
    for (const cprt_buffer &buffer : {read.call.bias, read.call.last}) {
      EXPECT_EQ(buffer.data, nullptr);
      EXPECT_EQ(buffer.dtype, CPRT_ABSENT);
      EXPECT_EQ(buffer.rank, 0);
    }
    EXPECT_EQ(read.call.ids.data, ids.data());
    EXPECT_EQ(read.call.y.data, y.data());
  }
}

TEST_F(ReadCall, RefusesOtherForms) {
  expectRefused(attrs(Call().in(x).in(bias)),
                "found 2 inputs and 1 outputs, expected 3 to 4 and 1");
  expectRefused(attrs(Call().none().in(bias).in(ids)),
                "input 0 (x) is left out, but it is not optional");
  expectRefused(attrs(Call().in(x).in(bias).in(ids).out(y)),
                "found 3 inputs and 2 outputs");
  expectRefused(attrs(Call().in(x).in(bias).in(ids)).attr(1),
                "found 8 attribute words, expected 7");
  Call start = Call().in(x).in(bias).in(ids).out(y);
  expectRefused(start, "attribute 'scale' is missing: found 0");
  expectRefused(Call(start).attr(-1), "attribute 'scale' is NaN");
  start.attr(bitsOf(1));
  expectRefused(Call(start).attr(-1), "attribute 'places' is -1, expected 0");
  expectRefused(Call(start).attr(2).attr(0),
                "attribute 'places' is 2, expected 0 to 1");
  start.array({});
  expectRefused(Call(start).attr(2), "attribute 'flag' is 2, expected 0 to 1");
  expectRefused(Call(start).attr(1).attr(-9).attr(1),
                "attribute 'count' is 1, expected 2 to");
}

TEST_F(ReadCall, WithoutInputsAndAttributes) {
  World world({1});
  test_plain_call call;
  std::vector<int64_t> table = Call().out(y).table();
  void *pointers[] = {y.data()};
  ASSERT_EQ(test_plain_read(world.context(0), table.data(), pointers, &call),
            1);
  EXPECT_EQ(call.y.data, y.data());
  EXPECT_EQ(test_plain_read(world.context(0), table.data(), nullptr, &call), 0);
  EXPECT_NE(std::string(cprt_context_message(world.context(0)))
                .find("the list of buffers is null"),
            std::string::npos);
}

TEST_F(ReadCall, RefusesNulls) {
  const cprt_tensor any[] = {{"any", CPRT_REQUIRED}};
  const cprt_attribute flag[] = {{"flag", CPRT_WORD_FLAG, 0}};
  const cprt_signature signature = {"f", nullptr, 0, any, 1, flag, 1};
  std::vector<int64_t> table = Call().out(y).attr(1).table();
  void *pointers[] = {y.data()};
  cprt_buffer buffers[1];
  const int64_t *words[1];
  struct {
    const cprt_signature *signature;
    cprt_buffer *buffers;
    const int64_t **words;
  } const lacks[] = {{nullptr, buffers, words},
                     {&signature, nullptr, words},
                     {&signature, buffers, nullptr}};
  World sound({1});
  EXPECT_EQ(cprt_read_call(sound.context(0), &signature, table.data(), pointers,
                           buffers, words),
            1);
  for (const auto &lack : lacks) {
    World world({1});
    EXPECT_EQ(cprt_read_call(world.context(0), lack.signature, table.data(),
                             pointers, lack.buffers, lack.words),
              0);
    EXPECT_EQ(cprt_context_status(world.context(0)), CPRT_INVALID_ARGUMENT);
  }
  EXPECT_EQ(cprt_read_call(nullptr, &signature, table.data(), pointers, buffers,
                           words),
            0);
}

/// Of what is beside any number of others as many as are required.
TEST_F(ReadCall, CountsWhatIsBesideVariadicTensors) {
  const cprt_tensor ins[] = {{"x", CPRT_REQUIRED}, {"rest", CPRT_VARIADIC}},
                    outs[] = {{"y", CPRT_REQUIRED}};
  const cprt_signature signature = {"f", ins, 2, outs, 1, nullptr, 0};
  for (int count : {0, 1, 3}) {
    World world({1});
    Call call;
    for (int i = 0; i < count; ++i)
      call.in(x);
    call.out(y);
    cprt_buffer buffers[4];
    EXPECT_EQ(cprt_read_call(world.context(0), &signature, call.table().data(),
                             call.pointers().data(), buffers, nullptr),
              count > 0);
    if (count)
      EXPECT_EQ(buffers[count].data, y.data());
    else
      EXPECT_NE(std::string(cprt_context_message(world.context(0)))
                    .find("found 0 inputs and 1 outputs, expected 1 or more "
                          "and 1"),
                std::string::npos);
  }
}
