//===- LayoutTest.cpp - The tables of Layout.h: what fits -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <limits>

using namespace cp;
using namespace cp::test;

using Shape = std::vector<int64_t>;
using Dims = std::vector<std::vector<Cut>>;

TEST(Layout, equality) {
  Layout layout{makeMesh({2, 2}), {{{0, zigzag, 3}}, {}}, {1}};
  EXPECT_TRUE(layout == layout);
  for (const Cut &cut :
       {Cut{1, zigzag, 3}, Cut{0, contiguous, 3}, Cut{0, zigzag, 1}}) {
    Layout other = layout;
    other.dims[0][0] = cut;
    EXPECT_FALSE(layout == other);
  }
  EXPECT_FALSE(layout == (Layout{layout.mesh, layout.dims, {}}));
  EXPECT_FALSE(layout == (Layout{makeMesh({2, 4}), layout.dims, {1}}));
}

TEST(Layout, checkAccepts) {
  Mesh mesh = makeMesh({2, 4});
  EXPECT_FALSE(check(Layout{mesh, {}, {}}));
  EXPECT_FALSE(check(Layout{mesh, {}, {0, 1}}));
  EXPECT_FALSE(check(Layout{mesh, {{{1, zigzag, 1}, {0}}, {}}, {}}));
}

TEST(Layout, checkPassesTheMeshError) {
  expectError(check(Layout{makeMesh({0}), {}, {}}), {"mesh_c2"});
}

TEST(Layout, layout_c1) {
  Mesh mesh = makeMesh({2, 4});
  expectError(check(Layout{mesh, {{}, {{2}}}, {}}),
              {"layout_c1", "dimension 1", "axis 2", "mesh's 2", "add the"});
  expectError(check(Layout{mesh, {{{-1}}}, {}}), {"layout_c1", "axis -1"});
  expectError(check(Layout{mesh, {{}}, {7}}),
              {"layout_c1", "partial axes", "axis 7"});
}

TEST(Layout, layout_c2) {
  Mesh mesh = makeMesh({2, 4});
  expectError(
      check(Layout{mesh, {{{1}}, {{1}}}, {}}),
      {"layout_c2", "\"b\"", "dimension 0", "dimension 1", "remove one"});
  expectError(check(Layout{mesh, {{{1}}}, {1}}), {"layout_c2", "partial"});
  expectError(check(Layout{mesh, {{}}, {1, 1}}), {"layout_c2", "partial"});
}

TEST(Layout, layout_c3) {
  expectError(check(Layout{makeMesh({2}), {{{0, zigzag, 0}}}, {}}),
              {"layout_c3", "dimension 0", "at least 1", "got 0", "leave it"});
}

TEST(Layout, layout_c4) {
  expectError(check(Layout{makeMesh({2}), {{}}, {}}, {4, 4}),
              {"layout_c4", "has 1 dimensions", "expected 2", "write {}"});
}

TEST(Layout, layout_c5) {
  Mesh mesh = makeMesh({4});
  Dims plain = {{{0}}}, folded = {{{0, zigzag}}}, unit = {{{0, contiguous, 2}}};
  struct Row {
    int64_t size;
    bool plain, folded, unit;
  };
  for (const Row &row : {Row{0, true, true, true}, Row{4, true, false, false},
                         Row{8, true, true, true}, Row{12, true, false, false},
                         Row{14, false, false, false}}) {
    EXPECT_EQ(!check(Layout{mesh, plain, {}}, {row.size}), row.plain);
    EXPECT_EQ(!check(Layout{mesh, folded, {}}, {row.size}), row.folded);
    EXPECT_EQ(!check(Layout{mesh, unit, {}}, {row.size}), row.unit);
    for (int64_t each : {1, 2})
      EXPECT_EQ(!check(Layout{mesh, {{{0, striped, each}}}, {}}, {row.size}),
                each == 1 ? row.plain : row.unit);
  }
}

