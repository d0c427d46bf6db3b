//===- StepTest.cpp - The tables of Step.h --------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include "cp/Layout/Step.h"

using namespace cp;
using namespace cp::test;

using Kind = Step::Kind;

static Parts rows(Order order = contiguous) { return {0, {{0, order}}}; }
static Parts columns() { return {1, {{0}}}; }

TEST(Step, kind) {
  auto kindOf = [](const Share &from, const Share &to) {
    return Step{{0}, from, to}.kind();
  };
  EXPECT_EQ(kindOf(rows(), columns()), Kind::AllToAll);
  EXPECT_EQ(kindOf(rows(), rows(zigzag)), Kind::Reorder);
  EXPECT_EQ(kindOf(rows(), Whole()), Kind::AllGather);
  EXPECT_EQ(kindOf(Whole(), rows()), Kind::Slice);
  EXPECT_EQ(kindOf(Partial(), Whole()), Kind::AllReduce);
  EXPECT_EQ(kindOf(Partial(), rows()), Kind::ReduceScatter);
  EXPECT_EQ(kindOf(rows(), Partial()), Kind::Unslice);
}

TEST(Step, dualOf) {
  struct {
    Share from, to;
    Kind dual;
  } table[] = {
      {rows(), columns(), Kind::AllToAll},
      {rows(), rows(zigzag), Kind::Reorder},
      {rows(), Whole(), Kind::ReduceScatter},
      {Partial(), rows(), Kind::AllGather},
      {Whole(), rows(), Kind::Unslice},
      {rows(), Partial(), Kind::Slice},
      {Partial(), Whole(), Kind::AllReduce},
  };
  for (const auto &[from, to, dual] : table) {
    Step step{{0}, from, to}, there = dualOf(step), back = dualOf(there);
    EXPECT_EQ(there.kind(), dual);
    EXPECT_EQ(there.axes, step.axes);
    EXPECT_TRUE(back.from == step.from && back.to == step.to);
  }
  Step reversed = dualOf(Step{{0}, rows(), rows(zigzag)});
  EXPECT_TRUE(reversed.from == Share(rows(zigzag)));
}

TEST(Step, layoutOf) {
  Mesh mesh = makeMesh({2, 3});
  Layout parts{mesh, {{}, {{1, zigzag}}}, {}}, whole{mesh, {{}, {}}, {}},
      sum{mesh, {{}, {}}, {0, 1}};
  EXPECT_EQ(layoutOf(Parts{1, {{1, zigzag}}}, {1}, 2, mesh), parts);
  EXPECT_EQ(layoutOf(Whole(), {1}, 2, mesh), whole);
  EXPECT_EQ(layoutOf(Partial(), {1, 0}, 2, mesh), sum);
}

TEST(Step, unsliceMovesNothing) {
  Mesh mesh = makeMesh({2});
  Step step{{0}, rows(), Partial()};
  Layout before = layoutOf(step.from, step.axes, 2, mesh);
  Layout after = layoutOf(step.to, step.axes, 2, mesh);
  EXPECT_EQ(elementsSent(step, before, after, {8, 4}, 1), 0);
}

/// What ranks hold of numbers 0 to 7 in all, as the definition of a step: an
/// element of the result is a sum of elements of the source, of any rank.
using Matrix = std::vector<std::vector<int64_t>>;

/// The linear map of a step on a vector of `length`, from what all ranks hold
/// one behind the other to the same after it.
static Matrix matrixOf(const Step &step, int64_t ranks, int64_t length) {
  Mesh mesh = makeMesh({ranks});
  // What a rank holds, by its global numbers.
  auto heldBy = [&](const Share &share, int64_t rank) {
    return held(mesh, layoutOf(share, step.axes, 1, mesh).dims[0], length,
                rank);
  };
  std::vector<std::pair<int64_t, int64_t>> sources, results;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    for (int64_t at : heldBy(step.from, rank))
      sources.push_back({rank, at});
    for (int64_t at : heldBy(step.to, rank))
      results.push_back({rank, at});
  }
  bool isLocal = step.kind() == Kind::Slice || step.kind() == Kind::Unslice;
  Matrix matrix(results.size(), std::vector<int64_t>(sources.size(), 0));
  for (size_t r = 0; r < results.size(); ++r)
    for (size_t s = 0; s < sources.size(); ++s)
      matrix[r][s] = results[r].second == sources[s].second &&
                     (!isLocal || results[r].first == sources[s].first);
  return matrix;
}

/// The dual is the transposed map: <dual(g), x> = <g, step(x)> for all x and g,
/// where ranks that share a whole hold terms of its cotangent.
TEST(Step, dualIsTheTransposedMap) {
  Parts parts{0, {{0}}}, folded{0, {{0, zigzag}}}, dealt{0, {{0, striped, 2}}};
  std::vector<std::pair<Share, Share>> steps;
  for (const Parts &one : {parts, folded, dealt}) {
    steps.push_back({one, Whole()});
    steps.push_back({Whole(), one});
    steps.push_back({Partial(), one});
    steps.push_back({one, Partial()});
    for (const Parts &other : {parts, folded, dealt})
      steps.push_back({one, other});
  }
  steps.push_back({Partial(), Whole()});
  for (const auto &[from, to] : steps) {
    Step step{{0}, from, to};
    Matrix forward = matrixOf(step, 2, 8), back = matrixOf(dualOf(step), 2, 8);
    ASSERT_EQ(back.size(), forward[0].size());
    for (size_t i = 0; i < forward.size(); ++i)
      for (size_t j = 0; j < forward[i].size(); ++j)
        EXPECT_EQ(forward[i][j], back[j][i]);
  }
}
