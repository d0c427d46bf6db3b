//===- MinCut.cpp - The cheapest way to part a graph ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MinCut.h"

#include <algorithm>

namespace cp {

int MinCut::addNode() {
  from.emplace_back();
  return static_cast<int>(from.size()) - 1;
}

void MinCut::addEdge(int start, int end, int64_t capacity) {
  from[start].push_back(static_cast<int>(edges.size()));
  edges.push_back({end, capacity});
  from[end].push_back(static_cast<int>(edges.size()));
  edges.push_back({start, 0});
}

/// Distances from the source by what is left; whether the sink is reached.
bool MinCut::findLevels() {
  level.assign(from.size(), -1);
  level[source] = 0;
  std::vector<int> queue = {source};
  for (size_t head = 0; head < queue.size(); ++head)
    for (int number : from[queue[head]]) {
      const Edge &edge = edges[number];
      if (edge.left == 0 || level[edge.to] >= 0)
        continue;
      level[edge.to] = level[queue[head]] + 1;
      queue.push_back(edge.to);
    }
  return level[sink] >= 0;
}

/// Sends one path's worth from `start` to the sink. The paths of a model are as
/// long as the model is deep, so there is no recursion.
int64_t MinCut::push(int start, int64_t most) {
  std::vector<int> path;
  int node = start;
  while (node != sink) {
    if (next[node] == from[node].size()) {
      if (path.empty())
        return 0;
      // A dead end: back, and not here again.
      node = edges[path.back() ^ 1].to;
      path.pop_back();
      ++next[node];
      continue;
    }
    int number = from[node][next[node]];
    const Edge &edge = edges[number];
    if (edge.left == 0 || level[edge.to] != level[node] + 1) {
      ++next[node];
      continue;
    }
    path.push_back(number);
    node = edge.to;
  }
  int64_t sent = most;
  for (int number : path)
    sent = std::min(sent, edges[number].left);
  for (int number : path) {
    edges[number].left -= sent;
    edges[number ^ 1].left += sent;
  }
  return sent;
}

std::vector<bool> MinCut::sinkSide() {
  while (findLevels()) {
    next.assign(from.size(), 0);
    while (push(source, unlimited) > 0)
      ;
  }
  // Who can still send to the sink is on its side in every cheapest cut.
  std::vector<bool> reaches(from.size(), false);
  reaches[sink] = true;
  std::vector<int> queue = {sink};
  for (size_t head = 0; head < queue.size(); ++head)
    for (int number : from[queue[head]]) {
      int before = edges[number].to;
      if (edges[number ^ 1].left == 0 || reaches[before])
        continue;
      reaches[before] = true;
      queue.push_back(before);
    }
  return reaches;
}

} // namespace cp
