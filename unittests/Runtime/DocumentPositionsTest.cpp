//===- DocumentPositionsTest.cpp - Places within documents ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedRows.h"

using namespace cp::test;

namespace {

Tensor tensorOf(const std::vector<Sizes> &rows, bool hasGaps) {
  Array values = listsOf(rows);
  Tensor tensor(CPRT_I32, values.sizes, hasGaps);
  tensor.write(values);
  return tensor;
}

void call(Tensor &documents, Tensor &out, cprt_context *context,
          const Sizes &axes, const Sizes &orders, const Sizes &alike = {}) {
  Call(4).in(documents).out(out).array(axes).array(orders).array(alike).run(
      cprt_document_positions, context);
}

/// Of rank 0 of two, which is alone: it is refused before ranks meet.
void expectRefused(const std::vector<Sizes> &rows, const std::string &text) {
  World world({2});
  Tensor documents = tensorOf(rows, false),
         out(CPRT_I64, Sizes{int64_t(rows.size()), 4});
  call(documents, out, world.context(0), {0}, {0});
  EXPECT_EQ(cprt_context_status(world.context(0)), CPRT_INVALID_ARGUMENT);
  std::string message = cprt_context_message(world.context(0));
  EXPECT_NE(message.find(text), std::string::npos) << message;
}

} // namespace

TEST(DocumentPositions, AreThoseOfTheParts) {
  uint64_t seed = testSeed();
  for (const Setting &setting : settings())
    for (uint64_t number = 0; number < 20; ++number) {
      RandomCase random{setting, seed + number};
      SCOPED_TRACE(testing::Message() << random << " seed " << seed + number);
      int64_t order = setting.axes.size() == 1 ? random.anyOrder() : 0;
      if (setting.axes.size() == 1 && number % 3 == 0)
        order = number % 2 ? perDocument : blockPerDocument;
      int64_t length = random.groupSize() * 4 * random.draw(1, 3);
      int64_t count = random.draw(1, 6);
      std::vector<std::vector<Sizes>> groups;
      for (int64_t i = 0; i < random.numGroups(); ++i)
        groups.push_back(
            {drawEnds(random, count, length), drawEnds(random, count, length)});
      World world(setting.mesh);
      world.run([&](int64_t rank, cprt_context *context) {
        Member member = random.member(rank);
        const auto &rows = groups[size_t(member.group)];
        Array places = placesOf(rows, length);
        Array expected =
            isPerDocument(order)
                ? packedPart(places, 1, rows, member.size, member.position,
                             order)
                : partOf(places, 1, order, member.size, member.position);
        Tensor documents = tensorOf(rows, /*hasGaps=*/rank % 2 == 0);
        Tensor out(CPRT_I64, expected.sizes, /*hasGaps=*/rank % 2 == 1);
        call(documents, out, context, setting.axes,
             Sizes(setting.axes.size(), order));
        EXPECT_EQ(out.read(), expected) << "rank " << rank;
        EXPECT_TRUE(out.gapsAreIntact());
      });
      EXPECT_EQ(world.failures(), "");
    }
}

/// Nothing is sent, so explanations need not know of documents.
TEST(DocumentPositions, MoveNoBytes) {
  World world({4});
  world.run([&](int64_t, cprt_context *context) {
    Tensor documents = tensorOf({{0, 3, 8}}, false), out(CPRT_I64, Sizes{1, 2});
    call(documents, out, context, {0}, {1});
  });
  EXPECT_EQ(world.failures(), "");
  EXPECT_EQ(world.counter(0, "document_positions", 1).bytes_sent, 0);
}

TEST(DocumentPositions, RefuseWhatIsNoListOfDocuments) {
  expectRefused({{0, 8}, {1, 8}},
                "row 1 of this rank's cu_seqlens begins with 1, expected");
  expectRefused({{0, 5, 4, 8}}, "falls from 5 to 4 at 2");
  expectRefused({{0, 5, 7}}, "ends with 7, expected 8");
  expectRefused({{0, 9}}, "ends with 9, expected 8");
}

/// Heads are cut over the second axis: of a rank's own sequence others have
/// some.
TEST(DocumentPositions, AreComparedOverOtherAxesToo) {
  for (const Sizes &axes : {Sizes{}, Sizes{0}}) {
    int64_t local = axes.empty() ? 8 : 4;
    for (bool isAlike : {true, false}) {
      World world({2, 2});
      world.run([&](int64_t rank, cprt_context *context) {
        int64_t end = rank == 1 && !isAlike ? 4 : 3;
        Tensor documents = tensorOf({{0, end, 8}}, false),
               out(CPRT_I64, Sizes{1, local});
        call(documents, out, context, axes, Sizes(axes.size(), 0), {0, 1});
      });
      for (int64_t rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(cprt_context_status(world.context(rank)),
                  isAlike ? CPRT_OK : CPRT_MISMATCH)
            << "rank " << rank;
        std::string message = cprt_context_message(world.context(rank));
        EXPECT_EQ(message.find("other documents in row 0") != message.npos,
                  !isAlike)
            << message;
      }
    }
  }
}

TEST(DocumentPositions, OfAllRanksMustBeTheSame) {
  World world({2, 2});
  world.run([&](int64_t rank, cprt_context *context) {
    // Ranks 0 and 2 are of one group, and differ; 1 and 3 do not.
    int64_t end = rank == 2 ? 4 : 3;
    Tensor documents = tensorOf({{0, 8, 8}, {0, end, 8}}, false),
           out(CPRT_I64, Sizes{2, 4});
    call(documents, out, context, {0}, {0});
  });
  for (int64_t rank : {0, 2}) {
    EXPECT_EQ(cprt_context_status(world.context(rank)), CPRT_MISMATCH);
    std::string message = cprt_context_message(world.context(rank));
    EXPECT_NE(message.find("other documents in row 1"), std::string::npos)
        << message;
  }
}
