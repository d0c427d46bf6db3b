//===- DescriptorTest.cpp - Tables that no call may trust -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "gtest/gtest.h"

#include <limits>

using namespace cp::test;

namespace {

/// One word of a sound all_gather table, replaced.
struct Edit {
  const char *name;
  size_t word;
  int64_t value;
  const char *message;
};

/// ins f32[2, 3] outs f32[2, 6], axes [0], dim 1, order 0:
///   0..3 header   4..9 input   10..15 output   16 17 axes   18 dim   19 order
const Edit edits[] = {
    {"negative inputs", 0, -1, "-1 inputs and 1 outputs, expected 0 to 65536"},
    {"many inputs", 0, 65537, "65537 inputs"},
    {"vast outputs", 1, INT64_MAX, "expected 0 to 65536 of each"},
    {"negative attributes", 2, -5, "-5 attribute words"},
    {"vast attributes", 2, INT64_MAX, "expected 0 to 4096"},
    {"few attributes", 2, 3, "attribute 'order' is missing"},
    {"no attributes", 2, 0, "attribute 'axes' is missing"},
    {"type", 4, 5, "input 0 has element type 5"},
    // Of an input that is left out, but with dimensions.
    {"absent type", 4, -1, "input 0 has element type -1"},
    {"negative type", 10, -1, "output 0 has element type -1"},
    {"rank", 5, 17, "input 0 has rank 17, expected 0 to 16"},
    {"negative rank", 5, -1, "input 0 has rank -1"},
    {"negative size", 6, -2, "input 0, dim 0 has size -2"},
    {"negative stride", 8, -3, "and stride -3, expected neither below 0"},
    {"size overflow", 6, INT64_MAX / 2, "byte offsets that fit 63 bits"},
    {"stride overflow", 8, INT64_MAX, "byte offsets that fit 63 bits"},
    {"overlapping output", 15, 0, "output 0, dim 1 has stride 0"},
    {"other output", 13, 5, "output 0 is f32[2, 5], expected f32[2, 6]"},
    {"other output type", 10, 1, "output 0 is f64[2, 6], expected f32[2, 6]"},
    {"negative axes", 16, -1, "attribute 'axes' is -1"},
    {"long axes", 16, 4, "attribute 'axes' is 4, expected 0 to 3"},
    {"short axes", 16, 0, "attribute words, expected 3"},
    {"unknown axis", 17, 1, "attribute 'axes' is [1]"},
    {"negative axis", 17, std::numeric_limits<int64_t>::min(),
     "expected different positions"},
    {"dim", 18, 2, "attribute 'dim' is 2, expected 0 to 1"},
    {"negative dim", 18, -1, "attribute 'dim' is -1"},
    {"negative order", 19, -1, "attribute 'order' is -1, expected 0 to"},
    {"vast unit", 19, INT64_MAX, "(axis \"group\", striped) x 922"},
};

struct Gather {
  Tensor in{CPRT_F32, Sizes{2, 3}}, out{CPRT_F32, Sizes{2, 6}};
  Call call{42};
  Gather() { call.in(in).out(out).array({0}).attr(1).attr(int64_t(0)); }
};

void expectInvalid(cprt_op *op, const std::vector<int64_t> &table,
                   void *const *buffers, const std::string &text,
                   Sizes mesh = {2}) {
  World world(mesh);
  cprt_context *context = world.context(0);
  op(context, nullptr, table.data(), buffers);
  EXPECT_EQ(cprt_context_status(context), CPRT_INVALID_ARGUMENT);
  std::string message = cprt_context_message(context);
  EXPECT_NE(message.find(text), std::string::npos) << message;
}

} // namespace

TEST(Descriptor, EveryBrokenWordIsNamed) {
  for (const Edit &edit : edits) {
    SCOPED_TRACE(edit.name);
    Gather gather;
    std::vector<int64_t> table = gather.call.table();
    ASSERT_EQ(table.size(), 20u);
    table[edit.word] = edit.value;
    expectInvalid(cprt_all_gather, table, gather.call.pointers().data(),
                  edit.message);
    expectInvalid(cprt_all_gather, table, gather.call.pointers().data(),
                  "all_gather (call 42): ");
  }
}

/// A broadcast input reaches over few bytes but has too many elements.
TEST(Descriptor, TooManyElementsOfABroadcastInput) {
  Gather gather;
  std::vector<int64_t> table = gather.call.table();
  table[6] = INT64_MAX / 2;
  table[8] = 0;
  expectInvalid(cprt_all_gather, table, gather.call.pointers().data(),
                "byte offsets that fit 63 bits");
}

TEST(Descriptor, NullPointers) {
  Gather gather;
  std::vector<int64_t> table = gather.call.table();
  expectInvalid(cprt_all_gather, table, nullptr, "list of buffers is null");
  std::vector<void *> pointers = gather.call.pointers();
  pointers[1] = nullptr;
  expectInvalid(cprt_all_gather, table, pointers.data(),
                "output 0 is null, expected f32[2, 6]");
  World world({2});
  cprt_all_gather(world.context(0), nullptr, nullptr, nullptr);
  EXPECT_STREQ(cprt_context_message(world.context(0)),
               "all_gather (call 0): the descriptor is null, expected a table "
               "of words");
  cprt_all_gather(nullptr, nullptr, table.data(), pointers.data());
}

