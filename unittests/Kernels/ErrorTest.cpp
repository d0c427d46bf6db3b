//===- ErrorTest.cpp - Calls that kernels refuse --------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorTest.h"

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {
TEST_F(ErrorTest, CountsOfArguments) {
  expectError("matmul", {make({2, 3})}, {make({2, 4})}, {0, 0},
              "matmul: expected 2 inputs and 1 outputs, got 1 and 1");
  expectError("matmul", {make({2, 3}), make({3, 4})}, {make({2, 4})}, {0},
              "matmul: expected 2 attribute words, got 1");
  expectError("conv1d", {make({1, 2, 3}), make({3, 4})}, {make({1, 2, 3})},
              {0, 0}, "conv1d: expected 1 attribute words, got 2");
  expectError("conv1d", {make({1, 2, 3})}, {make({1, 2, 3})}, {0},
              "conv1d: expected 2 to 5 inputs and 1 outputs, got 1 and 1");
  expectError("conv1d", {make({1, 2, 3}), absent}, {make({1, 2, 3})}, {0},
              "conv1d: weight is left out, but it is not optional");
}

TEST_F(ErrorTest, AttributesOutOfRange) {
  expectError("matmul", {make({2, 3}), make({3, 4})}, {make({2, 4})}, {2, 0},
              "matmul: accumulate must be 0 or 1, got 2");
  expectError("ssd", ssdIns(), ssdOuts(), ssdAttrs(0),
              "ssd: chunk_size must be at least 1, got 0");
  expectError("ssd", ssdIns(), ssdOuts(), ssdAttrs(4, std::nan("")),
              "ssd: dt_max must be a number, got NaN");
  expectError("ssd", ssdIns(), ssdOuts(), ssdAttrs(4, 1, 2),
              "ssd: dt_min = 2 must not be above dt_max = 1");
  expectError("rms_norm", {make({2, 4})}, {make({2, 4})}, {bitsOf(-1), 0, 1},
              "rms_norm: eps must not be negative, got -1");
  expectError("repeat", {make({4})}, {make({8})}, {1, 2, 1},
              "repeat: dim must be in [0, 1)");
}

TEST_F(ErrorTest, DocumentsThatAreNone) {
  auto expect = [this](std::vector<int32_t> ends, const std::string &text) {
    Random random(0);
    Tensor<int32_t> list({1, 1, int64_t(ends.size())}, Lay::Dense, random);
    for (size_t i = 0; i < ends.size(); ++i)
      list[int64_t(i)] = ends[i];
    Tensor<int64_t> places({1, 5}, Lay::Dense, random);
    expectError("document_places", {list.buffer(), absent}, {places.buffer()},
                {0, 5}, "document_places: " + text, DType::I32);
  };
  const std::string ends = ", but each is where a document of 5 tokens "
                           "together ends, from 0 on";
  expect({1, 5}, "entry 0 of row 0 is 1" + ends);
  expect({0, 3, 2, 5}, "entry 2 of row 0 is 2" + ends);
  expect({0, 6}, "entry 1 of row 0 is 6" + ends);
  expect({0, 4}, "the documents of row 0 have 4 tokens, expected 5");
  expect({}, "n must be at least 1, got 0");
}

TEST_F(ErrorTest, DocumentsThatRanksDoNotShare) {
  Random random(0);
  Tensor<int32_t> lists({3, 2, 2}, Lay::Dense, random);
  for (int64_t i = 0; i < 12; ++i)
    lists[i] = i % 2 ? 5 : 0;
  lists(1, 1, 1) = 4;
  Tensor<int64_t> places({2, 5}, Lay::Dense, random);
  auto expect = [&](int64_t own, const std::string &text) {
    expectError("document_places", {lists.buffer(), absent}, {places.buffer()},
                {own, 5}, "document_places: " + text, DType::I32);
  };
  expect(2, "rank 1 has other documents in row 1 than rank 2, expected the "
            "same");
  expect(3, "r must be at least 4, got 3");
}

TEST_F(ErrorTest, RanksAndTypes) {
  expectError("conv1d", {make({2, 3}), make({3, 4})}, {make({1, 2, 3})}, {0},
              "conv1d: x must have rank 3, got 2");
  expectError("matmul", {make({}), make({3, 4})}, {make({4})}, {0, 0},
              "matmul: A must have rank 1 to 8, got 0");
  expectError("matmul", {make({2, 3}), doubles({3, 4})}, {make({2, 4})}, {0, 0},
              "matmul: W must be f32, got f64");
  expectError("copy", {make({2})}, {doubles({2})}, {},
              "copy: the output must be f32, got f64");
  Buffer unknown = make({2});
  unknown.dtype = DType(9);
  expectError("copy", {unknown}, {unknown}, {}, "copy: unknown element type 9");
}

/// Beside bf16 some buffers must be f32, and the others may not.
TEST_F(ErrorTest, TypesBesideNarrowOnes) {
  std::vector<Buffer> ins = ssdIns();
  for (Buffer &buffer : ins)
    buffer = narrow(buffer);
  Buffer decay = make({1, 4}), state = make({1, 4, 3, 2}),
         chunks = make({1, 2, 4, 3, 2}), steps = make({1, 5, 4}),
         y = narrow(make({1, 5, 4, 3}));
  std::vector<int64_t> attrs = {4, bitsOf(2), bitsOf(0)};
  expectError("ssd_states", {ins[0], ins[1], ins[2], ins[3]},
              {decay, state, chunks, narrow(steps)}, attrs,
              "ssd_states: delta must be f32, got bf16; convert it: all "
              "buffers have one type, except that sums stay f32 beside bf16",
              DType::BF16);
  expectError("ssd_states", {ins[0], ins[1], ins[2], make({1, 5, 2, 2})},
              {decay, state, chunks, steps}, attrs,
              "ssd_states: B must be bf16, got f32", DType::BF16);
  std::vector<Buffer> scan = {ins[0], ins[2], ins[3], ins[4], absent,
                              chunks, steps,  decay,  state,  state};
  expectError("ssd_scan", scan, {y, narrow(state)}, {4},
              "ssd_scan: final_state must be f32, got bf16", DType::BF16);
  scan[9] = narrow(state);
  expectError("ssd_scan", scan, {y, state}, {4},
              "ssd_scan: initial must be f32, got bf16", DType::BF16);
  expectError("ssd", ins, {y, state}, ssdAttrs(),
              "ssd: final_state must be bf16, got f32", DType::BF16);
  expectError("matmul", {narrow(make({2, 3})), make({3, 4})},
              {narrow(make({2, 4}))}, {0, 0}, "matmul: W must be bf16, got f32",
              DType::BF16);
}

TEST_F(ErrorTest, SizesThatDisagree) {
  expectError("matmul", {make({2, 3}), make({4, 5})}, {make({2, 5})}, {0, 0},
              "matmul: dimension 0 of W must be k = 3 as in A, got 4");
  expectError("contract_rows", {make({2, 3}), make({3, 4})}, {make({3, 4})},
              {0},
              "contract_rows: dimension 0 of B must be the size = 2 as in A");
  expectError("contract_rows", {make({2, 3}), make({2, 1, 4})}, {make({3, 4})},
              {0}, "contract_rows: B must have rank 2 as A, got 3");
  expectError("contract_rows", {make({2, 3}), make({2, 4})}, {make({4, 3})},
              {0}, "contract_rows: dimension 0 of C must be m = 3 as in A");
  expectError("matmul", {make({2, 3}), make({3, 4})}, {make({7, 4})}, {0, 0},
              "matmul: dimension 0 of C must be the size = 2 as in A, got 7");
  std::vector<Buffer> ins = ssdIns();
  ins[1] = make({1, 5, 3});
  expectError("ssd", ins, ssdOuts(), ssdAttrs(),
              "ssd: dimension 2 of dt must be h = 4 as in x, got 3");
  expectError("ssd", ssdIns(4, 3), ssdOuts(), ssdAttrs(),
              "ssd: h = 4 must be a multiple of g = 3");
  expectError("ssd", ssdIns(4, 0), ssdOuts(), ssdAttrs(),
              "ssd: h = 4 must be a multiple of g = 0");
  expectError("rms_norm", {make({2, 5})}, {make({2, 5})}, {bitsOf(0), 0, 2},
              "rms_norm: c = 5 must be a multiple of groups = 2");
  expectError("conv1d",
              {make({1, 2, 3}), make({3, 4}), absent, make({1, 2, 3})},
              {make({1, 2, 3})}, {0},
              "conv1d: dimension 1 of initial must be w - 1 = 3 as in weight, "
              "got 2");
  expectError("conv1d", {make({1, 2, 3}), make({3, 0})}, {make({1, 2, 3})}, {0},
              "conv1d: w must be at least 1, got 0 in weight");
  expectError(
      "conv1d", {make({1, 2, 3}), make({3, 0}), absent, make({1, 0, 3})},
      {make({1, 2, 3})}, {0}, "conv1d: w must be at least 1, got 0 in weight");
  expectError("copy", {make({2, 3})}, {make({3, 2})}, {},
              "copy: dimension 0 of the output must be the size = 2");
  expectError("copy", {make({2, 3})}, {make({6})}, {},
              "copy: the output must have rank 2 as the input, got 1");
}

/// Places of another shape or type, and such as count otherwise.
TEST_F(ErrorTest, Places) {
  Tensor<int64_t> places({1, 5}, Lay::Dense, random);
  auto set = [&](std::vector<int64_t> values) {
    for (size_t t = 0; t < values.size(); ++t)
      places(0, int64_t(t)) = values[t];
    return places.buffer();
  };
  auto convolve = [&](Buffer given) {
    return std::vector<Buffer>{make({1, 5, 3}), make({3, 4}), absent, absent,
                               given};
  };
  expectError("conv1d", convolve(make({1, 5})), {make({1, 5, 3})}, {0},
              "conv1d: places must be i64, got f32");
  Tensor<int64_t> flat({5}, Lay::Dense, random),
      wide({1, 6}, Lay::Dense, random);
  expectError("conv1d", convolve(flat.buffer()), {make({1, 5, 3})}, {0},
              "conv1d: places must have rank 2, got 1");
  expectError("conv1d", convolve(wide.buffer()), {make({1, 5, 3})}, {0},
              "conv1d: dimension 1 of places must be l = 5 as in x, got 6");
  expectError(
      "conv1d", convolve(set({0, 1, 3, 4, 5})), {make({1, 5, 3})}, {0},
      "conv1d: places[0, 2] is 3 behind 1; a sequence counts its tokens "
      "0, 1, 2, ..., and -1 is no token");
  expectError("conv1d", convolve(set({0, 1, -2, 0, 1})), {make({1, 5, 3})}, {0},
              "conv1d: places[0, 2] is -2 behind 1");
  expectError("conv1d", convolve(set({INT64_MIN, 0, 0, 0, 0})),
              {make({1, 5, 3})}, {0}, "conv1d: places[0, 0] is -9223");
  expectError("conv1d", convolve(set({INT64_MAX, -1, 7, 0, 1})),
              {make({1, 5, 3})}, {0}, "conv1d: places[0, 2] is 7 behind -1");
  EXPECT_EQ(run(findCpuKernel("conv1d", DType::F32, KernelSet::Fast),
                convolve(set({INT64_MAX, -1, 0, 0, 1})), {make({1, 5, 3})},
                {0}),
            "");
  // A window of one row does not ask in which order rows stand.
  EXPECT_EQ(run(findCpuKernel("conv1d", DType::F32, KernelSet::Fast),
                {make({1, 5, 3}), make({3, 1}), absent, absent,
                 set({0, 1, 14, 15, -1})},
                {make({1, 5, 3})}, {0}),
            "");
  std::vector<Buffer> scan = ssdIns();
  scan.insert(scan.end(), {absent, absent, absent, set({2, 2, 3, 4, 5})});
  expectError("ssd", scan, ssdOuts(), ssdAttrs(),
              "ssd: places[0, 1] is 2 behind 2");
  std::vector<Buffer> attention = {make({1, 5, 4, 3}), make({1, 5, 2, 3}),
                                   make({1, 5, 2, 3}), set({0, 1, 0, 3, -1})};
  std::vector<Buffer> outs = {make({1, 5, 4, 3}), make({1, 4, 5})};
  std::vector<int64_t> words = {1, bitsOf(1), 0, 3, 0, 5, 1, 3, 0, 5, 1};
  expectError(
      "attention", attention, outs, words,
      "attention: places[0, 3] is 3 at position 3, behind 0; a sequence "
      "counts its tokens 0, 1, 2, ..., and -1 is no token");
  // As far apart as rows of one sequence are, or begun since; also behind a row
  // without a token.
  for (std::vector<int64_t> wrong : {std::vector<int64_t>{0, 1, 1, 2, 3},
                                     {0, 1, 2, 2, 0},
                                     {0, 1, -1, 3, 4}}) {
    set(wrong);
    expectError("attention", attention, outs, words, "attention: places[0, ");
  }
  set({7, 8, -1, 0, 1});
  EXPECT_EQ(run(findCpuKernel("attention", DType::F32, KernelSet::Fast),
                attention, outs, words),
            "");
  set({0, 1, 2, 0, INT64_MIN});
  expectError("attention", attention, outs, words,
              "attention: places[0, 4] is -9223");
  set({0, 1, 2, 0, -1});
  words[0] = 0;
  expectError("attention", attention, outs, words,
              "attention: places want causal");
}

TEST_F(ErrorTest, SplitScans) {
  std::vector<Buffer> ins = ssdIns();
  std::vector<Buffer> states = {make({1, 4}), make({1, 4, 3, 2}),
                                make({1, 1, 4, 3, 2}), make({1, 5, 4})};
  expectError("ssd_states", {ins[0], ins[1], ins[2], ins[3]}, states,
              {4, bitsOf(2), bitsOf(0)},
              "ssd_states: dimension 1 of chunk_states must be ceil(l / "
              "chunk_size) = 2 as in x, got 1");
  expectError("ssd_scan",
              {ins[0], ins[2], ins[3], ins[4], absent, states[2], states[3],
               states[0], states[1]},
              ssdOuts(), {4},
              "ssd_scan: dimension 1 of chunk_states must be ceil(l / "
              "chunk_size) = 2 as in x, got 1");
  expectError("ssd_states", {ins[0], ins[1], ins[2], ins[3]}, states,
              {0, bitsOf(2), bitsOf(0)},
              "ssd_states: chunk_size must be at least 1, got 0");
  expectError("ssd_states", {ins[0], ins[1], ins[2], ins[3]},
              {states[0], states[1], make({1, 2, 4, 3, 2}), states[3]},
              {4, bitsOf(1), bitsOf(2)},
              "ssd_states: dt_min = 2 must not be above dt_max = 1");
  expectError("ssd_scan", {}, ssdOuts(), {4},
              "ssd_scan: expected 9 to 11 inputs and 2 outputs, got 0 and 2");
}

TEST_F(ErrorTest, SummedRows) {
  expectError("sum_rows", {make({3, 5})}, {make({4})}, {},
              "sum_rows: dimension 0 of y must be n = 5 as in x, got 4");
  expectError("sum_rows", {make({0, 5})}, {make({5})}, {},
              "sum_rows: x has no rows, expected one or more");
}

TEST_F(ErrorTest, JoinedStates) {
  auto expect = [&](int64_t states, int64_t decays,
                    std::vector<int64_t> attributes, const char *message) {
    expectError("join_states", {make({states}), make({states}), make({decays})},
                {make({states})}, attributes, message);
  };
  // Where the next state would want one more decay.
  const char *fewer = "join_states: decays has d = 3 elements, expected one "
                      "for each 4 of first + n = 6 + 7 states";
  expect(7, 3, {6, 4}, fewer);
  expect(5, 3, {6, 0}, "join_states: inner must be at least 1, got 0");
  expectError("join_decays", {make({3}), make({4})}, {make({3})}, {},
              "join_decays: dimension 0 of right must be n = 3 as in left, "
              "got 4");
}

TEST_F(ErrorTest, RepeatedSizes) {
  expectError("repeat", {make({3, 5})}, {make({3, 10})}, {1, 2, 2},
              "repeat: the size of the repeated dimension = 5 must be a "
              "multiple of unit = 2");
  expectError("repeat", {make({3, 4})}, {make({3, 9})}, {1, 2, 2},
              "repeat: dimension 1 of the output must be times * size = 8");
  expectError("repeat", {make({3, 4})}, {make({24})}, {1, 2, 2},
              "repeat: the output must have rank 2 as the input, got 1");
}

TEST_F(ErrorTest, EmbeddingIds) {
  Buffer table = make({5, 2});
  for (int32_t id : {-1, 5})
    expectError("embedding", {indices({3}, id), table}, {make({3, 2})}, {},
                "embedding: id " + std::to_string(id) +
                    " (number 0) must be in [0, 5)");
  expectError("embedding", {make({3}), table}, {make({3, 2})}, {},
              "embedding: ids must be i32 or i64, got f32");
  expectError("embedding", {indices({3}, 0), table}, {make({3, 3})}, {},
              "embedding: dimension 1 of y must be d = 2 as in table, got 3");
  expectError("embedding", {indices({3}, 0), table}, {make({2, 2})}, {},
              "embedding: dimension 0 of y must be the size = 3 as in ids");
  expectError("embedding", {indices({3}, 0), table}, {make({2})}, {},
              "embedding: table must have rank 2 and y one dimension more");
}

TEST_F(ErrorTest, NegativeSizesAndNullPointers) {
  Buffer a = make({2, 3});
  int64_t sizes[] = {-2, 3};
  a.sizes = sizes;
  expectError("matmul", {a, make({3, 4})}, {make({2, 4})}, {0, 0},
              "matmul: dimension 0 of A must not be negative, got -2");
  Buffer absent = make({2, 3});
  absent.data = nullptr;
  expectError("matmul", {absent, make({3, 4})}, {make({2, 4})}, {0, 0},
              "matmul: A has elements but its pointer is null");
}

TEST(KernelTableTest, FindsFastThenPlainThenNothing) {
  size_t count = 0;
  const KernelEntry *entries = cpuKernels(count);
  ASSERT_GT(count, 0u);
  for (size_t i = 0; i < count; ++i)
    EXPECT_EQ(findCpuKernel(entries[i].op, entries[i].dtype, entries[i].set),
              entries[i].fn);
  for (DType dtype : {DType::F32, DType::F64, DType::BF16})
    EXPECT_NE(findCpuKernel("ssd", dtype, KernelSet::Fast),
              findCpuKernel("ssd", dtype, KernelSet::Reference));
  EXPECT_EQ(findCpuKernel("copy", DType::I64, KernelSet::Fast),
            findCpuKernel("copy", DType::I64, KernelSet::Reference));
  EXPECT_EQ(findCpuKernel("ssd", DType::I32, KernelSet::Fast), nullptr);
  EXPECT_EQ(findCpuKernel("nothing", DType::F32, KernelSet::Fast), nullptr);
}
} // namespace
