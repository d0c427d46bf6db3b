//===- RingAttentionGradTest.cpp - The adjoint of attention along a ring --===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against the adjoint of one rank, which unittests/Kernels holds against finite
// differences.
//
//===----------------------------------------------------------------------===//

#include "AttentionCases.h"
#include "PackedRows.h"

#include <algorithm>

using namespace cp::test;

namespace {

/// An attention, cotangents of its results, and gradients by them.
struct WholeGrad {
  Whole whole;
  Array dout, dlse = Array(Sizes{});
  Array dq, dk, dv;

  WholeGrad(const Shape &shape, cprt_dtype dtype, Rule rule,
            std::mt19937_64 &random, const Array &places = Array(Sizes{}))
      : whole(shape, dtype, rule, random, places), dout(whole.o.sizes),
        dq(whole.q.sizes), dk(whole.k.sizes), dv(whole.v.sizes) {
    std::uniform_real_distribution<double> draw(-1, 1);
    for (double &value : dout.values)
      value = dtype == CPRT_BF16 ? roundedToBF16(draw(random)) : draw(random);
    if (random() % 2) {
      dlse = Array(whole.lse.sizes);
      for (double &value : dlse.values)
        value = draw(random);
    }
    World alone({1});
    differentiate(alone.context(0), nullptr, *this);
    EXPECT_EQ(alone.failures(), "");
  }

  /// What one rank of `mesh` holds.
  WholeGrad part(const Sizes &mesh, const Cut &how, int64_t rank) const {
    WholeGrad part = *this;
    part.whole = whole.part(mesh, how, how, rank);
    auto cut = [&](Array &array, int64_t dim) {
      for (size_t i = 0; i < how.axes.size(); ++i) {
        Member member = memberOf(mesh, {how.axes[i]}, rank);
        array = partOf(array, dim, how.orders[i], member.size, member.position);
      }
    };
    for (Array *array : {&part.dout, &part.dq, &part.dk, &part.dv})
      cut(*array, 1);
    if (!dlse.sizes.empty())
      cut(part.dlse, 2);
    return part;
  }

  /// Runs the adjoint of a ring, or of one rank, on the inputs of this, and
  /// writes what comes out to `result`.
  void differentiate(cprt_context *context, const Cut *ring, WholeGrad &result,
                     bool hasGaps = false) const {
    cprt_dtype dtype = whole.dtype, sums = whole.sumType();
    Tensor q = whole.tensor(whole.q, hasGaps), k = whole.tensor(whole.k, false),
           v = whole.tensor(whole.v, hasGaps), o = whole.tensor(whole.o, false),
           lse(sums, whole.lse, hasGaps), inDout = whole.tensor(dout, hasGaps),
           inDlse(sums, dlse, hasGaps), places(CPRT_I64, whole.places, hasGaps),
           documents(CPRT_I32, whole.documents, hasGaps);
    Tensor outQ(dtype, dq.sizes, hasGaps), outK(sums, dk.sizes, hasGaps),
        outV(sums, dv.sizes, hasGaps);
    Call call;
    call.in(q).in(k).in(v).in(o).in(lse).in(inDout);
    if (dlse.sizes.empty())
      call.none();
    else
      call.in(inDlse);
    if (!whole.places.sizes.empty())
      call.in(places);
    if (ring && !whole.documents.sizes.empty())
      call.in(documents);
    call.out(outQ).out(outK).out(outV);
    if (ring)
      call.array(ring->axes).attr(whole.rule.causal).array(ring->orders);
    else
      call.attr(whole.rule.causal);
    call.attr(scaleWord()).attr(whole.rule.window);
    call.run(ring ? cprt_ring_attention_grad : cprt_attention_grad, context);
    EXPECT_TRUE(outQ.gapsAreIntact() && outK.gapsAreIntact() &&
                outV.gapsAreIntact());
    result.dq = dtype == CPRT_BF16 ? bf16Numbers(outQ.read()) : outQ.read();
    result.dk = outK.read();
    result.dv = outV.read();
  }

