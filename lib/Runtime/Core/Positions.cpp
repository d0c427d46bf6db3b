//===- Positions.cpp - Where the rows of a part stand ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Positions.h"

#include "World.h"

#include <algorithm>

using namespace cp::runtime;

const std::vector<int64_t> &Positions::ownRows() const {
  const std::vector<int64_t> &words = own();
  if (rows.empty())
    for (size_t run = 0; run < words.size(); run += 3)
      for (int64_t i = 0; i < words[run + 1]; ++i)
        rows.push_back(words[run] + i * words[run + 2]);
  return rows;
}

static Error checkOrders(const Descriptor &call, const std::string &name,
                         const SequenceCut &cut) {
  bool fits = cut.orders.size == cut.axes.size;
  for (size_t i = 0; fits && i < cut.orders.size; ++i)
    fits = cut.orders[i] >= 0;
  if (fits)
    return std::nullopt;
  return call.invalid("attribute '" + name + "orders' is " +
                      listText(cut.orders.data, cut.orders.size) +
                      ", expected 0, 1 or 1 + a unit for each of the axes " +
                      listText(cut.axes.data, cut.axes.size));
}

/// The words that tell one cut from another.
static bool isKey(const std::vector<int64_t> &key, const SequenceCut &cut,
                  int64_t localRows) {
  return key.size() == 1 + 2 * cut.axes.size && key[0] == localRows &&
         std::equal(cut.axes.data, cut.axes.data + cut.axes.size,
                    key.begin() + 1) &&
         std::equal(cut.orders.data, cut.orders.data + cut.orders.size,
                    key.begin() + 1 + int64_t(cut.axes.size));
}

static std::vector<int64_t> keyOf(const SequenceCut &cut, int64_t localRows) {
  std::vector<int64_t> key = {localRows};
  key.insert(key.end(), cut.axes.data, cut.axes.data + cut.axes.size);
  key.insert(key.end(), cut.orders.data, cut.orders.data + cut.orders.size);
  return key;
}

/// A mesh of the group alone: its rank is the position in the group.
static cp::Layout layoutOf(const Context &context, const SequenceCut &cut) {
  cp::Layout layout;
  layout.dims.resize(1);
  for (size_t i = 0; i < cut.axes.size; ++i) {
    int64_t size = context.world.mesh.axes[size_t(cut.axes[i])].size;
    layout.mesh.axes.push_back({"axis" + std::to_string(cut.axes[i]), size});
    // One rank holds everything, in whatever order.
    layout.dims[0].push_back(
        cp::cutOfWord(size == 1 ? 0 : cut.orders[i], int(i)));
  }
  return layout;
}

/// Adds a run of rows without gaps. Single rows at equal distances, as stripes
/// of one row are, make one run with a step.
static void addRun(std::vector<int64_t> &words, int64_t first, int64_t length) {
  if (length == 1 && !words.empty()) {
    int64_t *last = words.data() + words.size() - 3;
    int64_t step = first - last[0] - (last[1] - 1) * last[2];
    bool isSingle = last[1] == 1 && step > 0;
    if (isSingle || step == last[2]) {
      last[1] += 1;
      last[2] = step;
      return;
    }
  }
  words.insert(words.end(), {first, length, 1});
}

static Error makePositions(const Context &context, const Descriptor &call,
                           const SequenceCut &cut, int64_t localRows,
                           Positions &made) {
  int64_t ranks = made.group->size;
  if (__builtin_mul_overflow(localRows, ranks, &made.whole))
    return call.invalid(std::to_string(localRows) + " rows times " +
                        std::to_string(ranks) + " ranks do not fit 63 bits");
  cp::Layout layout = layoutOf(context, cut);
  if (std::optional<std::string> wrong = check(layout, {made.whole}))
    return call.invalid("a sequence of " + std::to_string(made.whole) +
                        " cannot be cut over " + std::to_string(ranks) +
                        " ranks: " + *wrong);
  for (int64_t position = 0; position < ranks; ++position) {
    std::vector<int64_t> &words = made.runs.emplace_back();
    for (const cp::Run &run :
         cp::runsOf(layout.mesh, layout.dims[0], made.whole, position))
      run.forEach([&](int64_t global, int64_t, int64_t length) {
        addRun(words, global, length);
      });
  }
  return std::nullopt;
}

Error cp::runtime::findPositions(Context &context, const Descriptor &call,
                                 const std::string &name,
                                 const SequenceCut &cut, int64_t localRows,
                                 const Positions *&positions) {
  if (Error failure = checkOrders(call, name, cut))
    return failure;
  auto entry = std::find_if(
      context.positions.begin(), context.positions.end(),
      [&](const auto &known) { return isKey(known.first, cut, localRows); });
  if (entry == context.positions.end()) {
    Positions made;
    if (Error failure = findGroup(context, call, cut.axes, made.group))
      return failure;
    if (Error failure = makePositions(context, call, cut, localRows, made))
      return failure;
    entry =
        context.positions.emplace(keyOf(cut, localRows), std::move(made)).first;
  }
  positions = &entry->second;
  return std::nullopt;
}
