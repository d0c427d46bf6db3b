//===- MinCut.h - The cheapest way to part a graph --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_MINCUT_H
#define CP_LIB_TRANSFORMS_MINCUT_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cp {

/// A minimum cut between a source and a sink, by the maximum flow between them
/// (Dinitz, "Algorithm for solution of a problem of maximum flow in a network
/// with power estimation", 1970).
class MinCut {
public:
  static constexpr int source = 0, sink = 1;
  /// A capacity that no minimum cut goes through.
  static constexpr int64_t unlimited = int64_t(1) << 60;

  int addNode();
  /// Parting `from` (with the source) and `to` (with the sink) costs
  /// `capacity`. What is added up stays below 2^62.
  void addEdge(int from, int to, int64_t capacity);

  /// For each node whether it is on the sink's side; of all cheapest cuts the
  /// one with fewest nodes there.
  std::vector<bool> sinkSide();

private:
  struct Edge {
    int to;
    int64_t left;
  };
  bool findLevels();
  int64_t push(int node, int64_t most);

  std::vector<Edge> edges;
  /// Per node the numbers of its edges; number n's reverse is n ^ 1.
  std::vector<std::vector<int>> from = {{}, {}};
  std::vector<int> level;
  std::vector<std::size_t> next;
};

} // namespace cp

#endif // CP_LIB_TRANSFORMS_MINCUT_H
