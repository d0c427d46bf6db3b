//===- TraceSequence.cpp - Scans on ids -------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tracer.h"

using namespace mlir;

namespace cp {

/// What the scans have in common.
struct ScanOperands {
  NamedValue x, b;
  /// `[b, l, ...]`, of x's rows.
  std::vector<NamedValue> rows;
  /// `[b, l, h]`, `[b, l, g, n]`, `[h, ...]`.
  std::vector<NamedValue> perHead, perGroup, heads;
};

bool OpTrace::beginScan(const ScanOperands &operands) {
  if (!operands.x.value->space) {
    setUnknown();
    return false;
  }
  checkPlain(operands.x);
  for (const NamedValue &value : operands.rows)
    checkPlain(value);
  return true;
}

Digits OpTrace::checkScan(const ScanOperands &operands, int64_t rank) {
  const NamedValue &x = operands.x;
  int64_t length = lengthOf(*x.value);
  Digits own = rows(x, rank);
  checkInOrder("x", rank, own, x.value->shape[0], length);
  for (const NamedValue &other : operands.rows)
    checkSameRows(x, other, rank, length);
  for (const NamedValue &other : operands.perHead)
    checkSame(x, 2, other, 2, rank);
  for (const NamedValue &other : operands.heads)
    checkSame(x, 2, other, 0, rank);
  for (const NamedValue &other : operands.perGroup) {
    checkGroups(x, other, 2, rank);
    checkSame(operands.b, 3, other, 3, rank);
  }
  return own;
}

void OpTrace::setSummary(unsigned number, ArrayRef<NamedValue> parts,
                         ArrayRef<size_t> dims,
                         ArrayRef<std::vector<int64_t>> coversByRank) {
  TracedValue &value = result(number);
  const NamedValue &x = parts.front();
  int64_t length = lengthOf(*x.value), count = x.value->shape[1];
  const IdSpace &space = *x.value->space;
  SmallVector<int64_t> sizes = {space.strides[0] / space.strides[2] / length};
  for (auto [part, dim] : llvm::zip(parts, dims))
    sizes.push_back(part.value->space ? part.value->space->wholeSize(dim)
                                      : part.value->shape[dim]);
  value.space = std::make_shared<IdSpace>(IdSpace::of(sizes));
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    // The batch element first, then what the parts say.
    SmallVector<Digits> digits = {rows(x, rank)};
    for (int64_t i = 0; i < value.shape[0]; ++i) {
      int64_t row = digits[0].at[i * count];
      digits[0].at[i] = row < 0 ? Digits::unknown : row / length;
    }
    for (auto [part, dim] : llvm::zip(parts, dims))
      digits.push_back(along(part, rank, dim, dim));
    value.ids.push_back(idsFrom(value, digits));
    auto marks = std::make_shared<Words>(value.numElements());
    for (size_t e = 0; e < marks->size(); ++e)
      (*marks)[e] = coversByRank[rank][e * value.shape[0] / marks->size()];
    value.covers.push_back(std::move(marks));
  }
}

void OpTrace::checkState(const NamedValue &x, const NamedValue &b,
                         const NamedValue &state, int64_t rank) {
  if (!state.value->space)
    return;
  checkSame(x, 2, state, 1, rank);
  checkSame(x, 3, state, 2, rank);
  checkSame(b, 3, state, 3, rank);
  Digits own = rows(x, rank), batches = along(state, rank, 0, 0);
  int64_t length = lengthOf(*x.value), count = x.value->shape[1];
  for (int64_t i = 0; count && i < x.value->shape[0]; ++i) {
    int64_t row = own.at[i * count], batch = batches.at[i];
    if (row < 0 || batch < 0 || batch == row / length)
      continue;
    report(rank, state.name + ": index " + std::to_string(i) +
                     " of dimension 0 holds batch element " +
                     std::to_string(batch) + " where it should hold " +
                     std::to_string(row / length));
    return;
  }
}

void OpTrace::setKept(unsigned number,
                      ArrayRef<std::vector<int64_t>> coversByRank) {
  // Inside of a run they have no order that could be lost.
  TracedValue &kept = result(number);
  kept.space = std::make_shared<IdSpace>(IdSpace::of(kept.shape));
  for (const std::vector<int64_t> &words : coversByRank) {
    auto ids = std::make_shared<Words>(kept.numElements());
    auto marks = std::make_shared<Words>(kept.numElements());
    for (size_t e = 0; e < ids->size(); ++e) {
      (*ids)[e] = static_cast<int64_t>(e) + 1;
      (*marks)[e] = words[e * words.size() / ids->size()];
    }
    kept.ids.push_back(std::move(ids));
    kept.covers.push_back(std::move(marks));
  }
}

void OpTrace::ssdStates() {
  auto states = cast<SsdStatesOp>(op);
  NamedValue x{"x", &operand(states.getX())}, b{"B", &operand(states.getB())};
  NamedValue dt{"dt", &operand(states.getDt())};
  ScanOperands operands{x, b, {dt, b}, {dt}, {b}, {}};
  operands.heads.push_back({"A_log", &operand(states.getALog())});
  if (states.getDtBias())
    operands.heads.push_back({"dt_bias", &operand(states.getDtBias())});
  if (!beginScan(operands))
    return;
  std::vector<std::vector<int64_t>> runs(numRanks());
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    Digits own = checkScan(operands, rank);
    for (int64_t i = 0; i < x.value->shape[0]; ++i)
      runs[rank].push_back(runOf(own, i, x.value->shape[1]));
  }
  setSummary(0, {x}, {2}, runs);
  setSummary(1, {x, x, b}, {2, 3, 3}, runs);
  for (unsigned number : {2, 3})
    setKept(number, runs);
}

