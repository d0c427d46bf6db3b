//===- AttentionTest.cpp - Attention of a rank and of a ring --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionCases.h"

using namespace cp::test;

namespace {

void checkRing(RandomCase &c, const Case &where, cprt_dtype dtype, Rule rule) {
  SCOPED_TRACE(testing::Message() << cprt_dtype_size(dtype) << " bytes, causal "
                                  << rule.causal << ", window " << rule.window
                                  << ", orders " << Array(where.cut.orders));
  Whole whole(shapeFor(c, where.ranks()), dtype, rule, c.random);
  bool hasGaps = c.draw(0, 1);
  World world(where.mesh);
  world.run([&](int64_t rank, cprt_context *context) {
    Whole part = whole.part(where.mesh, where.cut, where.cut, rank);
    Whole first = part, second = part;
    part.attend(context, {}, {}, &where.cut, first, hasGaps);
    first.expectNear(part);
    // A step like the one before allocates nothing, and gives the same bits.
    cprt_context_reset_counters(context);
    part.attend(context, {}, {}, &where.cut, second, !hasGaps);
    EXPECT_EQ(cprt_context_allocations(context), 0);
    EXPECT_EQ(first.o, second.o);
    EXPECT_EQ(first.lse, second.lse);
  });
  ASSERT_EQ(world.failures(), "");
  int64_t ranks = where.ranks(), width = int64_t(cprt_dtype_size(dtype));
  int64_t block = (product(whole.k.sizes) + product(whole.v.sizes)) / ranks;
  for (int64_t rank = 0; rank < world.size(); ++rank) {
    cprt_counter counter =
        world.counter(rank, "ring_attention", maskOf(where.cut.axes));
    EXPECT_EQ(counter.bytes_sent, (ranks - 1) * block * width);
    EXPECT_EQ(counter.calls, 1);
  }
}

/// On a line of so many ranks.
void expectEqualOnLine(int64_t ranks, const Whole &whole, const Cut &cut) {
  World world({ranks});
  world.run([&](int64_t rank, cprt_context *context) {
    Whole part = whole.part({ranks}, cut, cut, rank), got = part;
    part.attend(context, {}, {}, &cut, got);
    got.expectNear(part);
  });
  EXPECT_EQ(world.failures(), "");
}

} // namespace

TEST(RingAttention, EqualsOneRank) {
  RandomCase c{{{1}, {0}}, testSeed()};
  SCOPED_TRACE(testing::Message() << c);
  for (const Case &where : cases())
    for (cprt_dtype dtype : {CPRT_F64, CPRT_F32, CPRT_BF16})
      for (Rule rule : rules) {
        checkRing(c, where, dtype, rule);
        if (testing::Test::HasFailure())
          return;
      }
}

/// Queries may be others than the keys' own rows, when nothing is causal.
TEST(RingAttention, KeysOfAnotherSequence) {
  RandomCase c{{{1}, {0}}, testSeed()};
  SCOPED_TRACE(testing::Message() << c);
  Cut cut = {{0}, {1}};
  Whole whole({2, 18, 24, 4, 2, 5, 3}, CPRT_F64, {false, 0}, c.random);
  expectEqualOnLine(3, whole, cut);
}

/// One rank holds everything, in whatever order and of whatever length.
TEST(RingAttention, OddLengthsOnOneRank) {
  std::mt19937_64 random(1);
  Cut cut = {{1}, {1}};
  Whole whole({1, 7, 7, 1, 1, 3, 3}, CPRT_F64, {true, 2}, random);
  World world({2, 1});
  world.run([&](int64_t, cprt_context *context) {
    Whole ring = whole, cutOnly = whole;
    whole.attend(context, {}, {}, &cut, ring);
    ring.expectNear(whole);
    whole.attend(context, cut, cut, nullptr, cutOnly);
    cutOnly.expectNear(whole);
  });
  EXPECT_EQ(world.failures(), "");
}

