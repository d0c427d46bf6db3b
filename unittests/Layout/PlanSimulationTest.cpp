//===- PlanSimulationTest.cpp - Plans carried out on arrays ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Simulator.h"
#include "Support.h"

#include <algorithm>
#include <limits>

using namespace cp;
using namespace cp::test;

using Shape = std::vector<int64_t>;

static bool samePlaces(const Layout &a, const Layout &b) {
  auto same = [](const Cut &x, const Cut &y) { return samePlaces(x, y); };
  for (size_t dim = 0; dim < a.dims.size(); ++dim)
    if (!std::equal(a.dims[dim].begin(), a.dims[dim].end(), b.dims[dim].begin(),
                    b.dims[dim].end(), same))
      return false;
  return a.partial == b.partial;
}

static std::string describe(const Layout &layout) {
  std::string text = "[";
  for (const std::vector<Cut> &cuts : layout.dims) {
    text += "{";
    for (const Cut &cut : cuts)
      text += layout.mesh.axes[cut.axis].name +
              std::to_string(layout.mesh.axes[cut.axis].size) + " " +
              orderName(cut.order) + std::to_string(cut.unit) + " ";
    text += "}";
  }
  text += "] partial";
  for (int axis : layout.partial)
    text += " " + layout.mesh.axes[axis].name;
  return text;
}

static std::vector<int> without(const std::vector<int> &axes,
                                const std::vector<int> &others) {
  std::vector<int> rest;
  std::set_difference(axes.begin(), axes.end(), others.begin(), others.end(),
                      std::back_inserter(rest));
  return rest;
}

/// Whether ranks hold what the layout says of a tensor that was partial on the
/// axes `summed`. How parts that became terms of a sum are told apart no layout
/// says: their sums are compared.
static bool areParts(const std::vector<Part> &parts, Layout layout,
                     const Shape &shape, const std::vector<int> &summed) {
  std::vector<int> made = without(layout.partial, summed);
  layout.partial = without(layout.partial, made);
  return same(addUp(layout.mesh, parts, made),
              distribute(layout, shape, summed));
}

/// Whether a step makes or takes parts in an order per document.
static bool knowsDocuments(const Step &step) {
  for (const Share *share : {&step.from, &step.to})
    if (const Parts *parts = std::get_if<Parts>(share))
      for (const Cut &cut : parts->cuts)
        if (isPerDocument(cut))
          return true;
  return false;
}

static bool hasSizes(const Layout &layout) {
  return std::any_of(
      layout.dims.begin(), layout.dims.end(),
      [](const std::vector<Cut> &cuts) { return isBySizes(cuts); });
}

/// Runs the plan on arrays; each step must arrive at the layout it names and
/// send what elementsSent says.
/// Where a part has room for more than it holds, that travels too: `sent` may
/// then be less.
static void runPlan(const Layout &from, const Layout &to, const Shape &shape) {
  SCOPED_TRACE(describe(from) + " -> " + describe(to));
  std::optional<std::vector<PlannedStep>> steps = plan(from, to, shape);
  std::vector<int> made = without(to.partial, from.partial);
  bool possible = std::all_of(made.begin(), made.end(),
                              [&](int axis) { return isCutOver(from, axis); });
  ASSERT_EQ(steps.has_value(), possible);
  if (!steps)
    return;
  ASSERT_EQ(steps->empty(), samePlaces(from, to));
  std::vector<Part> parts = distribute(from, shape, from.partial);
  Layout before = from;
  for (const PlannedStep &step : *steps) {
    Shape sent(parts.size(), 0);
    ASSERT_TRUE(step.kind() == Step::Kind::Reorder || !knowsDocuments(step));
    parts = simulate(step, from.mesh, std::move(parts), sent);
    ASSERT_EQ(check(step.after, shape).value_or("good"), "good");
    ASSERT_TRUE(areParts(parts, step.after, shape, from.partial))
        << "after " << describe(step.after);
    bool isExact = !hasSizes(before) && !hasSizes(step.after);
    for (size_t rank = 0; rank < parts.size(); ++rank) {
      int64_t said = elementsSent(step, before, shape, rank);
      ASSERT_TRUE(isExact ? said == sent[rank] : said >= sent[rank])
          << "rank " << rank << " towards " << describe(step.after) << ": "
          << said << ", but sends " << sent[rank];
    }
    before = step.after;
  }
  if (!steps->empty()) {
    ASSERT_EQ(before, to);
  }
}