TEST(Descriptor, StreamsAreNotForThreads) {
  Gather gather;
  World world({1});
  int dummy = 0;
  auto *stream = reinterpret_cast<cprt_stream *>(&dummy);
  cprt_all_gather(world.context(0), stream, gather.call.table().data(),
                  gather.call.pointers().data());
  EXPECT_EQ(cprt_context_status(world.context(0)), CPRT_INVALID_ARGUMENT);
}

TEST(Descriptor, MisalignedAndSharedMemory) {
  Gather gather;
  std::vector<void *> pointers = gather.call.pointers();
  void *input = pointers[0];
  pointers[0] = static_cast<char *>(input) + 1;
  expectInvalid(cprt_all_gather, gather.call.table(), pointers.data(),
                "input 0 is not aligned");
  pointers[0] = pointers[1];
  expectInvalid(cprt_all_gather, gather.call.table(), pointers.data(),
                "output 0 is the memory of input 0");
}

TEST(Descriptor, AxisNamedTwice) {
  Tensor in(CPRT_F32, Sizes{2}), out(CPRT_F32, Sizes{2});
  Call call;
  call.array({0, 0}).in(in).out(out);
  expectInvalid(cprt_all_reduce, call.table(), call.pointers().data(),
                "attribute 'axes' is [0, 0]");
}

TEST(Descriptor, DimensionThatDoesNotDivide) {
  Tensor in(CPRT_F32, Sizes{5}), out(CPRT_F32, Sizes{2});
  Call call;
  call.in(in).out(out).array({0}).attr(int64_t(0)).attr(int64_t(0));
  for (cprt_op *op : {cprt_slice, cprt_reduce_scatter})
    expectInvalid(op, call.table(), call.pointers().data(),
                  "dim 0 of [5] cannot be cut over 2 ranks");
}

TEST(Descriptor, WrongNumberOfBuffers) {
  Tensor in(CPRT_F32, Sizes{2}), out(CPRT_F32, Sizes{4});
  Call call;
  call.in(in).in(in).out(out).array({0}).attr(int64_t(0)).attr(int64_t(0));
  cprt_op *ops[] = {cprt_all_gather, cprt_slice,          cprt_unslice,
                    cprt_reorder,    cprt_reduce_scatter, cprt_shift};
  for (cprt_op *op : ops)
    expectInvalid(op, call.table(), call.pointers().data(),
                  "found 2 inputs and 1 outputs, expected");
  Call sums;
  sums.in(in).in(in).out(out).array({0});
  expectInvalid(cprt_all_reduce, sums.table(), sums.pointers().data(),
                "found 2 inputs and 1 outputs, expected 2 and 2");
  Call exchange;
  exchange.in(in).in(in).out(out).array({0});
  for (int i = 0; i < 6; ++i)
    exchange.array({0, 0});
  expectInvalid(cprt_all_to_all, exchange.table(), exchange.pointers().data(),
                "found 2 inputs and 1 outputs, expected 2 and 2");
  Call absent;
  absent.none().out(out).array({0});
  for (int i = 0; i < 6; ++i)
    absent.array({0});
  expectInvalid(cprt_all_to_all, absent.table(), absent.pointers().data(),
                "input 0 (sources) is left out, but it is not optional");
  // How many outputs a scan has, one of its attributes says.
  for (int64_t hasTotal : {0, 1}) {
    Call scan;
    scan.in(in).in(in).out(out).attr(int64_t(0)).array({0});
    scan.attr(int64_t(0)).attr(int64_t(0)).attr(hasTotal);
    expectInvalid(cprt_scan_state, scan.table(), scan.pointers().data(),
                  hasTotal ? "found 2 inputs and 1 outputs, expected 2 and 4"
                           : "found 2 inputs and 1 outputs, expected 2 and 2");
  }
}

TEST(Descriptor, RoutesOfAnAllToAll) {
  Tensor in(CPRT_F32, Sizes{3, 2}), out(CPRT_F32, Sizes{6, 1});
  auto expect = [&](Sizes concat, Sizes times, Sizes units, Sizes split,
                    const char *text) {
    Call call;
    call.in(in).out(out).array({0}).array(concat).array({0}).array(times);
    call.array(units).array(split).array({0});
    expectInvalid(cprt_all_to_all, call.table(), call.pointers().data(), text);
  };
  expect({0}, {1}, {1}, {0}, "expected two different dims of it");
  expect({5}, {1}, {1}, {1}, "expected two different dims of it");
  expect({0, 1}, {1}, {1}, {1}, "'concat_dims' has 2 elements, expected 1");
  expect({0}, {0}, {1}, {1}, "attribute 'repeat_times' is [0]");
  expect({0}, {1}, {0}, {1}, "attribute 'repeat_units' is [0]");
  expect({0}, {2}, {4}, {1}, "is repeated in units of 4");
  expect({0}, {INT64_MAX}, {1}, {1}, "do not fit 63 bits");
  expect({0}, {2}, {1}, {1}, "output 0 is f32[6, 1], expected f32[6, 2]");
  expect({1}, {1}, {1}, {0}, "dim 0 of [3, 4] cannot be cut over 2 ranks");
}
