//===- DocumentsTest.cpp - The table and the properties of Documents.h ----===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Documents.h"
#include "Support.h"

#include <numeric>

using namespace cp;
using namespace cp::test;
using Runs = std::vector<cp::Run>;
using Ends = std::vector<int32_t>;

static Runs runsAt(const Ends &ends, int64_t ranks, int64_t position,
                   Order order = perDocument) {
  Runs runs;
  appendRuns({ends.data(), 1, int64_t(ends.size())}, order, ranks, position,
             runs);
  return runs;
}

static std::vector<int64_t> elementsOf(const Runs &runs) {
  std::vector<int64_t> elements;
  for (const cp::Run &run : runs) {
    EXPECT_EQ(run.local, int64_t(elements.size()));
    run.forEach([&](int64_t global, int64_t, int64_t length) {
      for (int64_t i = 0; i < length; ++i)
        elements.push_back(global + i);
    });
  }
  return elements;
}

TEST(Documents, table) {
  EXPECT_EQ(runsAt({0, 8}, 2, 0), (Runs{{0, 0, 2}, {6, 2, 2}}));
  EXPECT_EQ(runsAt({0, 8}, 2, 1), (Runs{{2, 0, 4}}));
  EXPECT_EQ(runsAt({0, 4, 8}, 2, 0), (Runs{{0, 0, 1}, {3, 1, 2}, {7, 3, 1}}));
  EXPECT_EQ(runsAt({0, 4, 8}, 2, 1), (Runs{{1, 0, 2}, {5, 2, 2}}));
  EXPECT_EQ(runsAt({0, 5, 8}, 2, 0), (Runs{{0, 0, 1}, {3, 1, 3}}));
  EXPECT_EQ(runsAt({0, 5, 8}, 2, 1), (Runs{{1, 0, 2}, {6, 2, 2}}));
  EXPECT_EQ(runsAt({0, 2, 2, 8}, 2, 0), (Runs{{0, 0, 3}, {5, 3, 1}}));
  EXPECT_EQ(runsAt({0, 2, 2, 8}, 2, 1), (Runs{{3, 0, 2}, {6, 2, 2}}));
}

TEST(Documents, tableOfBlocks) {
  auto blocks = [](const Ends &ends, int64_t position) {
    return runsAt(ends, 3, position, blockPerDocument);
  };
  EXPECT_EQ(blocks({0, 10, 27}, 0), (Runs{{0, 0, 4}, {10, 4, 5}}));
  EXPECT_EQ(blocks({0, 10, 27}, 1), (Runs{{4, 0, 3}, {15, 3, 6}}));
  EXPECT_EQ(blocks({0, 10, 27}, 2), (Runs{{7, 0, 3}, {21, 3, 6}}));
  EXPECT_EQ(blocks({0, 1, 2, 3}, 1), (Runs{{1, 0, 1}}));
  // Documents of 10 and 15 over a ring of three, and what fills the row.
  EXPECT_EQ(blocks({0, 10, 25, 27}, 0), (Runs{{0, 0, 4}, {10, 4, 5}}));
  EXPECT_EQ(blocks({0, 10, 25, 27}, 1),
            (Runs{{4, 0, 3}, {15, 3, 5}, {25, 8, 1}}));
  EXPECT_EQ(blocks({0, 10, 25, 27}, 2),
            (Runs{{7, 0, 3}, {20, 3, 5}, {26, 8, 1}}));
}

TEST(Documents, aSingleOneIsCutAsTheRow) {
  for (int64_t ranks = 1; ranks <= 5; ++ranks)
    for (int64_t each = 0; each <= 9; ++each)
      for (int64_t position = 0; position < ranks; ++position)
        for (Order order : {perDocument, blockPerDocument}) {
          CutRuns row = runsOf(Cut{0, order}, ranks, position, ranks * each);
          EXPECT_EQ(runsAt({0, int32_t(ranks * each)}, ranks, position, order),
                    Runs(row.begin(), row.end()));
        }
}

/// Documents of `multiple` times up to `most` elements, which make up a row
/// that `ranks` divide.
static Ends drawDocuments(std::mt19937 &generator, int32_t multiple,
                          int32_t most, int64_t ranks) {
  Ends ends = {0};
  for (int count = std::uniform_int_distribution<>(0, 9)(generator); count > 0;
       --count)
    ends.push_back(ends.back() + multiple * std::uniform_int_distribution<>(
                                                0, most)(generator));
  auto over = int32_t(ends.back() % ranks);
  ends.push_back(ends.back() + (over ? int32_t(ranks) - over : 0));
  return ends;
}

