//===- MoveTest.cpp - Collectives that only move bytes --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomCase.h"

#include <algorithm>
#include <numeric>

using namespace cp::test;

namespace {

/// Runs one call with one input and one output on every rank, and compares.
/// `input` and `expected` give a rank's arrays; returns nothing, expects much.
void checkOneToOne(RandomCase &c, cprt_op *op, const Call &attrs,
                   const std::function<Array(int64_t)> &input,
                   const std::function<Array(int64_t)> &expected,
                   const std::string &name,
                   const std::function<int64_t(int64_t)> &elementsSent) {
  World world(c.setting.mesh);
  cprt_dtype dtype = c.anyType();
  bool hasGaps = c.draw(0, 1);
  std::vector<Array> results(size_t(world.size()), Array({}));
  std::vector<char> intact(size_t(world.size()));
  world.run([&](int64_t rank, cprt_context *context) {
    Tensor in(dtype, input(rank), hasGaps);
    Tensor out(dtype, expected(rank).sizes, hasGaps);
    Call call = attrs;
    call.in(in).out(out).run(op, context);
    // Peers must be done with the input by now.
    in.write(Array(in.sizes));
    results[size_t(rank)] = out.read();
    intact[size_t(rank)] = out.gapsAreIntact();
  });
  ASSERT_EQ(world.failures(), "");
  for (int64_t rank = 0; rank < world.size(); ++rank) {
    EXPECT_EQ(results[size_t(rank)], expected(rank)) << "rank " << rank;
    EXPECT_TRUE(intact[size_t(rank)]) << "rank " << rank;
    cprt_counter counter = world.counter(rank, name, maskOf(c.setting.axes));
    EXPECT_EQ(counter.calls, 1);
    EXPECT_EQ(counter.bytes_sent,
              elementsSent(rank) * int64_t(cprt_dtype_size(dtype)));
  }
}

/// Sizes of a whole tensor whose `dim` divides over the group in any order.
Sizes cuttable(RandomCase &c, int64_t rank, int64_t dim) {
  Sizes sizes = c.anySizes(rank);
  sizes[size_t(dim)] *= 2 * c.groupSize();
  return sizes;
}

} // namespace

TEST(Move, AllGatherRestoresTheWhole) {
  forEachCase([](RandomCase &c) {
    int64_t rank = c.draw(1, 4), dim = c.draw(0, rank - 1), g = c.groupSize();
    int64_t order = c.anyOrder();
    std::vector<Array> wholes = c.wholes(cuttable(c, rank, dim));
    auto local = [&](int64_t r) {
      Member member = c.member(r);
      return partOf(wholes[size_t(member.group)], dim, order, g,
                    member.position);
    };
    checkOneToOne(
        c, cprt_all_gather, Call().array(c.setting.axes).attr(dim).attr(order),
        local, [&](int64_t r) { return wholes[size_t(c.member(r).group)]; },
        "all_gather",
        [&](int64_t r) { return (g - 1) * product(local(r).sizes); });
  });
}

/// Several tensors, of several types, are one exchange.
TEST(Move, GathersSeveralAtOnce) {
  World world({3});
  world.run([](int64_t rank, cprt_context *context) {
    Array one({1, 2}), two({2});
    for (double &value : one.values)
      value = double(rank);
    for (double &value : two.values)
      value = double(10 * rank);
    Tensor a(CPRT_BF16, one), b(CPRT_I64, two);
    Tensor allOfA(CPRT_BF16, Sizes{3, 2}), allOfB(CPRT_I64, Sizes{6});
    Call().array({0}).attr(0).attr(0).in(a).in(b).out(allOfA).out(allOfB).run(
        cprt_all_gather, context);
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(allOfA.read().values[i], double(i / 2));
      EXPECT_EQ(allOfB.read().values[i], double(10 * (i / 2)));
    }
  });
  ASSERT_EQ(world.failures(), "");
  cprt_counter counter = world.counter(0, "all_gather", maskOf({0}));
  EXPECT_EQ(counter.calls, 1);
  EXPECT_EQ(counter.bytes_sent, 2 * (2 * 2 + 2 * 8));
  // What is given must be one for each.
  world.run([](int64_t, cprt_context *context) {
    Tensor in(CPRT_F32, Sizes{1}), out(CPRT_F32, Sizes{3});
    Call().array({0}).attr(0).attr(0).in(in).in(in).out(out).run(
        cprt_all_gather, context);
    EXPECT_EQ(cprt_context_status(context), CPRT_INVALID_ARGUMENT);
  });
}