TEST(Layout, layout_c5_message) {
  Mesh mesh = makeMesh({4, 2});
  expectError(check(Layout{mesh, {{}, {{0, zigzag, 3}}}, {}}, {5, 36}),
              {"layout_c5", "dimension 1", "size 36", "2 x 4", "\"a\"",
               "zigzag", "3 (unit)", "pad", "contiguously"});
  expectError(check(Layout{mesh, {{{0}, {1}}}, {}}, {36}),
              {"layout_c5", "dimension 0", "size 36", "leave 9", "by 2",
               "\"b\"", "contiguous"});
  expectError(check(Layout{mesh, {{{0, striped, 3}}}, {}}, {30}),
              {"layout_c5", "size 30", "by 4", "striped", "3 (unit)", "pad"});
  expectError(check(Layout{mesh, {{}}, {}}, {INT64_MIN}),
              {"layout_c5", "dimension 0", "at least 0", "static shape"});
  expectError(check(Layout{mesh, {{}}, {}}, {-1}), {"layout_c5", "got -1"});
}

TEST(Layout, aZigzagCutLeavesOnePart) {
  EXPECT_FALSE(check(Layout{makeMesh({4, 2}), {{{0, zigzag}, {1}}}, {}}, {8}));
}

TEST(Layout, layout_c5_unitDoesNotOverflow) {
  Layout layout{makeMesh({4}), {{{0, zigzag, INT64_MAX - 1}}}, {}};
  expectError(check(layout, {8}), {"layout_c5"});
  EXPECT_FALSE(check(layout, {0}));
}

TEST(Layout, layout_c6) {
  expectError(check(Layout{makeMesh({2, 2}), {}, {1, 0}}),
              {"layout_c6", "ascend", "got 1 before 0", "sort"});
}

TEST(Layout, layout_c7) {
  for (int64_t order : {-1, 6})
    expectError(check(Layout{makeMesh({2}), {{{0, Order(order)}}}, {}}),
                {"layout_c7", "dimension 0",
                 "4 (sizes) or 5 (contiguous_per_document)",
                 "got " + std::to_string(order), "use one"});
}

TEST(Layout, layout_c8) {
  Cut documents = {0, perDocument};
  EXPECT_FALSE(check(Layout{makeMesh({2, 2}), {{documents}, {{1}}}, {}}));
  EXPECT_FALSE(check(Layout{makeMesh({2, 2}), {{documents, {1}}}, {}}));
  expectError(check(Layout{makeMesh({2, 2}), {{{1}, documents}}, {}}),
              {"layout_c8", "dimension 0", "zigzag_per_document",
               "in the first cut", "in number 1", "come first"});
  expectError(check(Layout{makeMesh({2, 2}),
                           {{{0, blockPerDocument}, {1, striped}}},
                           {}}),
              {"layout_c8", "dimension 0", "contiguous cuts behind",
               "contiguous_per_document", "got striped", "leave that out"});
  EXPECT_FALSE(
      check(Layout{makeMesh({2, 2}), {{{0}, bySizes(1, {1, 2, 0, 3})}}, {}}));
  expectError(
      check(Layout{makeMesh({2, 2}), {{bySizes(0, {1, 2}), {1}}}, {}}),
      {"layout_c8", "dimension 0", "sizes in the last cut", "number 0 of 2"});
  expectError(check(Layout{makeMesh({2, 2}),
                           {{{0, zigzag}, bySizes(1, {1, 2, 0, 3})}},
                           {}}),
              {"layout_c8", "dimension 0", "zigzag", "not in front of sizes"});
}

TEST(Layout, layout_c9) {
  auto checkCut = [](const Cut &cut) {
    return check(Layout{makeMesh({2}), {{}, {cut}}, {}});
  };
  EXPECT_FALSE(checkCut(bySizes(0, {0, 0})));
  expectError(checkCut(bySizes(0, {})),
              {"layout_c9", "dimension 1", "a size for each", "got none",
               "sizes [4, 0, 7]"});
  expectError(checkCut(bySizes(0, {1, 2, 3})),
              {"layout_c9", "dimension 1", "the 2 ranks on axis \"a\"", "got 3",
               "list one for each"});
  expectError(check(Layout{makeMesh({2, 3}), {{{0}, bySizes(1, {1, 2})}}, {}}),
              {"layout_c9", "the 6 ranks on axes \"a\", \"b\"", "got 2"});
  expectError(checkCut(bySizes(0, {1, -2})),
              {"layout_c9", "at least 0", "got -2"});
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  expectError(
      checkCut(bySizes(0, {most / 2 + 1, 0})),
      {"layout_c9", "below 2^63 - 1", "got 2 with one of 4611686018427387904"});
  expectError(checkCut({0, Order::Sizes, 2, {1, 2}}),
              {"layout_c9", "no unit", "got 2"});
  expectError(checkCut({0, zigzag, 1, {1, 2}}),
              {"layout_c9", "no sizes", "zigzag", "got 2"});
}

