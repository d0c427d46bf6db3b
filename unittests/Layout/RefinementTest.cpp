//===- RefinementTest.cpp - Several meshes over the same ranks ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Refinement.h"
#include "Simulator.h"
#include "Support.h"

#include <limits>
#include <set>

using namespace cp;
using namespace cp::test;

using AxisParts = std::vector<std::vector<int>>;
using Groups = std::set<std::vector<int64_t>>;

static const Mesh encoder{{{"dp", 2}, {"tp", 4}}};
static const Mesh languageModel{{{"dp", 4}, {"tp", 2}}};

/// The refinement of meshes that have one.
static Refinement refined(const std::vector<Mesh> &meshes) {
  std::string error;
  std::optional<Refinement> found = refine(meshes, error);
  EXPECT_TRUE(found) << error;
  return found.value_or(Refinement());
}

static std::optional<std::string> refusal(const std::vector<Mesh> &meshes) {
  std::string error;
  if (refine(meshes, error))
    return std::nullopt;
  return error;
}

TEST(Refinement, tableOfTheHeader) {
  Refinement both = refined({encoder, languageModel});
  EXPECT_EQ(meshText(both.mesh), "dp=2,tp/0=2,tp/1=2");
  EXPECT_EQ(both.parts[0], (AxisParts{{0}, {1, 2}}));
  EXPECT_EQ(both.parts[1], (AxisParts{{0, 1}, {2}}));
  EXPECT_EQ(both.meshes[1], languageModel);
}

TEST(Refinement, namesAreTheFirstMeshs) {
  EXPECT_EQ(meshText(refined({languageModel, encoder}).mesh),
            "dp/0=2,dp/1=2,tp=2");
  EXPECT_EQ(meshText(refined({Mesh{{{"cp", 8}}}, encoder}).mesh),
            "cp/0=2,cp/1=4");
  EXPECT_EQ(meshText(refined({encoder, Mesh{{{"cp", 8}}}}).mesh), "dp=2,tp=4");
}

TEST(Refinement, ofOneMeshAndOfThree) {
  EXPECT_EQ(refined({encoder}).mesh, encoder);
  Refinement three = refined({Mesh{{{"cp", 8}}}, encoder, languageModel});
  EXPECT_EQ(meshText(three.mesh), "cp/0=2,cp/1=2,cp/2=2");
  EXPECT_EQ(three.parts[1], (AxisParts{{0}, {1, 2}}));
}

TEST(Refinement, axesOfOneRankGo) {
  Refinement both = refined(
      {Mesh{{{"dp", 1}, {"cp", 4}}}, Mesh{{{"a", 2}, {"b", 1}, {"c", 2}}}});
  EXPECT_EQ(meshText(both.mesh), "cp/0=2,cp/1=2");
  EXPECT_EQ(both.parts[0], (AxisParts{{}, {0, 1}}));
  EXPECT_EQ(both.parts[1], (AxisParts{{0}, {}, {1}}));
  EXPECT_EQ(refined({makeMesh({1}), makeMesh({})}).mesh, makeMesh({}));
}

TEST(Refinement, unlikeRanks) {
  expectError(refusal({encoder, makeMesh({4})}),
              {"refine_c1", "'dp=2,tp=4' has 8", "'a=4' has 4"});
}

TEST(Refinement, strides) {
  expectError(refusal({makeMesh({2, 3}), makeMesh({3, 2})}),
              {"refine_c2", "axis \"a\" of 'a=2,b=3' are 3 ranks apart",
               "axis \"a\" of 'a=3,b=2' are 2 ranks apart"});
}

TEST(Refinement, namesOfParts) {
  expectError(refusal({Mesh{{{"tp/0", 2}, {"tp", 4}}}, languageModel}),
              {"mesh_c1", "\"tp/0\""});
}

TEST(Refinement, cuts) {
  Refinement both = refined({encoder, languageModel});
  std::string error;
  auto cutsOf = [&](size_t which, const std::vector<Cut> &cuts) {
    return refine(both, which, cuts, error);
  };
  EXPECT_EQ(cutsOf(0, {{1, contiguous, 3}}),
            (std::vector<Cut>{{1, contiguous, 3}, {2, contiguous, 3}}));
  EXPECT_EQ(cutsOf(0, {{0, zigzag}}), (std::vector<Cut>{{0, zigzag}}));
  EXPECT_EQ(cutsOf(1, {{0, striped, 3}, {1}}),
            (std::vector<Cut>{{0, striped, 6}, {1, striped, 3}, {2}}));
  EXPECT_EQ(cutsOf(1, {bySizes(0, {2, 2, 1, 1})}),
            (std::vector<Cut>{{0}, bySizes(1, {2, 2, 1, 1})}));
  EXPECT_EQ(cutsOf(0, {bySizes(0, {3, 3})}),
            (std::vector<Cut>{bySizes(0, {3, 3})}));
  EXPECT_EQ(cutsOf(1, {{0, zigzag}}), std::nullopt);
  expectError(error, {"refine_c3", "\"dp\" of 'dp=4,tp=2'", "2 axes of"});
  EXPECT_EQ(
      cutsOf(0, {{1, striped, std::numeric_limits<int64_t>::max() / 2 + 1}}),
      std::nullopt);
  expectError(error, {"layout_c3"});
}

