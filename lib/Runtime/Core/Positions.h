//===- Positions.h - Where the rows of a part stand -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_POSITIONS_H
#define CP_LIB_RUNTIME_POSITIONS_H

#include "Group.h"

namespace cp::runtime {

/// A dimension cut over mesh axes, major to minor, each in an order of its own.
struct SequenceCut {
  Words axes, orders;

  /// Whether where rows are depends on documents (see PackedPositions.h).
  bool isPerDocument() const {
    return axes.size == 1 && orders.size == 1 &&
           cp::isPerDocument(cutOfWord(orders[0]));
  }
  /// That order, where it does.
  Order perDocument() const { return cutOfWord(orders[0]).order; }
};

/// What each position of a group holds of a dimension.
struct Positions {
  const Group *group = nullptr;
  /// Rows of all positions together.
  int64_t whole = 0;
  /// By position: for each run its first global row, its number of rows and
  /// the distance from one to the next, in local order, as kernels take them.
  std::vector<std::vector<int64_t>> runs;

  const std::vector<int64_t> &own() const {
    return runs[size_t(group->position)];
  }
  /// The same row by row, in memory that stays; made for the first who asks.
  const std::vector<int64_t> &ownRows() const;
  /// Forgets all rows, but not the memory that they took.
  void clear() {
    for (std::vector<int64_t> &words : runs)
      words.clear();
    rows.clear();
  }

private:
  mutable std::vector<int64_t> rows;
};

/// The positions of a dimension of which each rank holds `localRows`; worked
/// out once and kept by the context. CPRT_INVALID_ARGUMENT for axes that make
/// no group, for `orders` that are not one for each axis, or a dimension that
/// does not divide. `name` says which attributes, as "q_".
Error findPositions(cprt_context &context, const Descriptor &call,
                    const std::string &name, const SequenceCut &cut,
                    int64_t localRows, const Positions *&positions);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_POSITIONS_H