/// Blocks whose bytes no word of four divides.
TEST(RingAttention, BlocksOfOddSizes) {
  std::mt19937_64 random(1);
  Cut cut = {{0}, {0}};
  Whole whole({1, 9, 9, 1, 1, 5, 3}, CPRT_BF16, {false, 0}, random);
  expectEqualOnLine(3, whole, cut);
}

TEST(RingAttention, EmptyTensors) {
  for (Shape shape : {Shape{0, 8, 8, 2, 1, 3, 3}, Shape{1, 0, 0, 2, 1, 3, 3},
                      Shape{1, 8, 8, 0, 0, 3, 3}, Shape{1, 8, 8, 2, 1, 0, 0}}) {
    std::mt19937_64 random(1);
    Cut cut = {{0}, {1}};
    Whole whole(shape, CPRT_F32, {true, 0}, random);
    expectEqualOnLine(2, whole, cut);
  }
}

/// A kernel that finds no memory, between entering and leaving. The tensors are
/// empty for want of a batch, so only the kernel's own memory is too large.
TEST(RingAttention, HeadsThatDoNotFitMemory) {
  if (CP_SANITIZED)
    GTEST_SKIP() << "a sanitizer ends the process at such a request";
  Tensor in(CPRT_F32, Sizes{0, 4, 1, 1}), out(CPRT_F32, Sizes{0, 4, 1, 1}),
      lse(CPRT_F32, Sizes{0, 1, 4});
  Call call;
  call.in(in).in(in).in(in).out(out).out(lse).array({0}).attr(1).array({1});
  call.attr(scaleWord()).attr(0);
  std::vector<int64_t> table = call.table();
  std::vector<void *> pointers = call.pointers();
  for (size_t tensor = 0; tensor < 4; ++tensor) {
    size_t headSize = 4 + 10 * tensor + 5;
    ASSERT_EQ(table[headSize], 1);
    table[headSize] = int64_t(1) << 45;
  }
  World world({4});
  world.run([&](int64_t, cprt_context *context) {
    cprt_ring_attention(context, nullptr, table.data(), pointers.data());
    EXPECT_NE(cprt_context_status(context), CPRT_OK);
  });
  EXPECT_NE(world.failures().find("no memory for the kernel's scratch"),
            std::string::npos);
}

/// Keys whole, queries cut in any way: as after a gather of k and v. All whole:
/// as between two exchanges of heads.
TEST(Attention, CutQueriesSeeWholeKeys) {
  RandomCase c{{{1}, {0}}, testSeed()};
  SCOPED_TRACE(testing::Message() << c);
  for (const Case &where : cases())
    for (cprt_dtype dtype : {CPRT_F64, CPRT_F32, CPRT_BF16})
      for (Rule rule : rules) {
        Whole whole(shapeFor(c, where.ranks()), dtype, rule, c.random);
        World world(where.mesh);
        world.run([&](int64_t rank, cprt_context *context) {
          Whole part = whole.part(where.mesh, where.cut, {}, rank), got = part;
          part.attend(context, where.cut, {}, nullptr, got, c.seed % 2);
          got.expectNear(part);
          cprt_context_reset_counters(context);
          part.attend(context, where.cut, {}, nullptr, got);
          EXPECT_EQ(cprt_context_allocations(context), 0);
        });
        ASSERT_EQ(world.failures(), "");
        if (testing::Test::HasFailure())
          return;
      }
}

