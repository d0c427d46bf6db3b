//===- MinCutTest.cpp - Minimum cuts against all cuts ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shard/MinCut.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>
#include <tuple>

using cp::MinCut;

namespace {

using Edges = std::vector<std::tuple<int, int, int64_t>>;

/// What it costs to have the nodes of `side` with the sink.
int64_t costOf(const Edges &edges, const std::vector<bool> &side) {
  int64_t cost = 0;
  for (auto [from, to, capacity] : edges)
    if (!side[from] && side[to])
      cost += capacity;
  return cost;
}

/// Of all ways to part the nodes the cheapest, and of these the one with fewest
/// nodes with the sink.
std::vector<bool> cheapest(const Edges &edges, int nodes) {
  std::vector<bool> best;
  for (unsigned bits = 0; bits < 1u << (nodes - 2); ++bits) {
    std::vector<bool> side(nodes, false);
    side[MinCut::sink] = true;
    for (int node = 2; node < nodes; ++node)
      side[node] = bits >> (node - 2) & 1;
    auto rank = [&](const std::vector<bool> &one) {
      return std::pair(costOf(edges, one),
                       std::count(one.begin(), one.end(), true));
    };
    if (best.empty() || rank(side) < rank(best))
      best = side;
  }
  return best;
}

TEST(MinCut, IsTheCheapestOfAllCuts) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    auto draw = [&](int below) { return static_cast<int>(random() % below); };
    int nodes = 2 + draw(9);
    MinCut graph;
    for (int node = 2; node < nodes; ++node)
      EXPECT_EQ(graph.addNode(), node);
    Edges edges;
    for (int i = draw(3 * nodes); i > 0; --i) {
      int from = draw(nodes), to = draw(nodes);
      if (from == to)
        continue;
      edges.emplace_back(from, to, draw(6));
      graph.addEdge(from, to, std::get<2>(edges.back()));
    }
    EXPECT_EQ(graph.sinkSide(), cheapest(edges, nodes));
  }
}

TEST(MinCut, NothingGoesThroughTheUnlimited) {
  MinCut graph;
  int a = graph.addNode(), b = graph.addNode();
  graph.addEdge(MinCut::source, a, MinCut::unlimited);
  graph.addEdge(a, b, 7);
  graph.addEdge(b, MinCut::sink, MinCut::unlimited);
  EXPECT_EQ(graph.sinkSide(), (std::vector<bool>{false, true, false, true}));
}

/// Deeper than any stack would bear.
TEST(MinCut, LongChains) {
  MinCut graph;
  int last = MinCut::source;
  for (int i = 0; i < 200000; ++i) {
    int next = graph.addNode();
    graph.addEdge(last, next, i == 150000 ? 3 : 5);
    last = next;
  }
  graph.addEdge(last, MinCut::sink, 4);
  std::vector<bool> side = graph.sinkSide();
  EXPECT_EQ(std::count(side.begin(), side.end(), true), 200000 - 150000 + 1);
}

} // namespace