static void runAllPairs(const Mesh &mesh, const Shape &shape) {
  std::vector<Layout> layouts = allLayouts(mesh, shape.size());
  for (const Layout &from : layouts)
    for (const Layout &to : layouts)
      if (!check(from, shape) && !check(to, shape)) {
        runPlan(from, to, shape);
        if (testing::Test::HasFatalFailure())
          return;
      }
}

TEST(PlanSimulation, allPairsOnOneAxis) {
  for (int64_t size = 1; size <= 4; ++size)
    runAllPairs(makeMesh({size}), {24, 48});
}

TEST(PlanSimulation, allPairsOnTwoAxes) {
  runAllPairs(makeMesh({2, 2}), {8, 16});
  runAllPairs(makeMesh({2, 3}), {12, 12});
  runAllPairs(makeMesh({3, 1}), {12, 6});
}

TEST(PlanSimulation, emptyTensor) { runAllPairs(makeMesh({2, 3}), {0, 12}); }

static void runRandomPairs(const Mesh &mesh, const Shape &shape, int pairs) {
  std::mt19937 generator = makeGenerator();
  for (int ran = 0; ran < pairs && !testing::Test::HasFatalFailure();) {
    Layout from = randomLayout(mesh, shape.size(), generator);
    Layout to = randomLayout(mesh, shape.size(), generator);
    if (check(from, shape) || check(to, shape))
      continue;
    runPlan(from, to, shape);
    ++ran;
  }
}

TEST(PlanSimulation, randomPairsOnTwoAxesWithUnits) {
  runRandomPairs(makeMesh({3, 2}), {24, 12, 4}, 300);
}

TEST(PlanSimulation, randomPairsOnThreeAxes) {
  runRandomPairs(makeMesh({2, 3, 2}), {48, 24}, 150);
}

/// In place of some dimensions' cuts those of drawn sizes, over all their axes.
static void drawSizes(Layout &layout, const Shape &shape,
                      std::mt19937 &generator) {
  auto below = [&](int64_t count) {
    return std::uniform_int_distribution<int64_t>(0, count - 1)(generator);
  };
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    std::vector<Cut> &cuts = layout.dims[dim];
    if (cuts.empty() || below(4) == 0)
      continue;
    int64_t ranks = numPositions(layout.mesh, cuts), left = shape[dim];
    cuts = inContiguousOrder(cuts);
    Cut &cut = cuts.back();
    cut = bySizes(cut.axis, {});
    for (int64_t i = 0; i + 1 < ranks; ++i) {
      cut.sizes.push_back(below(2) ? below(left + 1) : 0);
      left -= cut.sizes.back();
    }
    cut.sizes.push_back(left);
    std::shuffle(cut.sizes.begin(), cut.sizes.end(), generator);
  }
}

static void runSizes(const Mesh &mesh, const Shape &shape, int pairs) {
  std::mt19937 generator = makeGenerator();
  int ran = 0;
  while (ran < pairs && !testing::Test::HasFatalFailure()) {
    Layout from = randomLayout(mesh, int(shape.size()), generator);
    Layout to = randomLayout(mesh, int(shape.size()), generator);
    drawSizes(from, shape, generator);
    drawSizes(to, shape, generator);
    if (check(from, shape) || check(to, shape))
      continue;
    runPlan(from, to, shape);
    ran += hasSizes(from) || hasSizes(to);
  }
}