void OpTrace::checkKept(const NamedValue &kept, int64_t rank, int64_t batch,
                        int64_t run, int64_t length) {
  int64_t word = coverOf(kept, rank, batch).value_or(0);
  if (run <= 0 || word <= 0 || word == run)
    return;
  report(rank, kept.name + ": is of tokens " +
                   textOf(tracer.covers[word].intervals, length) +
                   " where it should be of tokens " +
                   textOf(tracer.covers[run].intervals, length) +
                   ", which x holds");
}

void OpTrace::ssdScan() {
  auto scan = cast<SsdScanOp>(op);
  NamedValue x{"x", &operand(scan.getX())}, b{"B", &operand(scan.getB())};
  NamedValue c{"C", &operand(scan.getC())};
  NamedValue decay{"prefix_decay", &operand(scan.getPrefixDecay())};
  NamedValue state{"prefix_state", &operand(scan.getPrefixState())};
  ScanOperands operands{x, b, {b, c}, {}, {b, c}, {}};
  operands.heads.push_back({"A_log", &operand(scan.getALog())});
  if (scan.getD())
    operands.heads.push_back({"D", &operand(scan.getD())});
  if (!beginScan(operands))
    return;
  int64_t count = x.value->shape[1], length = lengthOf(*x.value);
  std::vector<std::vector<int64_t>> runs(numRanks());
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    Digits own = checkScan(operands, rank);
    checkSame(x, 2, decay, 1, rank);
    checkState(x, b, state, rank);
    if (scan.getInitial())
      checkState(x, b, {"initial", &operand(scan.getInitial())}, rank);
    for (int64_t i = 0; i < x.value->shape[0]; ++i) {
      int64_t first = own.at[i * count], run = runOf(own, i, count);
      for (const NamedValue &prefix : {decay, state})
        checkPrefix(prefix, rank, i, first, length, /*mayBePlain=*/false);
      checkKept({"chunk_states", &operand(scan.getChunkStates())}, rank, i, run,
                length);
      checkKept({"delta", &operand(scan.getDelta())}, rank, i, run, length);
      runs[rank].push_back(withBefore(run, length));
    }
  }
  sameStructure(0, *x.value);
  setSummary(1, {x, x, b}, {2, 3, 3}, runs);
}

/// A run and all rows of its sequence before it.
int64_t OpTrace::withBefore(int64_t run, int64_t length) {
  if (run <= 0)
    return unknownId;
  auto [from, to] = tracer.covers[run].intervals.front();
  return tracer.covers.wordOf({true, 0, {{from / length * length, to}}});
}

/// What a final state covers that began at `before`.
int64_t OpTrace::joinRuns(std::optional<int64_t> before, int64_t run) {
  if (before == unknownId || run == unknownId)
    return unknownId;
  std::vector<std::pair<int64_t, int64_t>> all = tracer.covers[run].intervals;
  if (before.value_or(0) > 0)
    llvm::append_range(all, tracer.covers[*before].intervals);
  auto sum = joined(all);
  return sum ? tracer.covers.wordOf({true, 0, *sum}) : unknownId;
}

void OpTrace::ssd() {
  auto scan = cast<SsdOp>(op);
  NamedValue x{"x", &operand(scan.getX())}, b{"B", &operand(scan.getB())};
  NamedValue dt{"dt", &operand(scan.getDt())}, c{"C", &operand(scan.getC())};
  ScanOperands operands{x, b, {dt, b, c}, {dt}, {b, c}, {}};
  operands.heads.push_back({"A_log", &operand(scan.getALog())});
  if (scan.getD())
    operands.heads.push_back({"D", &operand(scan.getD())});
  if (scan.getDtBias())
    operands.heads.push_back({"dt_bias", &operand(scan.getDtBias())});
  if (!beginScan(operands))
    return;
  int64_t count = x.value->shape[1], length = lengthOf(*x.value);
  TracedValue zeros;
  zeros.shape = {x.value->shape[0], 1};
  NamedValue initial{"initial", &zeros};
  if (scan.getInitial())
    initial.value = &operand(scan.getInitial());
  std::vector<std::vector<int64_t>> runs(numRanks());
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    Digits own = checkScan(operands, rank);
    checkState(x, b, initial, rank);
    for (int64_t i = 0; i < x.value->shape[0]; ++i) {
      // Whoever wants the final state from zero does not read y.
      if (!scan.getY().use_empty())
        checkPrefix(initial, rank, i, own.at[i * count], length,
                    /*mayBePlain=*/true);
      runs[rank].push_back(
          joinRuns(coverOf(initial, rank, i), runOf(own, i, count)));
    }
  }
  sameStructure(0, *x.value);
  setSummary(1, {x, x, b}, {2, 3, 3}, runs);
}

} // namespace cp
