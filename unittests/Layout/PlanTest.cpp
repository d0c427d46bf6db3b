//===- PlanTest.cpp - The table of plan, and what one step is -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include "cp/Layout/Plan.h"

using namespace cp;
using namespace cp::test;

using Kind = Step::Kind;
using Axes = std::vector<int>;
using Dims = std::vector<std::vector<Cut>>;

static Layout make(const Dims &dims, const Axes &partial = {}) {
  return Layout{makeMesh({2, 3}), dims, partial};
}

/// The plan for a 24 x 36 (x 12) tensor; empty where there is none.
static std::vector<PlannedStep> stepsOf(const Layout &from, const Layout &to) {
  std::vector<int64_t> shape = {24, 36, 12};
  shape.resize(from.dims.size());
  EXPECT_FALSE(check(from, shape));
  EXPECT_FALSE(check(to, shape));
  std::optional<std::vector<PlannedStep>> steps = plan(from, to, shape);
  EXPECT_TRUE(steps.has_value());
  return steps ? *steps : std::vector<PlannedStep>();
}

/// How a step shares the tensor before or after it; `dim` is -1 where it has no
/// parts.
static void expectParts(const Share &share, int dim, Order order,
                        int64_t unit) {
  const Parts *parts = std::get_if<Parts>(&share);
  EXPECT_EQ(parts ? parts->dim : -1, dim);
  if (!parts)
    return;
  for (const Cut &cut : parts->cuts)
    EXPECT_EQ(cut.order, order);
  EXPECT_EQ(parts->cuts.back().unit, unit);
}

static void expectStep(const Step &step, Kind kind, const Axes &axes, int from,
                       int to, Order fromOrder = contiguous,
                       Order toOrder = contiguous, int64_t unit = 1,
                       int64_t fromUnit = 1) {
  EXPECT_EQ(step.kind(), kind);
  EXPECT_EQ(step.axes, axes);
  expectParts(step.from, from, fromOrder, fromUnit);
  expectParts(step.to, to, toOrder, unit);
  for (const Share *share : {&step.from, &step.to})
    if (const Parts *parts = std::get_if<Parts>(share)) {
      Axes cut;
      for (const Cut &one : parts->cuts)
        cut.push_back(one.axis);
      EXPECT_EQ(cut, axes);
    }
}

static PlannedStep onlyStep(const Layout &from, const Layout &to) {
  std::vector<PlannedStep> steps = stepsOf(from, to);
  EXPECT_EQ(steps.size(), 1u);
  if (steps.empty())
    return PlannedStep();
  EXPECT_EQ(steps.back().after, to);
  return steps[0];
}

TEST(Plan, equalLayoutsNeedNothing) {
  EXPECT_TRUE(stepsOf(make({{{0}}, {}}), make({{{0}}, {}})).empty());
  EXPECT_TRUE(stepsOf(make({{}, {}}, {1}), make({{}, {}}, {1})).empty());
}

TEST(Plan, unitsAloneNeedNothing) {
  EXPECT_TRUE(
      stepsOf(make({{{0, zigzag, 3}}, {}}), make({{{0, zigzag, 2}}, {}}))
          .empty());
}

TEST(Plan, unitsAreTheTargetsAfterAnyStep) {
  Layout to = make({{{0, contiguous, 6}, {1, contiguous, 2}}, {}});
  EXPECT_EQ(stepsOf(make({{{0}}, {}}), to).back().after, to);
}

TEST(Plan, allToAll) {
  expectStep(onlyStep(make({{{0}}, {}}), make({{}, {{0}}})), Kind::AllToAll,
             {0}, 0, 1);
  expectStep(
      onlyStep(make({{{0, zigzag}}, {}}), make({{}, {{0, contiguous, 6}}})),
      Kind::AllToAll, {0}, 0, 1, zigzag, contiguous, 6);
}

