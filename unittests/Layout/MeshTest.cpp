//===- MeshTest.cpp - The tables of Mesh.h --------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <algorithm>

using namespace cp;
using namespace cp::test;

using Ranks = std::vector<int64_t>;

TEST(Mesh, numRanks) {
  EXPECT_EQ(makeMesh({}).numRanks(), 1);
  EXPECT_EQ(makeMesh({2}).numRanks(), 2);
  EXPECT_EQ(makeMesh({2, 3}).numRanks(), 6);
}

TEST(Mesh, findAxis) {
  Mesh mesh = makeMesh({2, 3});
  EXPECT_EQ(mesh.findAxis("a"), 0);
  EXPECT_EQ(mesh.findAxis("b"), 1);
  EXPECT_EQ(mesh.findAxis("c"), -1);
}

TEST(Mesh, coordinate) {
  Mesh mesh = makeMesh({2, 3});
  Ranks first = {0, 0, 0, 1, 1, 1}, second = {0, 1, 2, 0, 1, 2};
  for (int64_t rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(mesh.coordinate(rank, 0), first[rank]);
    EXPECT_EQ(mesh.coordinate(rank, 1), second[rank]);
  }
}

TEST(Mesh, coordinates) {
  Mesh mesh = makeMesh({2, 3});
  EXPECT_EQ(mesh.coordinates(0), (Ranks{0, 0}));
  EXPECT_EQ(mesh.coordinates(2), (Ranks{0, 2}));
  EXPECT_EQ(mesh.coordinates(3), (Ranks{1, 0}));
  EXPECT_EQ(mesh.coordinates(5), (Ranks{1, 2}));
  EXPECT_EQ(makeMesh({}).coordinates(0), Ranks{});
}

TEST(Mesh, rankOfInvertsCoordinates) {
  Mesh mesh = makeMesh({2, 1, 3, 2});
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    EXPECT_EQ(mesh.rankOf(mesh.coordinates(rank)), rank);
  EXPECT_EQ(makeMesh({}).rankOf({}), 0);
}

TEST(Mesh, group) {
  Mesh mesh = makeMesh({2, 3});
  EXPECT_EQ(mesh.group(4, {}), (Ranks{4}));
  EXPECT_EQ(mesh.group(4, {0}), (Ranks{1, 4}));
  EXPECT_EQ(mesh.group(4, {1}), (Ranks{3, 4, 5}));
  EXPECT_EQ(mesh.group(4, {0, 1}), (Ranks{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(mesh.group(4, {1, 0}), (Ranks{0, 3, 1, 4, 2, 5}));
}

TEST(Mesh, positionInGroup) {
  Mesh mesh = makeMesh({2, 3});
  EXPECT_EQ(mesh.positionInGroup(4, {}), 0);
  EXPECT_EQ(mesh.positionInGroup(4, {0}), 1);
  EXPECT_EQ(mesh.positionInGroup(4, {1}), 1);
  EXPECT_EQ(mesh.positionInGroup(4, {0, 1}), 4);
  EXPECT_EQ(mesh.positionInGroup(4, {1, 0}), 3);
}

TEST(Mesh, positionIsThatOfTheGroup) {
  Mesh mesh = makeMesh({2, 3, 2});
  for (const std::vector<int> &axes :
       std::vector<std::vector<int>>{{}, {1}, {0, 2}, {2, 0}, {2, 1, 0}})
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
      Ranks group = mesh.group(rank, axes);
      EXPECT_EQ(int64_t(group.size()), mesh.groupSize(axes));
      EXPECT_EQ(std::find(group.begin(), group.end(), rank) - group.begin(),
                mesh.positionInGroup(rank, axes));
    }
}

TEST(Mesh, groupSize) {
  Mesh mesh = makeMesh({2, 3});
  EXPECT_EQ(mesh.groupSize({}), 1);
  EXPECT_EQ(mesh.groupSize({1}), 3);
  EXPECT_EQ(mesh.groupSize({0, 1}), 6);
}

TEST(Mesh, equality) {
  EXPECT_TRUE(makeMesh({2, 3}) == makeMesh({2, 3}));
  EXPECT_FALSE(makeMesh({2, 3}) == makeMesh({3, 2}));
  EXPECT_FALSE(makeMesh({2, 3}) == makeMesh({2}));
  EXPECT_FALSE((Mesh{{{"a", 2}}} == Mesh{{{"b", 2}}}));
}

TEST(Mesh, checkAccepts) {
  EXPECT_FALSE(check(makeMesh({})));
  EXPECT_FALSE(check(makeMesh({1, 2, 3})));
  EXPECT_FALSE(check(makeMesh({65536, 32768})));
}

TEST(Mesh, mesh_c1) {
  expectError(check(Mesh{{{"a", 2}, {"", 2}}}),
              {"mesh_c1", "axis 1", "empty", "give every axis a name"});
  expectError(check(Mesh{{{"a", 2}, {"b", 2}, {"a", 2}}}),
              {"mesh_c1", "axes 0 and 2", "\"a\"", "rename"});
}

TEST(Mesh, mesh_c2) {
  expectError(check(Mesh{{{"a", 0}}}),
              {"mesh_c2", "\"a\"", "at least 1", "got 0", "correct its size"});
  expectError(check(Mesh{{{"a", -4}}}), {"mesh_c2", "got -4"});
}

TEST(Mesh, mesh_c3) {
  expectError(check(makeMesh({65536, 32769})),
              {"mesh_c3", "2147483648", "65536 x 32769", "\"b\"", "smaller"});
  expectError(check(makeMesh({INT64_MAX, INT64_MAX})), {"mesh_c3"});
}

TEST(Mesh, mesh_c4) {
  Mesh mesh;
  for (int i = 0; i < 64; ++i)
    mesh.axes.push_back({"axis" + std::to_string(i), 1});
  EXPECT_FALSE(check(mesh));
  mesh.axes.push_back({"more", 1});
  expectError(check(mesh), {"mesh_c4", "at most 64", "got 65", "merge"});
}

TEST(Mesh, meshText) {
  EXPECT_EQ(meshText(makeMesh({})), "");
  EXPECT_EQ(meshText(makeMesh({2, 3})), "a=2,b=3");
}
