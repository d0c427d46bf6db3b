//===- OverlapTest.cpp - What travels while a rank works ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A message sets out when its rank asks for it, or when the transport is asked
// to carry on while the rank works. If a ring waited for its blocks before it
// works, or if nobody asked while it does, it would have to ask for each.
// Counted and not timed: how long ranks work at the same time is up to the
// machine.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include "Mailbox.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstring>

using namespace cp::test;

namespace {

constexpr int64_t numRanks = 3, rows = CP_SANITIZED ? 256 : 768, heads = 4,
                  width = 64;

/// One rank's tensors, forward and backward: made once, so that a call is all
/// that is timed.
struct Part {
  Sizes sizes = {1, rows, heads, width};
  Tensor q = drawn(), k = drawn(), v = drawn(), dout = drawn();
  Tensor o{CPRT_F32, sizes}, lse{CPRT_F32, Sizes{1, heads, rows}};
  Tensor dq{CPRT_F32, sizes}, dk{CPRT_F32, sizes}, dv{CPRT_F32, sizes};

  Tensor drawn() const {
    static std::mt19937_64 random(testSeed());
    std::uniform_real_distribution<double> draw(-1, 1);
    Array values(sizes);
    for (double &value : values.values)
      value = draw(random);
    return {CPRT_F32, values};
  }
  /// Of a block of keys, of values, or of the sums of their cotangents.
  static constexpr int64_t bytes =
      rows * heads * width * int64_t(sizeof(float));

  static void finish(Call &call, cprt_op *op, cprt_context *context) {
    double scale = 0.125;
    int64_t word;
    std::memcpy(&word, &scale, sizeof word);
    call.array({0}).attr(/*causal=*/0).array({0}).attr(word).attr(0);
    call.run(op, context);
  }
  void attend(cprt_context *context) {
    Call call;
    call.in(q).in(k).in(v).out(o).out(lse);
    finish(call, cprt_ring_attention, context);
  }
  void differentiate(cprt_context *context) {
    Call call;
    call.in(q).in(k).in(v).in(o).in(lse).in(dout).none();
    call.out(dq).out(dk).out(dv);
    finish(call, cprt_ring_attention_grad, context);
  }
};

struct Overlap : testing::Test {
  using Body = void (Part::*)(cprt_context *);

  /// The blocks that the rank asked for that asked for fewest: the slowest one,
  /// for which the others are there. The best of some runs, since the machine
  /// may let a rank work and nobody else.
  size_t blocksAskedFor(Body body, size_t all, size_t enough) {
    size_t least = SIZE_MAX;
    for (int attempt = 0; attempt < 20 && least > enough; ++attempt) {
      Mailbox mailbox(numRanks, testSeed());
      World world({numRanks}, mailbox);
      world.run([&](int64_t rank, cprt_context *context) {
        (parts[size_t(rank)].*body)(context);
      });
      EXPECT_EQ(world.failures(), "");
      for (int64_t rank = 0; rank < numRanks; ++rank) {
        EXPECT_EQ(mailbox.blocksReceived(rank, Part::bytes), all);
        least = std::min(least, mailbox.blocksAskedFor(rank, Part::bytes));
      }
    }
    return least;
  }

  std::vector<Part> parts = std::vector<Part>(numRanks);
};

} // namespace

/// Waited for before the work, they would be two of keys and two of values.
TEST_F(Overlap, BlocksTravelWhileARingAttends) {
  EXPECT_EQ(blocksAskedFor(&Part::attend, 4, 0), 0);
}

/// Only the first block's keys and values may be, with nothing to do before
/// them. With another block and the sums of two steps it would be eight.
TEST_F(Overlap, BlocksAndSumsTravelWhileARingDifferentiates) {
  EXPECT_LE(blocksAskedFor(&Part::differentiate, 8, 2), 2);
}