TEST(Plan, allToAllOverSeveralAxes) {
  expectStep(onlyStep(make({{{0}, {1}}, {}}),
                      make({{}, {{0, contiguous, 6}, {1, contiguous, 2}}})),
             Kind::AllToAll, {0, 1}, 0, 1, contiguous, contiguous, 2);
  expectStep(onlyStep(make({{}, {{1}, {0}}}), make({{{1}, {0}}, {}})),
             Kind::AllToAll, {1, 0}, 1, 0);
}

TEST(Plan, allToAllOfTheMinorAxis) {
  expectStep(
      onlyStep(make({{{0, zigzag}, {1}}, {}}), make({{{0, zigzag}}, {{1}}})),
      Kind::AllToAll, {1}, 0, 1);
}

TEST(Plan, allGather) {
  expectStep(onlyStep(make({{{0}}, {}}), make({{}, {}})), Kind::AllGather, {0},
             0, -1);
  expectStep(onlyStep(make({{}, {{1, zigzag}}}), make({{}, {}})),
             Kind::AllGather, {1}, 1, -1, zigzag);
  expectStep(onlyStep(make({{{1}, {0}}, {}}), make({{}, {}})), Kind::AllGather,
             {1, 0}, 0, -1);
}

TEST(Plan, slice) {
  expectStep(onlyStep(make({{}, {}}), make({{{0}}, {}})), Kind::Slice, {0}, -1,
             0);
  expectStep(onlyStep(make({{}, {}}), make({{}, {{1, zigzag, 3}}})),
             Kind::Slice, {1}, -1, 1, contiguous, zigzag, 3);
  expectStep(onlyStep(make({{}, {}}), make({{{1}, {0}}, {}})), Kind::Slice,
             {1, 0}, -1, 0);
}

TEST(Plan, allReduce) {
  expectStep(onlyStep(make({{}, {}}, {0}), make({{}, {}})), Kind::AllReduce,
             {0}, -1, -1);
  expectStep(onlyStep(make({{}, {}}, {0, 1}), make({{}, {}})), Kind::AllReduce,
             {0, 1}, -1, -1);
  expectStep(onlyStep(make({{}, {}}, {0, 1}), make({{}, {}}, {0})),
             Kind::AllReduce, {1}, -1, -1);
}

TEST(Plan, reduceScatter) {
  expectStep(onlyStep(make({{}, {}}, {0}), make({{{0, zigzag}}, {}})),
             Kind::ReduceScatter, {0}, -1, 0, contiguous, zigzag);
  expectStep(onlyStep(make({{}, {}}, {0, 1}), make({{}, {{1}, {0}}})),
             Kind::ReduceScatter, {1, 0}, -1, 1);
}

TEST(Plan, striped) {
  Layout one = make({{{0, striped}}, {}}), two = make({{{0, striped, 2}}, {}});
  expectStep(onlyStep(one, two), Kind::Reorder, {0}, 0, 0, striped, striped, 2);
  expectStep(onlyStep(two, one), Kind::Reorder, {0}, 0, 0, striped, striped, 1,
             2);
  expectStep(onlyStep(two, make({{{0, zigzag}}, {}})), Kind::Reorder, {0}, 0, 0,
             striped, zigzag, 1, 2);
  expectStep(onlyStep(two, make({{}, {{0, striped, 3}}})), Kind::AllToAll, {0},
             0, 1, striped, striped, 3, 2);
  expectStep(onlyStep(two, make({{}, {}})), Kind::AllGather, {0}, 0, -1,
             striped, contiguous, 1, 2);
  EXPECT_TRUE(stepsOf(two, two).empty());
}

TEST(Plan, reorder) {
  expectStep(onlyStep(make({{{0}}, {}}), make({{{0, zigzag}}, {}})),
             Kind::Reorder, {0}, 0, 0, contiguous, zigzag);
  expectStep(onlyStep(make({{{1}, {0, zigzag}}, {}}), make({{{1}, {0}}, {}})),
             Kind::Reorder, {0}, 0, 0, zigzag, contiguous);
}