static void checkReorder(RandomCase &c, const Sizes &sizes, int64_t dim,
                         int64_t from, int64_t to) {
  int64_t g = c.groupSize();
  std::vector<Array> wholes = c.wholes(sizes);
  auto part = [&](int64_t r, int64_t order) {
    Member member = c.member(r);
    return partOf(wholes[size_t(member.group)], dim, order, g, member.position);
  };
  int64_t size = sizes[size_t(dim)];
  auto sent = [&](int64_t r) {
    int64_t rows = 0, position = c.member(r).position;
    for (int64_t i = 0; i < size; ++i)
      rows += ownerOf(from, g, size, i).first == position &&
              ownerOf(to, g, size, i).first != position;
    return rows * product(sizes) / size;
  };
  checkOneToOne(
      c, cprt_reorder,
      Call().array(c.setting.axes).attr(dim).attr(from).attr(to),
      [&](int64_t r) { return part(r, from); },
      [&](int64_t r) { return part(r, to); }, "reorder", sent);
}

TEST(Move, ReorderKeepsTheWhole) {
  forEachCase([](RandomCase &c) {
    int64_t rank = c.draw(1, 4), dim = c.draw(0, rank - 1);
    int64_t from = c.anyOrder(), to = c.anyOrder();
    checkReorder(c, cuttable(c, rank, dim), dim, from, to);
  });
}

/// Every pair of orders where parts begin and end within stripes: at either end
/// of a part, at both, and where it is but a piece of one stripe.
TEST(Move, ReorderCutsStripesAnywhere) {
  for (int64_t ranks : {2, 3})
    for (int64_t each = 2; each <= 12; each += 2)
      for (int64_t from = 0; from <= each + 1; ++from)
        for (int64_t to = 0; to <= each + 1; ++to) {
          RandomCase c{{{ranks}, {0}}, uint64_t(each)};
          auto divides = [&](int64_t order) {
            return order < 2 || each % (order - 1) == 0;
          };
          if (!divides(from) || !divides(to))
            continue;
          SCOPED_TRACE(testing::Message()
                       << each << " a rank, order " << from << " to " << to);
          checkReorder(c, {ranks * each, 2}, 0, from, to);
        }
}

TEST(Move, ShiftTakesTheNeighboursInput) {
  forEachCase([](RandomCase &c) {
    int64_t g = c.groupSize(), offset = c.draw(-g, g);
    std::vector<Array> wholes = c.wholes(cuttable(c, 2, 0));
    auto at = [&](int64_t r, int64_t back) {
      Member member = c.member(r);
      int64_t source = member.position - back;
      Array part = partOf(wholes[size_t(member.group)], 0, 0, g,
                          std::clamp<int64_t>(source, 0, g - 1));
      return source < 0 || source >= g ? Array(part.sizes) : part;
    };
    auto sent = [&](int64_t r) {
      int64_t taker = c.member(r).position + offset;
      bool isTaken = offset != 0 && taker >= 0 && taker < g;
      return isTaken ? product(at(r, 0).sizes) : 0;
    };
    checkOneToOne(
        c, cprt_shift, Call().array(c.setting.axes).attr(offset),
        [&](int64_t r) { return at(r, 0); },
        [&](int64_t r) { return at(r, offset); }, "shift", sent);
  });
}

TEST(Move, SliceTakesThePartAndMovesNothing) {
  forEachCase([](RandomCase &c) {
    int64_t rank = c.draw(1, 4), dim = c.draw(0, rank - 1), g = c.groupSize();
    int64_t order = c.anyOrder();
    std::vector<Array> wholes = c.wholes(cuttable(c, rank, dim));
    World world(c.setting.mesh);
    world.run([&](int64_t r, cprt_context *context) {
      Member member = c.member(r);
      const Array &whole = wholes[size_t(member.group)];
      Array expected = partOf(whole, dim, order, g, member.position);
      Tensor in(CPRT_I32, whole), out(CPRT_I32, expected.sizes, true);
      Call()
          .array(c.setting.axes)
          .attr(dim)
          .attr(order)
          .in(in)
          .out(out)
          .run(cprt_slice, context);
      EXPECT_EQ(out.read(), expected);
      EXPECT_EQ(cprt_context_counters(context, nullptr, 0), 0u);
    });
    EXPECT_EQ(world.failures(), "");
  });
}

