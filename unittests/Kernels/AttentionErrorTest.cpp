//===- AttentionErrorTest.cpp - Calls of attention that are refused -------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorTest.h"

using namespace cp::kernels;
using namespace cp::kernels::test;

namespace {
using AttentionErrorTest = ErrorTest;

TEST_F(AttentionErrorTest, Positions) {
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

TEST_F(AttentionErrorTest, Parts) {
  Buffer o = make({1, 5, 4, 3}), lse = make({1, 4, 5});
  expectError("attention_merge", {o, lse, o, lse}, {o}, {},
              "attention_merge: expected 4 inputs and 2 outputs, got 4 and 1");
  expectError("attention_merge", {o, lse, o, make({1, 5, 4})}, {o, lse}, {},
              "attention_merge: dimension 1 of lse must be h = 4 as in o, got "
              "5");
  expectError("attention_merge", {o, lse, o, lse}, {o, narrow(lse)}, {},
              "attention_merge: merged lse must be f32, got bf16");
}
} // namespace