TEST(Documents, eachElementHasOneHolder) {
  std::mt19937 generator = makeGenerator();
  for (int i = 0; i < 1000; ++i) {
    int64_t ranks = std::uniform_int_distribution<>(1, 8)(generator);
    Ends ends = drawDocuments(generator, 1, 40, ranks);
    Order order = i % 2 ? perDocument : blockPerDocument;
    std::vector<int64_t> all, expected(size_t(ends.back()));
    for (int64_t position = 0; position < ranks; ++position) {
      std::vector<int64_t> own =
          elementsOf(runsAt(ends, ranks, position, order));
      EXPECT_EQ(int64_t(own.size()) * ranks, ends.back());
      EXPECT_TRUE(std::is_sorted(own.begin(), own.end()));
      all.insert(all.end(), own.begin(), own.end());
    }
    std::sort(all.begin(), all.end());
    std::iota(expected.begin(), expected.end(), 0);
    ASSERT_EQ(all, expected) << "case " << i;
  }
}

/// TransformerEngine's thd_get_partitioned_indices, element by element: of each
/// document the slices `position` and 2R-1-`position` of 2R.
TEST(Documents, equalTransformerEngineWhere2RDivides) {
  std::mt19937 generator = makeGenerator();
  for (int i = 0; i < 1000; ++i) {
    int64_t ranks = std::uniform_int_distribution<>(1, 8)(generator);
    Ends ends = drawDocuments(generator, int32_t(2 * ranks), 9, 1);
    for (int64_t position = 0; position < ranks; ++position) {
      std::vector<int64_t> expected;
      for (int64_t element = 0; element < ends.back(); ++element) {
        size_t document = 0;
        while (ends[document + 1] <= element)
          ++document;
        int64_t slice = (ends[document + 1] - ends[document]) / (2 * ranks);
        int64_t number = (element - ends[document]) / slice;
        if (number == position || number == 2 * ranks - 1 - position)
          expected.push_back(element);
      }
      ASSERT_EQ(elementsOf(runsAt(ends, ranks, position)), expected);
    }
  }
}

/// The longer blocks are dealt out as cards are: element by element from a
/// deck of positions that goes on from document to document.
TEST(Documents, blocksAreOfOneLengthOrOneMore) {
  std::mt19937 generator = makeGenerator();
  for (int i = 0; i < 1000; ++i) {
    int64_t ranks = std::uniform_int_distribution<>(1, 8)(generator);
    Ends ends = drawDocuments(generator, 1, 40, ranks);
    int64_t dealt = 0;
    for (size_t document = 1; document < ends.size(); ++document) {
      int64_t begin = ends[document - 1], length = ends[document] - begin;
      std::vector<int64_t> counts(size_t(ranks), length / ranks);
      for (int64_t left = length % ranks; left > 0; --left)
        ++counts[size_t(dealt++ % ranks)];
      for (int64_t position = 0; position < ranks; ++position) {
        std::vector<int64_t> own;
        for (int64_t element :
             elementsOf(runsAt(ends, ranks, position, blockPerDocument)))
          if (element >= begin && element < begin + length)
            own.push_back(element);
        int64_t count = counts[size_t(position)];
        std::vector<int64_t> expected(static_cast<size_t>(count));
        std::iota(expected.begin(), expected.end(), begin);
        begin += count;
        length -= count;
        ASSERT_EQ(own, expected) << "case " << i;
      }
    }
  }
}

/// The keys that the tokens of each position see, but for what 2R leaves of a
/// document, which is dealt otherwise; and those that this sees.
static std::vector<int64_t> keysSeen(const Ends &ends, int64_t ranks,
                                     int64_t &ofRests) {
  std::vector<int64_t> seen(size_t(ranks), 0);
  for (int64_t position = 0; position < ranks; ++position)
    for (int64_t element : elementsOf(runsAt(ends, ranks, position))) {
      auto next = std::upper_bound(ends.begin(), ends.end(), element);
      int64_t place = element - *(next - 1), length = *next - *(next - 1);
      bool isRest = place >= length - length % (2 * ranks);
      (isRest ? ofRests : seen[size_t(position)]) += place + 1;
    }
  return seen;
}

TEST(Documents, attentionIsShared) {
  std::mt19937 generator = makeGenerator();
  int64_t ranks = 8, rests = 0;
  std::vector<int64_t> of =
      keysSeen({0, 1000, 1013, 1013, 9000, 32000}, ranks, rests);
  EXPECT_GT(rests, 0);
  EXPECT_GT(of[0], rests);
  EXPECT_EQ(of, std::vector<int64_t>(size_t(ranks), of[0]));
  for (int draw = 0; draw < 20; ++draw) {
    of = keysSeen(drawDocuments(generator, 1, 4000, ranks), ranks, rests);
    EXPECT_EQ(of, std::vector<int64_t>(size_t(ranks), of[0]));
  }
}