/// Rank 0 has queries 0 to 3 and keys 0, 1, 6, 7; rank 1 queries 4 to 7 and
/// keys 2 to 5. The last key that a rank holds is no number: only the queries
/// at its place or after it, on rank 1 those at 5 and on, may see that.
TEST(Attention, CutKeysKeepTheirPlaces) {
  std::mt19937_64 random(1);
  Cut queries = {{0}, {0}}, keys = {{0}, {1}};
  Whole whole({1, 8, 8, 1, 1, 4, 4}, CPRT_F64, {true, 0}, random);
  whole.places = Array(Sizes{});
  World world({2});
  world.run([&](int64_t rank, cprt_context *context) {
    Whole part = whole.part({2}, queries, keys, rank), got = part;
    part.k.at({0, 3, 0, 0}) = part.v.at({0, 3, 0, 0}) = std::nan("");
    part.attend(context, queries, keys, nullptr, got);
    for (int64_t row = 0; row < 4; ++row)
      EXPECT_EQ(std::isnan(got.o.at({0, row, 0, 0})), rank == 1 && row >= 1);
  });
  EXPECT_EQ(world.failures(), "");
}

namespace {

void expectInvalid(cprt_op *op, Call &call, const std::string &text) {
  World world({2, 3});
  call.run(op, world.context(0));
  EXPECT_EQ(cprt_context_status(world.context(0)), CPRT_INVALID_ARGUMENT);
  std::string message = cprt_context_message(world.context(0));
  EXPECT_NE(message.find(text), std::string::npos) << message;
}

} // namespace

TEST(Attention, WhatDoesNotFitIsRefused) {
  Tensor q(CPRT_F32, Sizes{1, 6, 4, 3}), k(CPRT_F32, Sizes{1, 6, 2, 3}),
      o(CPRT_F32, Sizes{1, 6, 4, 3}), lse(CPRT_F32, Sizes{1, 4, 6});
  Tensor longer(CPRT_F32, Sizes{1, 9, 2, 3}),
      three(CPRT_F32, Sizes{1, 6, 3, 3});
  int64_t scale = scaleWord(), nan = INT64_MAX;
  auto expect = [&](Tensor &keys, Sizes kAxes, Sizes kOrders, Sizes rest,
                    const std::string &text) {
    Call call;
    call.in(q).in(keys).in(keys).out(o).out(lse).attr(rest[0]);
    call.array(kAxes).array(kOrders).array({}).array({});
    call.attr(rest[1]).attr(rest[2]);
    expectInvalid(cprt_attention, call, text);
  };
  expect(three, {}, {}, {1, scale, 0}, "4 query heads for 3 key heads");
  expect(longer, {}, {}, {1, scale, 0}, "6 queries and 9 keys in all");
  expect(k, {0}, {0}, {1, scale, 0}, "6 queries and 12 keys in all");
  expect(k, {0}, {}, {1, scale, 0}, "attribute 'k_orders' is [], expected 0");
  expect(k, {0}, {-1}, {1, scale, 0},
         "attribute 'k_orders' is [-1], expected 0");
  expect(k, {2}, {0}, {1, scale, 0},
         "expected different positions from 0 to 1");
  expect(k, {1, 1}, {0, 0}, {1, scale, 0}, "expected different positions");
  expect(longer, {0}, {1}, {0, scale, 0}, "of 18 cannot be cut over 2 ranks");
  expect(k, {}, {}, {0, scale, 3}, "attribute 'window' is 3, expected 0");
  expect(k, {}, {}, {1, scale, -1}, "attribute 'window' is -1");
  expect(k, {}, {}, {2, scale, 0}, "attribute 'causal' is 2");
  expect(k, {}, {}, {1, nan, 0}, "attribute 'scale' is NaN");
}

TEST(RingAttention, WhatDoesNotFitIsRefused) {
  Tensor q(CPRT_F32, Sizes{1, 5, 4, 3}), k(CPRT_F32, Sizes{1, 5, 2, 3}),
      o(CPRT_F32, Sizes{1, 5, 4, 3}), lse(CPRT_F32, Sizes{1, 4, 5}),
      wide(CPRT_F64, Sizes{1, 4, 5}), flat(CPRT_F32, Sizes{5});
  auto call = [&](Tensor &keys, Tensor &to, Tensor &sums, Sizes orders) {
    Call call;
    call.in(q).in(keys).in(k).out(to).out(sums).array({1}).attr(1);
    call.array(orders).attr(scaleWord()).attr(0);
    return call;
  };
  auto expect = [](Call call, const std::string &text) {
    expectInvalid(cprt_ring_attention, call, text);
  };
  expect(call(k, o, lse, {1}), "of 15 cannot be cut over 3 ranks");
  expect(call(k, o, lse, {0, 0}), "attribute 'orders' is [0, 0], expected 0");
  expect(call(k, q, lse, {0}), "output 0");
  expect(call(k, o, wide, {0}), "output 1 is f64[1, 4, 5], expected f32");
  expect(call(flat, o, lse, {0}), "input 1 is f32[5], expected 4 dimensions");
}