TEST(PlanSimulation, sizesOfTheirOwn) {
  runSizes(makeMesh({3}), {7, 10}, 300);
  runSizes(makeMesh({2, 3}), {11, 6, 4}, 300);
  runSizes(makeMesh({4, 2}), {8, 3}, 300);
  runSizes(makeMesh({2, 3, 2}), {13, 9}, 300);
}

/// The major axis can wait nowhere, the others must not wander in its stead.
TEST(PlanSimulation, detoursEnd) {
  Mesh mesh = makeMesh({3, 2, 2});
  Layout from{mesh, {{{0}, {1}, {2}}, {}, {}, {}}, {}};
  Layout to{mesh, {{{2}, {1}, {0}}, {}, {}, {}}, {}};
  runPlan(from, to, {12, 2, 2, 2});
}

/// What rank 0 sends in a plan that must exist.
static int64_t costOf(const Layout &from, const Layout &to,
                      const Shape &shape) {
  std::vector<PlannedStep> steps =
      plan(from, to, shape).value_or(std::vector<PlannedStep>());
  int64_t cost = 0;
  Layout before = from;
  for (const PlannedStep &step : steps) {
    cost += elementsSent(step, before, shape, 0);
    before = step.after;
  }
  return cost;
}

/// What reorders from and to orders per document send at most, which no other
/// step makes or takes.
static int64_t costOfDocuments(Layout layout, const Shape &shape) {
  if (!isPerDocument(layout))
    return 0;
  // Cuts behind are taken away before, and made after it.
  for (std::vector<Cut> &cuts : layout.dims)
    if (!cuts.empty() && isPerDocument(cuts[0]))
      cuts.resize(1);
  Shape local = localShape(layout, shape);
  return local[0] * local[1];
}

TEST(PlanSimulation, neverSendsMoreThanGatheringAll) {
  Shape shape = {24, 48};
  std::vector<Layout> layouts = allLayouts(makeMesh({2, 3}), 2);
  for (const Layout &from : layouts)
    for (const Layout &to : layouts) {
      if (!plan(from, to, shape) || !without(to.partial, from.partial).empty())
        continue;
      Layout added = from, whole{from.mesh, {{}, {}}, to.partial};
      added.partial = to.partial;
      EXPECT_LE(costOf(from, to, shape),
                costOf(from, added, shape) + costOf(added, whole, shape) +
                    costOfDocuments(from, shape) + costOfDocuments(to, shape))
          << describe(from) << " -> " << describe(to);
    }
}

TEST(Volume, formulas) {
  Mesh mesh = makeMesh({4});
  Layout whole{mesh, {{}, {}}, {}}, rows{mesh, {{{0}}, {}}, {}},
      columns{mesh, {{}, {{0}}}, {}}, sum{mesh, {{}, {}}, {0}};
  auto sent = [](const Layout &from, const Layout &to) {
    return elementsSent(plan(from, to, {32, 8})->at(0), from, {32, 8}, 0);
  };
  EXPECT_EQ(sent(rows, columns), 3 * 64 / 4);
  EXPECT_EQ(sent(rows, whole), 3 * 64);
  EXPECT_EQ(sent(whole, rows), 0);
  EXPECT_EQ(sent(sum, whole), 3 * 256);
  EXPECT_EQ(sent(sum, rows), 3 * 256 / 4);
}

/// A part of 10 in sizes of 4, 3 and 3 has room for 4.
TEST(Volume, ofSizes) {
  Mesh mesh = makeMesh({3});
  Layout whole{mesh, {{}, {}}, {}},
      rows{mesh, {{bySizes(0, {4, 3, 3})}, {}}, {}},
      columns{mesh, {{}, {bySizes(0, {1, 0, 1})}}, {}},
      sum = whole, others{mesh, {{bySizes(0, {0, 0, 10})}, {}}, {}};
  sum.partial = {0};
  auto sent = [](const Layout &from, const Layout &to) {
    return elementsSent(plan(from, to, {10, 2})->at(0), from, {10, 2}, 1);
  };
  EXPECT_EQ(sent(rows, columns), 4 * (2 * 1));
  EXPECT_EQ(sent(columns, rows), (2 * 4) * 1);
  EXPECT_EQ(sent(rows, whole), 2 * (4 * 2));
  EXPECT_EQ(sent(whole, rows), 0);
  EXPECT_EQ(sent(sum, rows), (2 * 4) * 2);
  EXPECT_EQ(sent(rows, others), 2 * (4 * 2));
}

