//===- ErrorTest.cpp - Calls that kernels refuse --------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <gtest/gtest.h>
#include <memory>

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {
/// Dense f32 tensors named by their sizes, made as a test needs them.
class ErrorTest : public testing::Test {
protected:
  Buffer make(std::vector<int64_t> sizes) {
    tensors.push_back(
        std::make_unique<Tensor<float>>(sizes, Lay::Dense, random));
    return tensors.back()->buffer();
  }
  Buffer doubles(std::vector<int64_t> sizes) {
    others = Tensor<double>(sizes, Lay::Dense, random);
    return others.buffer();
  }
  Buffer indices(std::vector<int64_t> sizes, int32_t value) {
    ids = Tensor<int32_t>(sizes, Lay::Dense, random);
    for (int64_t i = 0; i < ids.count(); ++i)
      ids[i] = value;
    return ids.buffer();
  }
  Buffer words(std::vector<int64_t> sizes, int64_t value) {
    wide.push_back(
        std::make_unique<Tensor<int64_t>>(sizes, Lay::Dense, random));
    for (int64_t i = 0; i < wide.back()->count(); ++i)
      (*wide.back())[i] = value;
    return wide.back()->buffer();
  }
  /// No kernel reads the data before the types are known to fit.
  static Buffer narrow(Buffer buffer) {
    buffer.dtype = DType::BF16;
    return buffer;
  }
  /// Both sets must refuse, with a message that starts like this.
  void expectError(const char *op, std::vector<Buffer> ins,
                   std::vector<Buffer> outs, std::vector<int64_t> attrs,
                   const std::string &start, DType dtype = DType::F32) {
    for (KernelSet set : {KernelSet::Fast, KernelSet::Reference}) {
      std::string got = run(findCpuKernel(op, dtype, set), ins, outs, attrs);
      EXPECT_EQ(got.substr(0, start.size()), start);
    }
  }

  std::vector<Buffer> ssdIns(int64_t h = 4, int64_t g = 2) {
    return {make({1, 5, h, 3}), make({1, 5, h}), make({h}), make({1, 5, g, 2}),
            make({1, 5, g, 2})};
  }
  std::vector<Buffer> ssdOuts() {
    return {make({1, 5, 4, 3}), make({1, 4, 3, 2})};
  }
  std::vector<int64_t> ssdAttrs(int64_t chunk = 4, double high = 2,
                                double low = 0) {
    return {chunk, bitsOf(high), bitsOf(low)};
  }

  Random random{1};
  std::vector<std::unique_ptr<Tensor<float>>> tensors;
  Tensor<double> others;
  Tensor<int32_t> ids;
  std::vector<std::unique_ptr<Tensor<int64_t>>> wide;
};

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

TEST_F(ErrorTest, AttentionPositions) {
  std::vector<Buffer> ins = {make({1, 5, 4, 3}), make({1, 6, 2, 3}),
                             make({1, 6, 2, 7})};
  std::vector<Buffer> outs = {make({1, 5, 4, 7}), make({1, 4, 5})};
  int64_t scale = bitsOf(1);
  auto expect = [&](std::vector<int64_t> attrs, const std::string &start) {
    expectError("attention", ins, outs, attrs, "attention: " + start);
  };
  expect({1, scale}, "expected at least 5 attribute words, got 2");
  expect({1, scale, 0}, "q_runs needs three words for each run, at most -1");
  expect({1, scale, 0, 2, 0, 5, 3, 0, 6, 1},
         "q_runs needs three words for each run, at most 6, got 2");
  expect({1, scale, 0, 3, 0, 5, 1, 6, 0, 6, 1},
         "k_runs needs three words for each run, at most 3, got 6");
  expect({1, scale, 0, 3, 0, 5, 1, 3, 0, 6, 1, 0},
         "expected 11 attribute words");
  expect({1, scale, 0, 3, 0, 4, 1, 3, 0, 6, 1},
         "q_runs must hold as many rows as its tensor, 5, got 4");
  expect({1, scale, 0, 3, 0, 5, 1, 6, 0, 6, 1, 9, 0, 1},
         "a run of k_runs must start at 0 or later, have a row and go forward, "
         "got 0 rows from 9 on, 1 apart");
  expect({1, scale, 0, 3, 0, 5, 0, 3, 0, 6, 1}, "a run of q_runs must start");
  expect({1, scale, 0, 3, -1, 5, 1, 3, 0, 6, 1}, "a run of q_runs must start");
  expect({1, scale, 0, 3, INT64_MAX - 4, 5, 1, 3, 0, 6, 1}, "a run of q_runs");
  expect({1, scale, 0, 3, 0, 5, INT64_MAX / 4, 3, 0, 6, 1}, "a run of q_runs");
  expect({1, scale, -1, 3, 0, 5, 1, 3, 0, 6, 1},
         "window must be 0, or at least 1");
  expect({0, scale, 3, 3, 0, 5, 1, 3, 0, 6, 1},
         "window must be 0, or at least 1 beside causal, got 3");
  expect({2, scale, 0, 3, 0, 5, 1, 3, 0, 6, 1}, "causal must be 0 or 1, got 2");
  ins[1] = make({1, 6, 3, 3}), ins[2] = make({1, 6, 3, 7});
  expect({1, scale, 0, 3, 0, 5, 1, 3, 0, 6, 1},
         "hq = 4 must be a multiple of hkv = 3");
  outs[1] = make({1, 5, 4});
  expect({1, scale, 0, 3, 0, 5, 1, 3, 0, 6, 1},
         "dimension 1 of lse must be hq = 4 as in q, got 5");
}

TEST_F(ErrorTest, AttentionParts) {
  Buffer o = make({1, 5, 4, 3}), lse = make({1, 4, 5});
  expectError("attention_merge", {o, lse, o, lse}, {o}, {},
              "attention_merge: expected 4 inputs and 2 outputs, got 4 and 1");
  expectError("attention_merge", {o, lse, o, make({1, 5, 4})}, {o, lse}, {},
              "attention_merge: dimension 1 of lse must be h = 4 as in o, got "
              "5");
  expectError("attention_merge", {o, lse, o, lse}, {o, narrow(lse)}, {},
              "attention_merge: merged lse must be f32, got bf16");
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

TEST_F(ErrorTest, Gradients) {
  Buffer x = make({1, 5, 3}), weight = make({3, 4});
  expectError("conv1d_grad", {x, weight}, {x}, {0},
              "conv1d_grad: expected 3 to 6 inputs and 4 outputs, got 2 and 1");
  expectError("conv1d_grad", {x, weight, make({1, 4, 3})},
              {x, weight, make({3}), make({1, 3, 3})}, {0},
              "conv1d_grad: dimension 1 of dy must be l = 5 as in x, got 4");
  expectError("rms_norm_grad", {x, x, absent, x}, {x, make({3})},
              {bitsOf(0), 0, 1},
              "rms_norm_grad: expected a dgate beside a gate, got 2 outputs");
  expectError("rms_norm_grad", {x, x}, {x, make({3}), x}, {bitsOf(0), 0, 1},
              "rms_norm_grad: expected no dgate beside no gate, got 3 outputs");
  expectError("embedding_grad", {x, make({1, 5, 3, 2})}, {make({7, 2})}, {},
              "embedding_grad: ids must be i32 or i64, got f32");
  expectError("embedding_grad", {indices({5}, 1), x}, {make({7, 3})}, {},
              "embedding_grad: dy must have one dimension more than ids, got "
              "ranks 1 and 3");
  for (int32_t id : {-1, 7})
    expectError("embedding_grad", {indices({5}, id), make({5, 3})},
                {make({7, 3})}, {}, "embedding_grad: id " + std::to_string(id));
  Buffer q = make({1, 5, 4, 2}), k = make({1, 5, 3, 2}), lse = make({1, 4, 5});
  expectError("attention_grad", {q, k, k, q, lse, q, lse}, {q, k, k},
              {1, bitsOf(1), 0},
              "attention_grad: hq = 4 must be a multiple of hkv = 3");
  Buffer keys = make({1, 9, 4, 2});
  auto expectPositions = [&](int64_t position, int64_t causal,
                             const std::string &message) {
    expectError(
        "attention_grad",
        {q, keys, keys, q, lse, q, absent, absent, words({5}, position)},
        {q, keys, keys}, {causal, bitsOf(1), 0}, "attention_grad: " + message);
  };
  expectPositions(9, 1,
                  "positions must be at least 0 and below the number of keys, "
                  "9, but query 0 has 9");
  expectPositions(-1, 1, "positions must be at least 0");
  expectPositions(0, 0, "positions want causal");
  expectError(
      "attention_grad",
      {q, keys, keys, q, lse, q, absent, words({1, 5}, 3), words({5}, 2)},
      {q, keys, keys}, {1, bitsOf(1), 0},
      "attention_grad: a place must be -1 or count the tokens of its "
      "sequence before it, at most 2 here, but query 0 of element 0 "
      "has 3");
  expectError("attention_grad", {q, keys, keys, q, lse, q}, {q, keys, keys},
              {1, bitsOf(1), 0},
              "attention_grad: causal wants as many keys as queries, got 9 and "
              "5; or give the queries' positions");
  auto expectBlock = [&](const std::vector<int64_t> &attrs, Buffer positions,
                         const std::string &message) {
    expectError("attention_grad_block",
                {q, keys, keys, q, lse, q, absent, absent, positions, absent,
                 absent, absent},
                {q, keys, keys}, attrs, "attention_grad_block: " + message);
  };
  expectBlock({1, bitsOf(1)}, words({5}, 0),
              "expected at least 4 attribute words, got 2");
  expectBlock({1, bitsOf(1), 0, 2, 0, 9}, words({5}, 0),
              "k_runs needs three words for each run");
  expectBlock({1, bitsOf(1), 0, 3, 0, 8, 1}, words({5}, 0),
              "k_runs must hold as many rows as its tensor, 9, got 8");
  expectBlock({1, bitsOf(1), 0, 3, 0, 9, 1}, absent,
              "causal wants the queries' positions");
  expectBlock({1, bitsOf(1), 0, 3, 0, 9, 1}, words({5}, -1),
              "positions must be at least 0");
  expectError("ssd_grad", {ssdIns()[0], ssdIns()[1]}, {}, ssdAttrs(),
              "ssd_grad: expected 6 to 11 inputs and 8 outputs, got 2 and 0");
}

TEST_F(ErrorTest, Losses) {
  Buffer h = make({1, 3, 2}), w = make({5, 2}), t = make({1, 3});
  for (int32_t label : {-1, 5})
    expectError("linear_cross_entropy", {h, w, indices({1, 3}, label)}, {t, t},
                {-100, 0},
                "linear_cross_entropy: label " + std::to_string(label) +
                    " of token 0 of row 0 must be in [0, 5)");
  expectError("linear_cross_entropy", {h, w, t}, {t, t}, {-100, 0},
              "linear_cross_entropy: labels must be i32 or i64 and have rank "
              "2, got f32 and rank 2");
  expectError("linear_cross_entropy", {h, w, indices({3, 1}, 0)}, {t, t},
              {-100, 0},
              "linear_cross_entropy: dimension 0 of labels must be b = 1");
  expectError("linear_cross_entropy", {h, make({5, 3}), indices({1, 3}, 0)},
              {t, t}, {-100, 0},
              "linear_cross_entropy: dimension 1 of weight must be d = 2");
  expectError("linear_cross_entropy", {h, make({0, 2}), indices({1, 3}, 0)},
              {t, t}, {-100, 0}, "linear_cross_entropy: v");
  expectError("linear_cross_entropy_grad",
              {h, w, indices({1, 3}, 7), absent, t, t}, {h, w}, {-100, 0},
              "linear_cross_entropy_grad: label 7 of token 0 of row 0");
  Buffer slices = make({1, 3, 2}), head = make({4, 2});
  expectError("linear_cross_entropy",
              {h, head, indices({1, 3}, 8), words({2}, 0)}, {slices, slices},
              {-100, 8},
              "linear_cross_entropy: label 8 of token 0 of row 0 must be in "
              "[0, 8)");
  expectError("linear_cross_entropy",
              {h, head, indices({1, 3}, 0), words({2}, 7)}, {slices, slices},
              {-100, 8},
              "linear_cross_entropy: slice 0 of 2 rows starts at row 7, and "
              "must lie in [0, 8)");
  expectError("linear_cross_entropy",
              {h, head, indices({1, 3}, 0), words({3}, 0)}, {slices, slices},
              {-100, 8},
              "linear_cross_entropy: v = 4 must be a multiple of s = 3");
  expectError("linear_cross_entropy",
              {h, head, indices({1, 3}, 0), words({2}, 0)}, {t, t}, {-100, 8},
              "linear_cross_entropy: losses must have rank 3, got 2");
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