TEST(Plan, onlyReordersKnowDocuments) {
  Layout documents = make({{{0, perDocument}}, {}});
  expectStep(onlyStep(make({{{0, zigzag}}, {}}), documents), Kind::Reorder, {0},
             0, 0, zigzag, perDocument);
  expectStep(onlyStep(documents, make({{{0}}, {}})), Kind::Reorder, {0}, 0, 0,
             perDocument, contiguous);
  EXPECT_TRUE(stepsOf(documents, documents).empty());
  std::vector<PlannedStep> steps = stepsOf(documents, make({{}, {{0}}}));
  ASSERT_EQ(steps.size(), 2u);
  expectStep(steps[0], Kind::Reorder, {0}, 0, 0, perDocument, contiguous);
  expectStep(steps[1], Kind::AllToAll, {0}, 0, 1);
  steps = stepsOf(make({{}, {}}, {0}), documents);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].kind(), Kind::ReduceScatter);
  expectStep(steps[1], Kind::Reorder, {0}, 0, 0, contiguous, perDocument);
  // From one to another there is no way round.
  expectStep(onlyStep(documents, make({{{0, blockPerDocument}}, {}})),
             Kind::Reorder, {0}, 0, 0, perDocument, blockPerDocument);
}

/// Ring x Ulysses: what the ring cuts per document is cut again over the other
/// axis.
TEST(Plan, cutsBehindDocuments) {
  Layout nested = make({{{0, blockPerDocument}, {1}}, {}}),
         whole = make({{}, {}});
  std::vector<PlannedStep> split = stepsOf(whole, nested);
  ASSERT_EQ(split.size(), 3u);
  expectStep(split[0], Kind::Slice, {0}, -1, 0);
  expectStep(split[1], Kind::Reorder, {0}, 0, 0, contiguous, blockPerDocument);
  expectStep(split[2], Kind::Slice, {1}, -1, 0);
  std::vector<PlannedStep> gather = stepsOf(nested, whole);
  ASSERT_EQ(gather.size(), 3u);
  expectStep(gather[0], Kind::AllGather, {1}, 0, -1);
  expectStep(gather[1], Kind::Reorder, {0}, 0, 0, blockPerDocument, contiguous);
  expectStep(gather[2], Kind::AllGather, {0}, 0, -1);
  // What the two orders share stays.
  expectStep(onlyStep(nested, make({{{0, blockPerDocument}}, {{1}}})),
             Kind::AllToAll, {1}, 0, 1);
  // Terms of a sum are left behind where they are wanted.
  std::vector<PlannedStep> terms = stepsOf(nested, make({{{0}}, {}}, {1}));
  ASSERT_EQ(terms.size(), 2u);
  EXPECT_EQ(terms[0].kind(), Kind::Unslice);
  expectStep(terms[1], Kind::Reorder, {0}, 0, 0, blockPerDocument, contiguous);
}

TEST(Plan, exchangedAxesAreGatheredAndSliced) {
  std::vector<PlannedStep> steps =
      stepsOf(make({{{0}}, {{1}}}), make({{{1}}, {{0}}}));
  ASSERT_EQ(steps.size(), 3u);
  expectStep(steps[0], Kind::AllGather, {0}, 0, -1);
  expectStep(steps[1], Kind::AllToAll, {1}, 1, 0);
  expectStep(steps[2], Kind::Slice, {0}, -1, 1);
}

TEST(Plan, minorAxisWaitsOnAnotherDimension) {
  std::vector<PlannedStep> steps =
      stepsOf(make({{{0}, {1}}, {}, {}}), make({{{0, zigzag}, {1}}, {}, {}}));
  ASSERT_EQ(steps.size(), 3u);
  expectStep(steps[0], Kind::AllToAll, {1}, 0, 1);
  expectStep(steps[1], Kind::Reorder, {0}, 0, 0, contiguous, zigzag);
  expectStep(steps[2], Kind::AllToAll, {1}, 1, 0);
}

