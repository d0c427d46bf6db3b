//===- IndexTest.cpp - The tables of Layout.h: where elements live --------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

using namespace cp;
using namespace cp::test;

using Indices = std::vector<int64_t>;
using Cuts = std::vector<Cut>;

static Indices indicesOf(const Mesh &mesh, const Cuts &cuts, int64_t size,
                         int64_t rank) {
  Indices indices(localShape(Layout{mesh, {cuts}, {}}, {size})[0]);
  for (size_t i = 0; i < indices.size(); ++i)
    indices[i] = globalIndex(mesh, cuts, size, rank, i);
  return indices;
}

TEST(Index, globalIndex) {
  Mesh two = makeMesh({2}), four = makeMesh({2, 2});
  struct Row {
    Mesh mesh;
    Cuts cuts;
    std::vector<Indices> perRank;
  };
  Indices all = {0, 1, 2, 3, 4, 5, 6, 7};
  for (const Row &row : {
           Row{two, {}, {all, all}},
           Row{two, {{0}}, {{0, 1, 2, 3}, {4, 5, 6, 7}}},
           Row{two, {{0, zigzag}}, {{0, 1, 6, 7}, {2, 3, 4, 5}}},
           Row{two, {{0, striped}}, {{0, 2, 4, 6}, {1, 3, 5, 7}}},
           Row{two, {{0, striped, 2}}, {{0, 1, 4, 5}, {2, 3, 6, 7}}},
           Row{four, {{0, zigzag}, {1}}, {{0, 1}, {6, 7}, {2, 3}, {4, 5}}},
           Row{four, {{1, zigzag}, {0}}, {{0, 1}, {2, 3}, {6, 7}, {4, 5}}},
           Row{four, {{0}, {1, striped}}, {{0, 2}, {1, 3}, {4, 6}, {5, 7}}},
           // With 8, behind the last, for what is room only.
           Row{two,
               {bySizes(0, {6, 2})},
               {{0, 1, 2, 3, 4, 5}, {6, 7, 8, 8, 8, 8}}},
           Row{two, {bySizes(0, {0, 8})}, {{8, 8, 8, 8, 8, 8, 8, 8}, all}},
           Row{four,
               {{0}, bySizes(1, {3, 1, 0, 4})},
               {{0, 1, 2, 8}, {3, 8, 8, 8}, {8, 8, 8, 8}, {4, 5, 6, 7}}},
           Row{four,
               {{1}, bySizes(0, {3, 1, 0, 4})},
               {{0, 1, 2, 8}, {8, 8, 8, 8}, {3, 8, 8, 8}, {4, 5, 6, 7}}},
       })
    for (size_t rank = 0; rank < row.perRank.size(); ++rank)
      EXPECT_EQ(indicesOf(row.mesh, row.cuts, 8, rank), row.perRank[rank]);
}

TEST(Index, wholeSize) {
  Mesh mesh = makeMesh({4, 3});
  EXPECT_EQ(wholeSize(mesh, {}, 3), 3);
  EXPECT_EQ(wholeSize(mesh, {{0}}, 3), 12);
  EXPECT_EQ(wholeSize(mesh, {{0}, {1}}, 3), 36);
  EXPECT_EQ(wholeSize(mesh, {bySizes(1, {4, 0, 3})}, 4), 7);
  EXPECT_EQ(wholeSize(mesh, {bySizes(1, {4, 0, 3})}, 3), std::nullopt);
  Mesh four = makeMesh({2, 2});
  EXPECT_EQ(wholeSize(four, {{0}, bySizes(1, {4, 0, 3, 2})}, 4), 9);
  EXPECT_EQ(wholeSize(mesh, {{0}}, int64_t(1) << 62), std::nullopt);
}

TEST(Index, homeOf) {
  Mesh two = makeMesh({2}), four = makeMesh({2, 2});
  struct Row {
    Mesh mesh;
    Cuts cuts;
    std::vector<Home> homes;
  };
  Indices globals = {0, 2, 5, 7};
  for (const Row &row : {
           Row{two, {}, {{{}, 0}, {{}, 2}, {{}, 5}, {{}, 7}}},
           Row{two, {{0}}, {{{0}, 0}, {{0}, 2}, {{1}, 1}, {{1}, 3}}},
           Row{two, {{0, zigzag}}, {{{0}, 0}, {{1}, 0}, {{1}, 3}, {{0}, 3}}},
           Row{two,
               {{0, striped, 2}},
               {{{0}, 0}, {{1}, 0}, {{0}, 3}, {{1}, 3}}},
           Row{four,
               {{0, zigzag}, {1}},
               {{{0, 0}, 0}, {{1, 0}, 0}, {{1, 1}, 1}, {{0, 1}, 1}}},
       })
    for (size_t i = 0; i < globals.size(); ++i) {
      Home home = homeOf(row.mesh, row.cuts, 8, globals[i]);
      EXPECT_EQ(home.coordinates, row.homes[i].coordinates);
      EXPECT_EQ(home.local, row.homes[i].local);
    }
}

static void expectRuns(const Cuts &cuts, int64_t rank,
                       const std::vector<Run> &expected, int64_t size = 8) {
  std::vector<Run> runs = runsOf(makeMesh({2}), cuts, size, rank);
  EXPECT_EQ(runs, expected);
}