/// The groups in which megatron-core's bridge between modules on the same ranks
/// gathers (models/mimo/comm/colocated_communicator.py): for each replica of
/// the side with fewer of them, and each position on the other's tp axis.
static Groups megatronsGroups(int64_t ranks, int64_t fromDp, int64_t toDp) {
  int64_t scale = fromDp / toDp, tp = ranks / fromDp;
  Groups groups;
  for (int64_t slot = 0; slot < toDp; ++slot)
    for (int64_t t = 0; t < tp; ++t) {
      std::vector<int64_t> group;
      for (int64_t i = 0; i < scale; ++i)
        group.push_back((slot * scale + i) * tp + t);
      groups.insert(group);
    }
  return groups;
}

/// Those in which a batch cut over dp of one mesh is gathered for another.
static Groups ownGroups(const Mesh &from, const Mesh &to) {
  Refinement both = refined({from, to});
  std::string error;
  Layout before = *refine(both, 0, Layout{from, {{Cut{0}}}, {}}, error);
  Layout after = *refine(both, 1, Layout{to, {{Cut{0}}}, {}}, error);
  std::vector<PlannedStep> steps = *plan(before, after, {from.numRanks()});
  EXPECT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].kind(), Step::Kind::AllGather);
  Groups groups;
  for (int64_t rank = 0; rank < from.numRanks(); ++rank)
    groups.insert(both.mesh.group(rank, steps[0].axes));
  return groups;
}

TEST(Refinement, fanInUsesMegatronsGroups) {
  EXPECT_EQ(ownGroups(languageModel, encoder),
            (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  int64_t served = 0, refused = 0;
  for (int64_t ranks = 1; ranks <= 128; ++ranks)
    for (int64_t from = 2; from <= ranks; ++from)
      for (int64_t to = 1; to < from; ++to) {
        if (ranks % from != 0 || ranks % to != 0)
          continue;
        Mesh source{{{"dp", from}, {"tp", ranks / from}}},
            target{{{"dp", to}, {"tp", ranks / to}}};
        if (from % to != 0) {
          expectError(refusal({source, target}), {"refine_c2"});
          ++refused;
          continue;
        }
        ASSERT_EQ(ownGroups(source, target), megatronsGroups(ranks, from, to))
            << meshText(source) << " to " << meshText(target);
        ++served;
      }
  EXPECT_EQ(served, 1400);
  EXPECT_EQ(refused, 449);
}

/// All ways to arrange so many ranks on axes of several each.
static std::vector<Mesh> arrangements(int64_t ranks) {
  std::vector<Mesh> all;
  if (ranks == 1)
    all.push_back(makeMesh({}));
  for (int64_t size = 2; size <= ranks; ++size)
    if (ranks % size == 0)
      for (Mesh mesh : arrangements(ranks / size)) {
        mesh.axes.insert(mesh.axes.begin(), {"", size});
        for (size_t i = 0; i < mesh.axes.size(); ++i)
          mesh.axes[i].name = std::string(1, char('a' + i));
        all.push_back(mesh);
      }
  return all;
}

/// Moves a tensor from a layout on one mesh to one on another, and compares
/// with what the second one's definition says. False where it is refused.
static bool crosses(const Layout &from, const Layout &to,
                    const std::vector<int64_t> &shape) {
  std::string error;
  std::optional<Refinement> both = refine({from.mesh, to.mesh}, error);
  if (!both) {
    expectError(error, {"refine_c2"});
    return false;
  }
  std::optional<Layout> before = refine(*both, 0, from, error);
  std::optional<Layout> after = refine(*both, 1, to, error);
  if (!before || !after) {
    expectError(error, {"refine_c3"});
    return false;
  }
  EXPECT_EQ(check(*before, shape).value_or("good"), "good");
  std::vector<Part> parts = distribute(from, shape, {});
  EXPECT_TRUE(same(parts, distribute(*before, shape, {})));
  std::vector<PlannedStep> steps = *plan(*before, *after, shape);
  for (const PlannedStep &step : steps) {
    std::vector<int64_t> sent(parts.size(), 0);
    parts = simulate(step, both->mesh, std::move(parts), sent);
  }
  EXPECT_TRUE(same(parts, distribute(to, shape, {})));
  return true;
}

/// One whose parts are no sums.
static Layout drawLayout(const Mesh &mesh, const std::vector<int64_t> &shape,
                         std::mt19937 &generator) {
  while (true) {
    Layout layout = randomLayout(mesh, int(shape.size()), generator);
    if (layout.partial.empty() && !check(layout, shape))
      return layout;
  }
}

TEST(Refinement, allPairsOfMeshesAgreeWithTheirDefinitions) {
  std::mt19937 generator = makeGenerator();
  int64_t crossed = 0, refused = 0;
  for (int64_t ranks = 1; ranks <= 32; ++ranks) {
    std::vector<Mesh> meshes = arrangements(ranks);
    for (const Mesh &a : meshes)
      for (const Mesh &b : meshes)
        for (int draw = 0; draw < 4 && !testing::Test::HasFailure(); ++draw) {
          std::vector<int64_t> shape = {2 * ranks, 4};
          Layout from = drawLayout(a, shape, generator);
          Layout to = drawLayout(b, shape, generator);
          SCOPED_TRACE(meshText(a) + " to " + meshText(b));
          ++(crosses(from, to, shape) ? crossed : refused);
        }
  }
  // Meshes of the same axes and their likes are in it, and unlike ones.
  EXPECT_GT(crossed, 1600);
  EXPECT_GT(refused, 400);
}
