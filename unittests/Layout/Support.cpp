//===- Support.cpp - What the tests of the algebra share ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <numeric>

using namespace cp;
using namespace cp::test;

Mesh cp::test::makeMesh(const std::vector<int64_t> &sizes) {
  Mesh mesh;
  for (int64_t size : sizes)
    mesh.axes.push_back({std::string(1, char('a' + mesh.axes.size())), size});
  return mesh;
}

/// Deals out the list as cards are dealt, `unit` at a time.
static std::vector<int64_t> deal(const std::vector<int64_t> &list, int64_t unit,
                                 int64_t ranks, int64_t r) {
  std::vector<int64_t> mine;
  int64_t turn = 0, given = 0;
  for (int64_t element : list) {
    if (turn == r)
      mine.push_back(element);
    if (++given < unit)
      continue;
    given = 0;
    turn = turn + 1 == ranks ? 0 : turn + 1;
  }
  return mine;
}

std::vector<int64_t> cp::test::pick(const std::vector<int64_t> &list,
                                    const Cut &cut, int64_t ranks, int64_t r) {
  if (cut.order == Order::Striped)
    return deal(list, cut.unit, ranks, r);
  if (cut.order == blockPerDocument)
    return pick(list, {0}, ranks, r);
  if (cut.order == perDocument) {
    auto body = ptrdiff_t(list.size() / size_t(2 * ranks) * size_t(2 * ranks));
    std::vector<int64_t> mine =
        pick({list.begin(), list.begin() + body}, {0, zigzag}, ranks, r);
    for (int64_t rest : pick({list.begin() + body, list.end()}, {0}, ranks, r))
      mine.push_back(rest);
    return mine;
  }
  if (isBySizes(cut)) {
    std::vector<int64_t> rest = list, mine;
    for (int64_t position = 0; position <= r; ++position) {
      auto end = rest.begin() + ptrdiff_t(cut.sizes[size_t(position)]);
      mine.assign(rest.begin(), end);
      rest.erase(rest.begin(), end);
    }
    return mine;
  }
  int64_t blocks = cut.order == Order::Zigzag ? 2 * ranks : ranks;
  std::vector<int64_t> mine;
  for (size_t i = 0; i < list.size(); ++i) {
    int64_t block = int64_t(i) * blocks / int64_t(list.size());
    bool isMirror = cut.order == Order::Zigzag && block == 2 * ranks - 1 - r;
    if (block == r || isMirror)
      mine.push_back(list[i]);
  }
  return mine;
}

std::vector<int64_t> cp::test::held(const Mesh &mesh,
                                    const std::vector<Cut> &cuts, int64_t size,
                                    int64_t rank) {
  std::vector<int64_t> list(size);
  std::iota(list.begin(), list.end(), 0);
  std::vector<int64_t> at = mesh.coordinates(rank);
  if (!cuts.empty() && isBySizes(cuts.back())) {
    // One block after the other, to the ranks on all axes.
    int64_t ranks = 1, position = 0;
    for (const Cut &cut : cuts) {
      ranks *= mesh.axes[cut.axis].size;
      position = position * mesh.axes[cut.axis].size + at[cut.axis];
    }
    return pick(list, cuts.back(), ranks, position);
  }
  for (const Cut &cut : cuts)
    list = pick(list, cut, mesh.axes[cut.axis].size, at[cut.axis]);
  return list;
}

std::mt19937 cp::test::makeGenerator() {
  unsigned seed = testing::UnitTest::GetInstance()->random_seed();
  if (seed == 0)
    seed = std::random_device()() % 99999 + 1;
  std::cout << "seed " << seed << " (repeat with --gtest_random_seed=" << seed
            << ")\n";
  return std::mt19937(seed);
}

static constexpr int numOrders = int(std::size(plainOrders));

/// Use 0 replicated, 1 partial, then all orders for each dimension.
static Layout makeLayout(const Mesh &mesh, int numDims,
                         const std::vector<int> &axes,
                         const std::vector<int> &uses) {
  Layout layout{mesh, std::vector<std::vector<Cut>>(numDims), {}};
  for (size_t i = 0; i < axes.size(); ++i) {
    if (uses[i] == 1)
      layout.partial.push_back(axes[i]);
    if (uses[i] >= 2)
      layout.dims[(uses[i] - 2) / numOrders].push_back(
          {axes[i], plainOrders[(uses[i] - 2) % numOrders], 1});
  }
  std::sort(layout.partial.begin(), layout.partial.end());
  return layout;
}

std::vector<Layout> cp::test::allLayouts(const Mesh &mesh, int numDims) {
  std::vector<int> axes(mesh.axes.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::vector<Layout> layouts;
  do {
    std::vector<int> uses(axes.size(), 0);
    for (size_t i = 0; i < axes.size();) {
      Layout layout = makeLayout(mesh, numDims, axes, uses);
      if (!check(layout) &&
          std::find(layouts.begin(), layouts.end(), layout) == layouts.end())
        layouts.push_back(layout);
      for (i = 0; i < axes.size() && ++uses[i] == 2 + numOrders * numDims; ++i)
        uses[i] = 0;
    }
  } while (std::next_permutation(axes.begin(), axes.end()));
  return layouts;
}

Layout cp::test::randomLayout(const Mesh &mesh, int numDims,
                              std::mt19937 &generator) {
  std::vector<int> axes(mesh.axes.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::shuffle(axes.begin(), axes.end(), generator);
  std::vector<int> uses(axes.size());
  for (int &use : uses)
    use = std::uniform_int_distribution<int>(0, 1 + numOrders *
                                                        numDims)(generator);
  Layout layout = makeLayout(mesh, numDims, axes, uses);
  for (std::vector<Cut> &cuts : layout.dims)
    for (Cut &cut : cuts) {
      // In front of contiguous cuts, or alone.
      bool isFirst = &cut == &cuts[0], isBehind = isPerDocument(cuts[0]);
      if (isPerDocument(cut) && !isFirst)
        cut.order = zigzag;
      if (isBehind && !isFirst)
        cut.order = Order::Contiguous;
      if (isPerDocument(cut) && generator() % 2)
        cut.order = blockPerDocument;
      if (!isPerDocument(cut))
        cut.unit = std::uniform_int_distribution<int>(1, 2)(generator);
    }
  return layout;
}

void cp::test::expectError(const std::optional<std::string> &error,
                           const std::vector<std::string> &parts) {
  ASSERT_TRUE(error.has_value()) << "expected " << parts.front();
  EXPECT_EQ(error->find(parts.front()), 0u) << *error;
  for (const std::string &part : parts)
    EXPECT_NE(error->find(part), std::string::npos)
        << *error << "\ndoes not say: " << part;
}