TEST(Plan, exchangedAxesWaitOnAFinishedDimension) {
  std::vector<PlannedStep> steps =
      stepsOf(make({{{0}}, {{1}}, {}}), make({{{1}}, {{0}}, {}}));
  ASSERT_EQ(steps.size(), 3u);
  expectStep(steps[0], Kind::AllToAll, {0}, 0, 2);
  expectStep(steps[1], Kind::AllToAll, {1}, 1, 0);
  expectStep(steps[2], Kind::AllToAll, {0}, 2, 1);
}

TEST(Plan, fewerStepsWhenNothingTravels) {
  Mesh mesh = makeMesh({1, 1});
  Layout from{mesh, {{{0}, {1}}, {}}, {}}, to{mesh, {{{1}, {0}}, {}}, {}};
  EXPECT_EQ(plan(from, to, {4, 4})->size(), 2u);
}

TEST(Plan, partialAxisIsScatteredOnceItsTurnComes) {
  std::vector<PlannedStep> steps =
      stepsOf(make({{}, {{1}}}, {0}), make({{{1}, {0}}, {}}));
  ASSERT_EQ(steps.size(), 2u);
  expectStep(steps[0], Kind::AllToAll, {1}, 1, 0);
  expectStep(steps[1], Kind::ReduceScatter, {0}, -1, 0);
}

TEST(Plan, partialAxisIsAddedBeforeACostlyGather) {
  std::vector<PlannedStep> steps =
      stepsOf(make({{{1}}, {}}, {0}), make({{{0}}, {}}));
  ASSERT_EQ(steps.size(), 3u);
  expectStep(steps[0], Kind::AllReduce, {0}, -1, -1);
  expectStep(steps[1], Kind::AllGather, {1}, 0, -1);
  expectStep(steps[2], Kind::Slice, {0}, -1, 0);
}

TEST(Plan, minorAxisIsGatheredWhenItCanWaitNowhere) {
  Layout from = make({{{0}, {1}}, {}}), to = make({{{0, zigzag}, {1}}, {}});
  std::optional<std::vector<PlannedStep>> steps = plan(from, to, {24, 5});
  ASSERT_TRUE(steps && steps->size() == 3u);
  expectStep((*steps)[0], Kind::AllGather, {1}, 0, -1);
  expectStep((*steps)[2], Kind::Slice, {1}, -1, 0);
}

TEST(Plan, unslice) {
  expectStep(onlyStep(make({{{0, zigzag}}, {}}), make({{}, {}}, {0})),
             Kind::Unslice, {0}, 0, -1, zigzag);
  expectStep(onlyStep(make({{}, {{1}, {0}}}), make({{}, {}}, {0, 1})),
             Kind::Unslice, {1, 0}, 1, -1);
  std::vector<PlannedStep> steps =
      stepsOf(make({{{0}}, {{1}}}), make({{{1}}, {}}, {0}));
  ASSERT_EQ(steps.size(), 2u);
  expectStep(steps[0], Kind::Unslice, {0}, 0, -1);
  expectStep(steps[1], Kind::AllToAll, {1}, 1, 0);
}

TEST(Plan, fullValueCannotBecomePartial) {
  std::vector<int64_t> shape = {24, 36};
  EXPECT_FALSE(plan(make({{}, {}}), make({{}, {}}, {0}), shape));
  EXPECT_FALSE(plan(make({{}, {}}, {1}), make({{}, {}}, {0, 1}), shape));
}

TEST(Plan, differentMeshesOrRanksHaveNone) {
  Layout layout = make({{}, {}});
  Layout other = layout;
  other.mesh = makeMesh({3, 2});
  EXPECT_FALSE(plan(layout, other, {24, 36}));
  EXPECT_FALSE(plan(layout, make({{}}), {24, 36}));
}