namespace {

/// Attention of five queries on rank 0 of 2 x 3, with these places.
Call callWithPlaces(Tensor &q, Tensor &k, Tensor &places, Tensor &o,
                    Tensor &lse, bool isRing, bool causal) {
  Call call;
  call.in(q).in(k).in(k).in(places).out(o).out(lse);
  if (isRing)
    call.array({1}).attr(causal).array({0});
  else
    call.attr(causal).array({}).array({}).array({}).array({});
  call.attr(scaleWord()).attr(0);
  return call;
}

} // namespace

/// By the rank that has them, before it meets its peers.
TEST(Attention, PlacesThatDoNotFitAreRefused) {
  Tensor q(CPRT_F32, Sizes{1, 5, 4, 3}), k(CPRT_F32, Sizes{1, 5, 2, 3}),
      o(CPRT_F32, Sizes{1, 5, 4, 3}), lse(CPRT_F32, Sizes{1, 4, 5});
  Tensor good(CPRT_I64, Sizes{1, 5}), narrow(CPRT_I32, Sizes{1, 5}),
      wide(CPRT_I64, Sizes{1, 6}), wrong(CPRT_I64, Sizes{1, 5});
  Array places({1, 5});
  places.values = {0, 1, 2, 0, 1};
  good.write(places);
  places.values = {0, 1, 0, 3, 4};
  wrong.write(places);
  for (bool isRing : {false, true}) {
    cprt_op *op = isRing ? cprt_ring_attention : cprt_attention;
    auto expect = [&](Tensor &given, bool causal, const std::string &text) {
      Call call = callWithPlaces(q, k, given, o, lse, isRing, causal);
      expectInvalid(op, call, text);
    };
    expect(narrow, true, "input 3 is i32[1, 5], expected i64[1, 5]");
    expect(wide, true, "input 3 is i64[1, 6], expected i64[1, 5]");
    expect(good, false, "there are places without causal");
    expect(wrong, true, "places[0, 3] is 3 at position 3, behind 0");
  }
}

/// One that is left out is none.
TEST(Attention, PlacesMayBeLeftOut) {
  Tensor q(CPRT_F32, Sizes{1, 5, 4, 3}), k(CPRT_F32, Sizes{1, 5, 2, 3}),
      o(CPRT_F32, Sizes{1, 5, 4, 3}), lse(CPRT_F32, Sizes{1, 4, 5});
  World world({1});
  Call call;
  call.in(q).in(k).in(k).none().out(o).out(lse);
  call.attr(1).array({}).array({}).array({}).array({});
  call.attr(scaleWord()).attr(0).run(cprt_attention, world.context(0));
  EXPECT_EQ(world.failures(), "");
}

/// An order is part of what all ranks must agree on.
TEST(RingAttention, RankWithAnotherOrder) {
  std::mt19937_64 random(1);
  Whole whole({1, 16, 16, 1, 1, 2, 2}, CPRT_F32, {true, 0}, random);
  World world({4});
  world.run([&](int64_t rank, cprt_context *context) {
    Cut cut = {{0}, {rank == 2 ? 0 : 1}};
    Whole part = whole.part({4}, cut, cut, rank), got = part;
    part.attend(context, {}, {}, &cut, got);
    EXPECT_EQ(cprt_context_status(context), CPRT_MISMATCH);
  });
}
