//===- ReorderDocumentsTest.cpp - From and to orders per document ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedRows.h"

using namespace cp::test;

namespace {

Array partIn(int64_t order, const Array &whole, int64_t dim,
             const std::vector<Sizes> &rows, const Member &member) {
  return isPerDocument(order)
             ? packedPart(whole, dim, rows, member.size, member.position, order)
             : partOf(whole, dim, order, member.size, member.position);
}

void call(Tensor &source, Tensor &lists, Tensor &out, cprt_context *context,
          const Sizes &axes, int64_t dim, int64_t from, int64_t to) {
  Call(4)
      .in(source)
      .in(lists)
      .out(out)
      .array(axes)
      .attr(dim)
      .attr(from)
      .attr(to)
      .run(cprt_reorder_documents, context);
}

/// One world, in which two batches come after each other, and the first again.
void check(RandomCase &random, int64_t from, int64_t to) {
  const Setting &setting = random.setting;
  int64_t rank = random.draw(2, 4), dim = random.draw(1, rank - 1);
  int64_t length = random.groupSize() * 4 * random.draw(1, 3);
  Sizes sizes = random.anySizes(rank);
  sizes[0] = 2;
  sizes[size_t(dim)] = length;
  std::vector<Array> wholes = random.wholes(sizes);
  int64_t count = random.draw(1, 6);
  std::vector<std::vector<Sizes>> batches;
  for (int64_t i = 0; i < 2; ++i)
    batches.push_back(
        {drawEnds(random, count, length), drawEnds(random, count, length)});
  World world(setting.mesh);
  cprt_dtype dtype = random.anyType();
  bool hasGaps = random.draw(0, 1);
  world.run([&](int64_t r, cprt_context *context) {
    Member member = random.member(r);
    const Array &whole = wholes[size_t(member.group)];
    for (size_t batch : {0, 1, 0}) {
      const std::vector<Sizes> &rows = batches[batch];
      Tensor source(dtype, partIn(from, whole, dim, rows, member), hasGaps);
      Tensor lists(CPRT_I32, listsOf(rows), !hasGaps);
      Array expected = partIn(to, whole, dim, rows, member);
      Tensor out(dtype, expected.sizes, hasGaps);
      call(source, lists, out, context, setting.axes, dim, from, to);
      // Peers must be done with the input by now.
      source.write(Array(source.sizes));
      EXPECT_EQ(out.read(), expected) << "rank " << r << " batch " << batch;
      EXPECT_TRUE(out.gapsAreIntact());
    }
  });
  EXPECT_EQ(world.failures(), "");
}

void expectRefused(Call call, cprt_status status, const std::string &text) {
  World world({2});
  call.run(cprt_reorder_documents, world.context(0));
  EXPECT_EQ(cprt_context_status(world.context(0)), status);
  std::string message = cprt_context_message(world.context(0));
  EXPECT_NE(message.find(text), std::string::npos) << message;
}

} // namespace

TEST(ReorderDocuments, GivesEachRankItsRows) {
  uint64_t seed = testSeed();
  for (const Setting &setting : settings())
    for (uint64_t number = 0; number < 12; ++number) {
      RandomCase random{setting, seed + number};
      SCOPED_TRACE(testing::Message() << random << " seed " << seed + number);
      int64_t other =
          setting.axes.size() == 1 && number % 4 ? random.anyOrder() : 0;
      int64_t one = number % 3 ? perDocument : blockPerDocument;
      check(random, number % 2 ? one : other, number % 2 ? other : one);
      // From one to the other, or to the same.
      if (number % 4 == 0)
        check(random, one, number % 8 ? perDocument : blockPerDocument);
    }
}

/// What is no longer this rank's is sent, and nothing else: of two documents of
/// 8 and 4 tokens in a row of 12, position 0 of 2 has 0 1 6 7 and 8 11.
TEST(ReorderDocuments, SendsWhatChangesHands) {
  World world({2});
  world.run([&](int64_t, cprt_context *context) {
    Tensor source(CPRT_F64, Sizes{1, 6}), out(CPRT_F64, Sizes{1, 6}),
        lists(CPRT_I32, listsOf({{0, 8, 12}}), false);
    call(source, lists, out, context, {0}, 1, 0, perDocument);
  });
  EXPECT_EQ(world.failures(), "");
  // Of 0 to 5 it keeps 0 and 1; of 6 to 11 position 1 keeps 9 and 10.
  for (int64_t rank : {0, 1})
    EXPECT_EQ(world.counter(rank, "reorder_documents", 1).bytes_sent, 4 * 8);
}

TEST(ReorderDocuments, WhatDoesNotFitIsRefused) {
  Tensor source(CPRT_F32, Sizes{1, 4}), out(CPRT_F32, Sizes{1, 4}),
      lists(CPRT_I32, listsOf({{0, 8}}), false),
      shorter(CPRT_I32, listsOf({{0, 7}}), false),
      two(CPRT_I32, listsOf({{0, 8}, {0, 8}}), false);
  auto with = [&](Tensor &documents, int64_t dim, int64_t from, int64_t to) {
    return Call(4)
        .in(source)
        .in(documents)
        .out(out)
        .array({0})
        .attr(dim)
        .attr(from)
        .attr(to);
  };
  expectRefused(with(lists, 1, 0, 1), CPRT_INVALID_ARGUMENT,
                "neither order is -1");
  expectRefused(with(lists, 0, 0, perDocument), CPRT_INVALID_ARGUMENT,
                "attribute 'dim' is 0");
  expectRefused(with(lists, 2, 0, perDocument), CPRT_INVALID_ARGUMENT,
                "attribute 'dim' is 2, expected 1 to 1");
  expectRefused(with(lists, 1, -2, perDocument), CPRT_INVALID_ARGUMENT,
                "attribute 'from_order' is -2");
  expectRefused(with(shorter, 1, 0, perDocument), CPRT_INVALID_ARGUMENT,
                "ends with 7, expected 8");
  expectRefused(with(two, 1, 0, perDocument), CPRT_INVALID_ARGUMENT,
                "expected i32[1, 2]");
}

TEST(ReorderDocuments, OfAllRanksMustBeTheSame) {
  World world({2});
  world.run([&](int64_t rank, cprt_context *context) {
    Tensor source(CPRT_F32, Sizes{1, 4}), out(CPRT_F32, Sizes{1, 4}),
        lists(CPRT_I32, listsOf({{0, 3 + rank, 8}}), false);
    call(source, lists, out, context, {0}, 1, 0, perDocument);
  });
  for (int64_t rank : {0, 1}) {
    EXPECT_EQ(cprt_context_status(world.context(rank)), CPRT_MISMATCH);
    std::string message = cprt_context_message(world.context(rank));
    EXPECT_NE(message.find("other documents in row 0"), std::string::npos)
        << message;
  }
}