/// Of parts of other sizes those of another dimension are made first, unless
/// the axis does not divide it.
TEST(Volume, sizesByWayOfAnotherDimension) {
  Mesh mesh = makeMesh({3});
  Layout from{mesh, {{bySizes(0, {4, 3, 3})}, {}}, {}},
      to{mesh, {{bySizes(0, {0, 5, 5})}, {}}, {}};
  auto kinds = [&](int64_t columns) {
    std::vector<Step::Kind> kinds;
    for (const PlannedStep &step :
         plan(from, to, {10, columns}).value_or(std::vector<PlannedStep>()))
      kinds.push_back(step.kind());
    return kinds;
  };
  using Kinds = std::vector<Step::Kind>;
  EXPECT_EQ(kinds(6), (Kinds{Step::Kind::AllToAll, Step::Kind::AllToAll}));
  EXPECT_EQ(kinds(7), (Kinds{Step::Kind::AllGather, Step::Kind::Slice}));
}

/// Of 2R blocks, contiguous rank r has 2r and 2r+1, zigzag rank r has r and
/// 2R-1-r. Block 0 stays, and so does one of 2r+e = 2R-1-r, e in {0, 1}, that
/// is 3r = 2R-1-e, which has a solution unless 3 divides R.
TEST(Volume, reorderCountsChangedOwners) {
  for (int64_t ranks = 1; ranks <= 9; ++ranks) {
    Mesh mesh = makeMesh({ranks});
    Layout from{mesh, {{{0}}}, {}}, to{mesh, {{{0, zigzag}}}, {}};
    Shape shape = {2 * ranks};
    PlannedStep step = plan(from, to, shape)->at(0);
    int64_t moved = 0;
    for (int64_t rank = 0; rank < ranks; ++rank)
      moved += elementsSent(step, from, shape, rank);
    EXPECT_EQ(moved, 2 * ranks - (ranks % 3 == 0 ? 1 : 2)) << ranks;
  }
}

/// As many runs as tokens: counting them must not be quadratic. Of its elements
/// a rank keeps those in its contiguous eighth, or those at the start of a unit
/// of two that stays: 16 i for rank 0.
TEST(Volume, stripedReordersOfLongSequences) {
  Mesh mesh = makeMesh({8});
  Layout from{mesh, {{{0, striped}}}, {}}, to{mesh, {{{0}}}, {}},
      wide{mesh, {{{0, striped, 2}}}, {}};
  Shape shape = {int64_t(1) << 22};
  int64_t part = shape[0] / 8;
  EXPECT_EQ(elementsSent(plan(from, to, shape)->at(0), from, shape, 3),
            part - part / 8);
  EXPECT_EQ(elementsSent(plan(from, wide, shape)->at(0), from, shape, 0),
            part - part / 2);
  // None of them may be looked at one by one.
  Shape endless = {int64_t(1) << 60};
  EXPECT_EQ(elementsSent(plan(from, wide, endless)->at(0), from, endless, 0),
            endless[0] / 8 - endless[0] / 16);
}

TEST(Volume, saturates) {
  Layout from{makeMesh({4}), {{{0}}, {}}, {}}, to{from.mesh, {{}, {}}, {}};
  Shape shape = {int64_t(1) << 40, int64_t(1) << 40};
  EXPECT_EQ(elementsSent(plan(from, to, shape)->at(0), from, shape, 0),
            std::numeric_limits<int64_t>::max());
}