TEST(Move, UnsliceIsAPartAmongZerosAndMovesNothing) {
  forEachCase([](RandomCase &c) {
    int64_t rank = c.draw(1, 4), dim = c.draw(0, rank - 1), g = c.groupSize();
    int64_t order = c.anyOrder();
    std::vector<Array> wholes = c.wholes(cuttable(c, rank, dim));
    World world(c.setting.mesh);
    world.run([&](int64_t r, cprt_context *context) {
      Member member = c.member(r);
      const Array &whole = wholes[size_t(member.group)];
      Tensor in(CPRT_F64, partOf(whole, dim, order, g, member.position));
      Tensor out(CPRT_F64, whole.sizes, true), sum(CPRT_F64, whole.sizes);
      Tensor own(CPRT_F64, in.read().sizes);
      Call()
          .array(c.setting.axes)
          .attr(dim)
          .attr(order)
          .in(in)
          .out(out)
          .run(cprt_unslice, context);
      EXPECT_EQ(cprt_context_counters(context, nullptr, 0), 0u);
      Call(0)
          .array(c.setting.axes)
          .in(out)
          .out(sum)
          .run(cprt_all_reduce, context);
      EXPECT_EQ(sum.read(), whole);
      Call()
          .array(c.setting.axes)
          .attr(dim)
          .attr(order)
          .in(out)
          .out(own)
          .run(cprt_slice, context);
      EXPECT_EQ(own.read(), in.read());
    });
    EXPECT_EQ(world.failures(), "");
  });
}

/// Row-major strides of [2, 2, 0] are zeros, which is no overlap.
TEST(Move, EmptyTensorsPass) {
  World world({2});
  world.run([](int64_t, cprt_context *context) {
    Tensor in(CPRT_F32, Sizes{2, 2, 0}), out(CPRT_F32, Sizes{2, 4, 0});
    Call().array({0}).attr(1).attr(0).in(in).out(out).run(cprt_all_gather,
                                                          context);
  });
  EXPECT_EQ(world.failures(), "");
  EXPECT_EQ(world.counter(0, "all_gather", 1).bytes_sent, 0);
}

/// Peers race ahead and overwrite their inputs right after each call.
TEST(Move, ManyCallsInARowOnTwoAxes) {
  World world({2, 4});
  constexpr int64_t rounds = 200;
  std::vector<int64_t> wrong(8);
  world.run([&](int64_t rank, cprt_context *context) {
    Tensor in(CPRT_I64, Sizes{64}), rows(CPRT_I64, Sizes{2 * 64}),
        columns(CPRT_I64, Sizes{4 * 64});
    for (int64_t round = 0; round < rounds; ++round) {
      Array mine({64});
      std::fill(mine.values.begin(), mine.values.end(),
                double(round * 8 + rank));
      in.write(mine);
      Call(0).array({0}).attr(0).attr(0).in(in).out(rows).run(cprt_all_gather,
                                                              context);
      Call(1).array({1}).attr(0).attr(0).in(in).out(columns).run(
          cprt_all_gather, context);
      in.write(Array({64}));
      Array first = rows.read(), second = columns.read();
      for (int64_t i = 0; i < 2 * 64; ++i)
        wrong[size_t(rank)] += first.values[size_t(i)] !=
                               double(round * 8 + i / 64 * 4 + rank % 4);
      for (int64_t i = 0; i < 4 * 64; ++i)
        wrong[size_t(rank)] += second.values[size_t(i)] !=
                               double(round * 8 + rank / 4 * 4 + i / 64);
    }
  });
  EXPECT_EQ(world.failures(), "");
  EXPECT_EQ(std::accumulate(wrong.begin(), wrong.end(), int64_t(0)), 0);
  EXPECT_EQ(world.counter(5, "all_gather", 2).calls, rounds);
  EXPECT_EQ(world.counter(5, "all_gather", 2).bytes_sent, rounds * 3 * 64 * 8);
}

/// Of several tensors some may be empty, and what lies behind the others is not
/// theirs.
TEST(AllGather, WritesNothingBehindItsResult) {
  World world({4});
  world.run([&](int64_t rank, cprt_context *context) {
    constexpr float untouched = -1;
    std::vector<float> in(64, float(rank)), out(256, untouched);
    // Rows of 25 elements, and an empty tensor.
    const int64_t table[] = {
        2,        2,        4,  0, // counts, id
        CPRT_F32, 1,        25, 1, CPRT_F32, 1, 0, 1, CPRT_F32, 1, 100,
        1,        CPRT_F32, 1,  0, 1,        1, 0, 0, 0}; // axes, dim, order
    void *buffers[] = {in.data(), in.data(), out.data(), nullptr};
    cprt_all_gather(context, nullptr, table, buffers);
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], i < 100 ? float(i / 25) : untouched) << i;
  });
  EXPECT_EQ(world.failures(), "");
}