  /// Sums of other parts differ by rounding; dq of bf16 is rounded once, and dk
  /// and dv are not.
  void expectNear(const WholeGrad &expected) const {
    double sums = whole.dtype == CPRT_F64 ? 1e-12 : 1e-5;
    expectNear(dq, expected.dq, sums, whole.dtype == CPRT_BF16 ? 1. / 128 : 0);
    expectNear(dk, expected.dk, sums, 0);
    expectNear(dv, expected.dv, sums, 0);
  }
  static void expectNear(const Array &got, const Array &expected, double sums,
                         double last) {
    double largest = 1;
    for (double value : expected.values)
      largest = std::max(largest, std::fabs(value));
    for (size_t i = 0; i < got.values.size(); ++i)
      ASSERT_NEAR(got.values[i], expected.values[i],
                  sums * largest + last * std::fabs(expected.values[i]));
  }
  bool isBitwise(const WholeGrad &other) const {
    return dq == other.dq && dk == other.dk && dv == other.dv;
  }
};

/// Which rows of a batch a rank has in an order per document.
void cutPerDocument(WholeGrad &part, const std::vector<Sizes> &rows,
                    int64_t ranks, int64_t rank, int64_t order) {
  auto cut = [&](Array &array, int64_t dim) {
    if (!array.sizes.empty())
      array = packedPart(array, dim, rows, ranks, rank, order);
  };
  Whole &whole = part.whole;
  for (Array *array : {&whole.q, &whole.k, &whole.v, &whole.o, &whole.places,
                       &part.dout, &part.dq, &part.dk, &part.dv})
    cut(*array, 1);
  for (Array *array : {&whole.lse, &part.dlse})
    cut(*array, 2);
  whole.documents = listsOf(rows);
}

/// Forward and backward, of documents each of which begins anew.
void checkPacked(RandomCase &c, int64_t ranks, cprt_dtype dtype, Rule rule) {
  Shape shape = shapeFor(c, ranks);
  int64_t count = c.draw(1, 6);
  std::vector<Sizes> rows;
  for (int64_t i = 0; i < shape.b; ++i)
    rows.push_back(drawEnds(c, count, shape.l));
  WholeGrad all(shape, dtype, rule, c.random, placesOf(rows, shape.l));
  Cut cut = {{0}, {c.draw(0, 2) ? perDocument : blockPerDocument}};
  World world({ranks});
  world.run([&](int64_t rank, cprt_context *context) {
    WholeGrad part = all;
    cutPerDocument(part, rows, ranks, rank, cut.orders[0]);
    WholeGrad first = part, second = part;
    part.whole.attend(context, {}, {}, &cut, first.whole, rank % 2);
    first.whole.expectNear(part.whole);
    part.differentiate(context, &cut, first, rank % 2);
    first.expectNear(part);
    cprt_context_reset_counters(context);
    part.differentiate(context, &cut, second, !(rank % 2));
    EXPECT_EQ(cprt_context_allocations(context), 0);
    EXPECT_TRUE(first.isBitwise(second));
  });
  ASSERT_EQ(world.failures(), "");
}

void check(RandomCase &c, const Case &where, cprt_dtype dtype, Rule rule) {
  SCOPED_TRACE(testing::Message() << cprt_dtype_size(dtype) << " bytes, causal "
                                  << rule.causal << ", window " << rule.window
                                  << ", orders " << Array(where.cut.orders));
  WholeGrad all(shapeFor(c, where.ranks()), dtype, rule, c.random);
  bool hasGaps = c.draw(0, 1);
  World world(where.mesh);
  world.run([&](int64_t rank, cprt_context *context) {
    WholeGrad part = all.part(where.mesh, where.cut, rank);
    WholeGrad first = part, second = part;
    part.differentiate(context, &where.cut, first, hasGaps);
    first.expectNear(part);
    // A step like the one before allocates nothing, and gives the same bits.
    cprt_context_reset_counters(context);
    part.differentiate(context, &where.cut, second, !hasGaps);
    EXPECT_EQ(cprt_context_allocations(context), 0);
    EXPECT_TRUE(first.isBitwise(second));
  });
  ASSERT_EQ(world.failures(), "");
  int64_t ranks = where.ranks(), width = int64_t(cprt_dtype_size(dtype)),
          wide = int64_t(cprt_dtype_size(all.whole.sumType()));
  int64_t block = (product(all.dk.sizes) + product(all.dv.sizes)) / ranks;
  for (int64_t rank = 0; rank < world.size(); ++rank) {
    cprt_counter counter =
        world.counter(rank, "ring_attention_grad", maskOf(where.cut.axes));
    EXPECT_EQ(counter.bytes_sent, (ranks - 1) * block * (width + wide));
    EXPECT_EQ(counter.calls, 1);
  }
}

} // namespace