TEST(Layout, layout_c5OfSizes) {
  Layout layout{makeMesh({2}), {{}, {bySizes(0, {4, 7})}}, {}};
  EXPECT_FALSE(check(layout, {3, 11}));
  expectError(check(layout, {3, 12}),
              {"layout_c5", "dimension 1", "expected 12", "got 11"});
  Layout joint{makeMesh({2, 2}), {{{0}, bySizes(1, {4, 0, 1, 6})}}, {}};
  EXPECT_FALSE(check(joint, {11}));
  EXPECT_EQ(localShape(joint, {11}), (Shape{6}));
  expectError(check(joint, {12}),
              {"layout_c5", "on axes \"a\", \"b\"", "got 11"});
}

TEST(Layout, inRowOrder) {
  Layout documents{makeMesh({2, 2}), {{{0, perDocument}}, {{1, zigzag}}}, {}},
      rows{makeMesh({2, 2}), {{{0}}, {{1, zigzag}}}, {}};
  EXPECT_EQ(inRowOrder(documents), rows);
  EXPECT_TRUE(isPerDocument(documents));
  EXPECT_FALSE(isPerDocument(rows));
}

TEST(Layout, localShape) {
  Mesh mesh = makeMesh({2, 4});
  Shape shape = {16, 12};
  auto local = [&](Dims dims, std::vector<int> partial = {}) {
    return localShape(Layout{mesh, dims, partial}, shape);
  };
  EXPECT_EQ(local({{}, {}}), (Shape{16, 12}));
  EXPECT_EQ(local({{{0}}, {}}), (Shape{8, 12}));
  EXPECT_EQ(local({{{0}}, {{1}}}), (Shape{8, 3}));
  EXPECT_EQ(local({{}, {{1}}}), (Shape{16, 3}));
  EXPECT_EQ(local({{{0}, {1}}, {}}), (Shape{2, 12}));
  EXPECT_EQ(local({{}, {}}, {0}), (Shape{16, 12}));
  EXPECT_EQ(local({{}, {{1, zigzag}}}), (Shape{16, 4}));
  EXPECT_EQ(local({{bySizes(0, {9, 7})}, {}}), (Shape{9, 12}));
}

TEST(Layout, paddedSize) {
  auto padded = [](std::vector<int64_t> mesh, std::vector<Cut> cuts,
                   int64_t size = 10) {
    return paddedSize(makeMesh(std::move(mesh)), cuts, size);
  };
  EXPECT_EQ(padded({4}, {}), 10);
  EXPECT_EQ(padded({4}, {{0}}), 12);
  EXPECT_EQ(padded({4}, {{0, zigzag}}), 16);
  EXPECT_EQ(padded({2}, {{0, striped, 3}}), 12);
  EXPECT_EQ(padded({2, 3}, {{0, zigzag}, {1}}), 12);
  EXPECT_EQ(padded({4}, {{0, zigzag}}, 0), 0);
  EXPECT_EQ(padded({4}, {{0, zigzag, INT64_MAX - 1}}), INT64_MAX);
}

TEST(Layout, paddedSizeIsTheLeastThatDivides) {
  std::mt19937 generator = makeGenerator();
  Mesh mesh = makeMesh({2, 3, 4});
  for (int i = 0; i < 300; ++i) {
    Layout layout = randomLayout(mesh, 1, generator);
    for (int64_t size : {1, 7, 10, 24, 50}) {
      int64_t least = size;
      while (check(layout, {least}))
        ++least;
      ASSERT_EQ(paddedSize(mesh, layout.dims[0], size), least);
    }
  }
}
