//===- PackedPositions.cpp - Where the rows of packed parts stand ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedPositions.h"

#include "DocumentLists.h"
#include "World.h"

using namespace cp::runtime;

/// Whether `lists` are the documents that `packed` was made of.
static bool isOf(const PackedPositions &packed, const Buffer &lists) {
  auto known = packed.documents.begin();
  for (int64_t row = 0; row < lists.sizes[0]; ++row)
    for (int64_t i = 0; i < lists.sizes[1]; ++i)
      if (documentsOf(lists, row).at(i) != *known++)
        return false;
  return true;
}

/// What was made for lists of these sizes; null where that is nothing.
static PackedPositions *find(Context &context, const Group *group,
                             cp::Order order, const Buffer &lists,
                             int64_t whole) {
  for (PackedPositions &known : context.packed)
    if (known.group == group && known.order == order && known.whole == whole &&
        known.numLists == lists.sizes[0] &&
        int64_t(known.documents.size()) == lists.sizes[0] * lists.sizes[1])
      return &known;
  return nullptr;
}

/// Fills one element of the batch. Other documents of as many numbers need no
/// more memory: of each a position has three runs at most.
static void fillRow(PackedPositions &packed, size_t row,
                    const cp::Documents &documents) {
  int64_t ranks = packed.group->size;
  Positions &positions = packed.rows[row];
  positions.clear();
  positions.group = packed.group;
  positions.whole = packed.whole;
  positions.runs.resize(size_t(ranks));
  packed.runs[row].resize(size_t(ranks));
  for (int64_t position = 0; position < ranks; ++position) {
    std::vector<Run> &runs = packed.runs[row][size_t(position)];
    runs.clear();
    runs.reserve(packed.mostRuns);
    positions.runs[size_t(position)].reserve(3 * packed.mostRuns);
    appendRuns(documents, packed.order, ranks, position, runs);
    for (const Run &run : runs)
      positions.runs[size_t(position)].insert(
          positions.runs[size_t(position)].end(), {run.global, run.length, 1});
  }
}

static void fillRows(PackedPositions &packed, const Buffer &lists) {
  auto rows = size_t(lists.sizes[0]);
  packed.rows.resize(rows);
  packed.runs.resize(rows);
  packed.documents.clear();
  packed.mostRuns = size_t(3 * lists.sizes[1]);
  for (size_t row = 0; row < rows; ++row) {
    cp::Documents documents = documentsOf(lists, int64_t(row));
    for (int64_t i = 0; i < documents.numEntries(); ++i)
      packed.documents.push_back(int32_t(documents.at(i)));
    fillRow(packed, row, documents);
  }
}

Error cp::runtime::findPackedPositions(Context &context, const Descriptor &call,
                                       Words axes, cp::Order order,
                                       const Buffer &lists, int64_t localRows,
                                       const PackedPositions *&packed) {
  const Group *group = nullptr;
  if (Error failure = findGroup(context, call, axes, group))
    return failure;
  int64_t whole = 0;
  if (__builtin_mul_overflow(localRows, group->size, &whole))
    return call.invalid(std::to_string(localRows) + " rows times " +
                        std::to_string(group->size) +
                        " ranks do not fit 63 bits");
  if (Error failure = checkDocuments(call, lists, whole))
    return failure;
  PackedPositions *found = find(context, group, order, lists, whole);
  if (!found || !isOf(*found, lists)) {
    if (!found)
      found = &context.packed.emplace_back();
    found->group = group;
    found->order = order;
    found->whole = whole;
    found->numLists = lists.sizes[0];
    fillRows(*found, lists);
  }
  packed = found;
  return std::nullopt;
}