TEST(Index, runsOf) {
  expectRuns({}, 0, {{0, 0, 8}});
  expectRuns({}, 1, {{0, 0, 8}});
  expectRuns({{0}}, 0, {{0, 0, 4}});
  expectRuns({{0}}, 1, {{4, 0, 4}});
  expectRuns({{0, zigzag}}, 0, {{0, 0, 2}, {6, 2, 2}});
  expectRuns({{0, zigzag}}, 1, {{2, 0, 4}});
  expectRuns({{0, striped, 2}}, 0, {{0, 0, 2, 2, 4}});
  expectRuns({{0, striped, 2}}, 1, {{2, 0, 2, 2, 4}});
  expectRuns({{0, striped, 4}}, 1, {{4, 0, 4}});
}

TEST(Index, runsOfAPaddedDimension) {
  expectRuns({{0}}, 0, {{0, 0, 3}}, 5);
  expectRuns({{0}}, 1, {{3, 0, 2}}, 5);
  expectRuns({{0, zigzag}}, 0, {{0, 0, 2}}, 5);
  expectRuns({{0, zigzag}}, 1, {{2, 0, 3}}, 5);
  EXPECT_EQ(indicesOf(makeMesh({2}), {{0, zigzag}}, 7, 0),
            (Indices{0, 1, 6, 7}));
}

/// Parts have room for elements of a larger whole, and hold those that are.
TEST(Index, paddedPartsAreThoseOfTheLargerWhole) {
  std::mt19937 generator = makeGenerator();
  Mesh mesh = makeMesh({2, 3, 4});
  for (int i = 0; i < 200; ++i) {
    Cuts cuts = randomLayout(mesh, 1, generator).dims[0];
    int64_t size = 1 + int64_t(generator() % 60);
    int64_t padded = paddedSize(mesh, cuts, size);
    int64_t seen = 0;
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
      Indices all = held(mesh, cuts, padded, rank), walked;
      ASSERT_EQ(indicesOf(mesh, cuts, size, rank), all);
      for (const cp::Run &run : runsOf(mesh, cuts, size, rank))
        run.forEach([&](int64_t global, int64_t local, int64_t length) {
          for (int64_t j = 0; j < length; ++j) {
            ASSERT_EQ(all[size_t(local + j)], global + j);
            walked.push_back(global + j);
          }
        });
      all.erase(std::remove_if(all.begin(), all.end(),
                               [&](int64_t each) { return each >= size; }),
                all.end());
      ASSERT_EQ(walked, all);
      seen += int64_t(all.size());
    }
    ASSERT_GE(seen, size);
  }
}

TEST(Index, runsOfNothing) {
  EXPECT_TRUE(runsOf(makeMesh({2}), {{0, zigzag}}, 0, 1).empty());
}

/// Holds the three maps against the definition carried out on a list.
static void compareWithDefinition(const Mesh &mesh, const Cuts &cuts,
                                  int64_t size) {
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    Indices expected = held(mesh, cuts, size, rank);
    ASSERT_EQ(indicesOf(mesh, cuts, size, rank), expected);
    Indices fromRuns;
    std::vector<Run> runs = runsOf(mesh, cuts, size, rank);
    for (const Run &run : runs) {
      ASSERT_EQ(run.local, int64_t(fromRuns.size()));
      ASSERT_GT(run.length, 0);
      ASSERT_TRUE(run.count == 1 || run.step > run.length) << "not maximal";
      if (!fromRuns.empty()) {
        ASSERT_NE(fromRuns.back() + 1, run.global) << "not maximal";
      }
      for (int64_t local = run.local; local < run.local + run.size(); ++local) {
        fromRuns.push_back(run.globalOf(local));
        ASSERT_EQ(run.localOf(fromRuns.back()), local);
      }
    }
    ASSERT_EQ(fromRuns, expected);
    for (size_t i = 0; i < expected.size(); ++i) {
      Home home = homeOf(mesh, cuts, size, expected[i]);
      ASSERT_EQ(home.local, int64_t(i));
      for (size_t j = 0; j < cuts.size(); ++j)
        ASSERT_EQ(home.coordinates[j], mesh.coordinates(rank)[cuts[j].axis]);
    }
  }
}

TEST(Index, allCutsOfTwoAxes) {
  for (int64_t a = 1; a <= 4; ++a)
    for (int64_t b = 1; b <= 4; ++b) {
      Mesh mesh = makeMesh({a, b});
      for (const Layout &layout : allLayouts(mesh, 1))
        for (int64_t size : {0, 12, 16, 24, 48, 96})
          if (!check(layout, {size}))
            compareWithDefinition(mesh, layout.dims[0], size);
    }
}

TEST(Index, randomCutsOfFourAxes) {
  std::mt19937 generator = makeGenerator();
  Mesh mesh = makeMesh({2, 3, 1, 2});
  for (int i = 0; i < 200; ++i) {
    Layout layout = randomLayout(mesh, 1, generator);
    if (!check(layout, {192}))
      compareWithDefinition(mesh, layout.dims[0], 192);
  }
}
