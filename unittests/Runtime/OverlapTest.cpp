//===- OverlapTest.cpp - What travels while a rank works ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages that travel for half as long as a rank works on a block, and set out
// when its transport is asked to carry on. If a ring waited for each before it
// works, or if nobody asked while it does, its exposed seconds would be all of
// their way.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <cmath>
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

  /// Seconds of the call, of the rank that takes longest; they begin together.
  double secondsOf(World &world, Body body) {
    std::vector<double> seconds(numRanks);
    world.run([&](int64_t rank, cprt_context *context) {
      Tensor in(CPRT_F32, Sizes{1}), out(CPRT_F32, Sizes{numRanks});
      Call().in(in).out(out).array({0}).attr(0).attr(0).run(cprt_all_gather,
                                                            context);
      auto start = std::chrono::steady_clock::now();
      (parts[size_t(rank)].*body)(context);
      std::chrono::duration<double> passed =
          std::chrono::steady_clock::now() - start;
      seconds[size_t(rank)] = passed.count();
    });
    EXPECT_EQ(world.failures(), "");
    return *std::max_element(seconds.begin(), seconds.end());
  }

  /// How many times the way of a message the rank waits that waits least: the
  /// slowest one, for which the others are there. The best of some runs, since
  /// other programs may take the processors.
  double exposedWays(const std::string &op, Body body, double enough) {
    World atOnce({numRanks}, std::chrono::microseconds(0));
    secondsOf(atOnce, body);
    double least = INFINITY;
    for (int attempt = 0; attempt < 20 && least > enough; ++attempt) {
      double way = secondsOf(atOnce, body) / double(2 * numRanks);
      World world({numRanks}, std::chrono::microseconds(int64_t(1e6 * way)));
      secondsOf(world, body);
      for (int64_t rank = 0; rank < numRanks; ++rank)
        least =
            std::min(least, world.counter(rank, op, 1).exposed_seconds / way);
    }
    return least;
  }

  std::vector<Part> parts = std::vector<Part>(numRanks);
};

} // namespace

/// Waited for, the two blocks would be two ways.
TEST_F(Overlap, BlocksTravelWhileARingAttends) {
  EXPECT_LT(exposedWays("ring_attention", &Part::attend, 1), 1);
}

/// The first block is waited for, with nothing to do before it. With another
/// one and the sums of two steps it would be four ways.
TEST_F(Overlap, BlocksAndSumsTravelWhileARingDifferentiates) {
  EXPECT_LT(exposedWays("ring_attention_grad", &Part::differentiate, 2), 2);
}