TEST(RingAttentionGrad, EqualsOneRank) {
  RandomCase c{{{1}, {0}}, testSeed()};
  SCOPED_TRACE(testing::Message() << c);
  for (const Case &where : cases())
    for (cprt_dtype dtype : {CPRT_F64, CPRT_F32, CPRT_BF16})
      for (Rule rule : rules) {
        check(c, where, dtype, rule);
        if (testing::Test::HasFailure())
          return;
      }
}

TEST(RingAttentionGrad, PerDocumentEqualsOneRank) {
  RandomCase c{{{1}, {0}}, testSeed()};
  SCOPED_TRACE(testing::Message() << c);
  for (int64_t ranks : {1, 2, 3, 4, 8})
    for (cprt_dtype dtype : {CPRT_F64, CPRT_F32, CPRT_BF16})
      for (Rule rule : {Rule{true, 0}, Rule{true, 5}}) {
        checkPacked(c, ranks, dtype, rule);
        if (testing::Test::HasFailure())
          return;
      }
}

TEST(RingAttentionGrad, EmptyTensors) {
  for (Shape shape : {Shape{0, 8, 8, 2, 1, 3, 3}, Shape{1, 0, 0, 2, 1, 3, 3},
                      Shape{1, 8, 8, 0, 0, 3, 3}, Shape{1, 8, 8, 2, 1, 0, 0}}) {
    std::mt19937_64 random(1);
    Cut cut = {{0}, {1}};
    WholeGrad all(shape, CPRT_F32, {true, 0}, random);
    World world({2});
    world.run([&](int64_t rank, cprt_context *context) {
      WholeGrad part = all.part({2}, cut, rank), got = part;
      part.differentiate(context, &cut, got);
      got.expectNear(part);
    });
    EXPECT_EQ(world.failures(), "");
  }
}

/// Each with what is expected and what came, before any peer is waited for.
TEST(RingAttentionGrad, WhatDoesNotFitIsRefused) {
  Tensor q(CPRT_F32, Sizes{1, 4, 4, 2}), k(CPRT_F32, Sizes{1, 4, 2, 2}),
      lse(CPRT_F32, Sizes{1, 4, 4}), flat(CPRT_F32, Sizes{4, 4, 2}),
      three(CPRT_F32, Sizes{1, 4, 3, 2}), wide(CPRT_F64, Sizes{1, 4, 2, 2}),
      places(CPRT_I64, Sizes{1, 4}), dq(CPRT_F32, Sizes{1, 4, 4, 2}),
      dk(CPRT_F32, Sizes{1, 4, 2, 2}), dv(CPRT_F32, Sizes{1, 4, 2, 2});
  auto expect = [&](Tensor &first, Tensor &keys, Tensor &out, bool hasPlaces,
                    bool causal, const std::string &text) {
    Call call;
    call.in(first).in(keys).in(keys).in(q).in(lse).in(q).none();
    if (hasPlaces)
      call.in(places);
    call.out(dq).out(out).out(dv).array({0}).attr(causal).array({0});
    call.attr(scaleWord()).attr(0);
    World world({2});
    world.run([&](int64_t, cprt_context *context) {
      call.run(cprt_ring_attention_grad, context);
      EXPECT_EQ(cprt_context_status(context), CPRT_INVALID_ARGUMENT);
    });
    std::string message = cprt_context_message(world.context(0));
    EXPECT_NE(message.find(text), std::string::npos) << message;
  };
  expect(flat, k, dk, false, true, "input 0 is f32[4, 4, 2], expected 4");
  expect(q, three, dk, false, true, "4 query heads for 3 key heads");
  expect(q, wide, dk, false, true, "f32[1, 4, 2, 2]");
  expect(q, k, wide, false, true, "f32[1, 4, 2, 2]");
  expect(q, k, dk, true, false, "there are places without causal");
}
