//===- GradientErrorTest.cpp - Calls of adjoints that are refused ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorTest.h"

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {
using GradientErrorTest = ErrorTest;

TEST_F(GradientErrorTest, Gradients) {
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

TEST_F(GradientErrorTest, Losses) {
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
} // namespace
