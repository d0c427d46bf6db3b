//===- Ssd.cpp - Scans on ids -----------------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gradients.h"
#include "Models.h"
#include "cp/Trace/Runs.h"

using namespace mlir;

namespace cp {

namespace {
/// What the scans have in common.
struct ScanOperands {
  NamedValue x, b;
  /// `[b, l, ...]`, of x's rows.
  std::vector<NamedValue> rows;
  /// `[b, l, h]`, `[b, l, g, n]`, `[h, ...]`.
  std::vector<NamedValue> perHead, perGroup, heads;
};
} // namespace

/// That no operand is a sum; false, with unknown results, without ids.
static bool beginScan(OpTrace &trace, const ScanOperands &operands) {
  if (!operands.x.value->space) {
    trace.setUnknown();
    return false;
  }
  checkPlain(trace, operands.x);
  for (const NamedValue &value : operands.rows)
    checkPlain(trace, value);
  return true;
}

/// That operands fit x; gives its rows.
static Digits checkScan(OpTrace &trace, const ScanOperands &operands,
                        int64_t rank) {
  const NamedValue &x = operands.x;
  int64_t length = lengthOf(*x.value);
  Digits own = rowsOf(trace, x, rank);
  checkInOrder(trace, "x", rank, own, x.value->shape[0], length);
  for (const NamedValue &other : operands.rows)
    checkSameRows(trace, x, other, rank, length);
  for (const NamedValue &other : operands.perHead)
    checkSame(trace, x, 2, other, 2, rank);
  for (const NamedValue &other : operands.heads)
    checkSame(trace, x, 2, other, 0, rank);
  for (const NamedValue &other : operands.perGroup) {
    checkGroups(trace, x, other, 2, rank);
    checkSame(trace, operands.b, 3, other, 3, rank);
  }
  return own;
}

/// That a state is of x's batch elements, heads and channels and of B's
/// states.
static void checkState(OpTrace &trace, const NamedValue &x, const NamedValue &b,
                       const NamedValue &state, int64_t rank) {
  if (!state.value->space)
    return;
  checkSame(trace, x, 2, state, 1, rank);
  checkSame(trace, x, 3, state, 2, rank);
  checkSame(trace, b, 3, state, 3, rank);
  Digits own = rowsOf(trace, x, rank),
         batches = digitsOf(trace, state, rank, 0, 0);
  int64_t length = lengthOf(*x.value), count = x.value->shape[1];
  for (int64_t i = 0; count && i < x.value->shape[0]; ++i) {
    int64_t row = own.at[i * count], batch = batches.at[i];
    if (row < 0 || batch < 0 || batch == row / length)
      continue;
    trace.report(rank, state.name + ": index " + std::to_string(i) +
                           " of dimension 0 holds batch element " +
                           std::to_string(batch) + " where it should hold " +
                           std::to_string(row / length));
    return;
  }
}

void traceSsdStates(OpTrace &trace, SsdStatesOp states) {
  NamedValue x{"x", &trace.operand(states.getX())},
      b{"B", &trace.operand(states.getB())};
  NamedValue dt{"dt", &trace.operand(states.getDt())};
  ScanOperands operands{x, b, {dt, b}, {dt}, {b}, {}};
  if (states.getPlaces())
    operands.rows.push_back({"places", &trace.operand(states.getPlaces())});
  operands.heads.push_back({"A_log", &trace.operand(states.getALog())});
  if (states.getDtBias())
    operands.heads.push_back({"dt_bias", &trace.operand(states.getDtBias())});
  if (!beginScan(trace, operands))
    return;
  std::vector<std::vector<int64_t>> runs(trace.numRanks());
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    Digits own = checkScan(trace, operands, rank);
    for (int64_t i = 0; i < x.value->shape[0]; ++i)
      runs[rank].push_back(runOf(trace, own, i, x.value->shape[1]));
  }
  setSummary(trace, 0, {x}, {2}, runs);
  setSummary(trace, 1, {x, x, b}, {2, 3, 3}, runs);
  for (unsigned number : {2, 3})
    setKept(trace, number, runs);
}

/// A run and all rows of its sequence before it.
static int64_t withBefore(OpTrace &trace, int64_t run, int64_t length) {
  if (run <= 0)
    return unknownId;
  auto [from, to] = trace.covers()[run].intervals.front();
  return trace.covers().wordOf({true, 0, {{from / length * length, to}}});
}

void traceSsdScan(OpTrace &trace, SsdScanOp scan) {
  NamedValue x{"x", &trace.operand(scan.getX())},
      b{"B", &trace.operand(scan.getB())};
  NamedValue c{"C", &trace.operand(scan.getC())};
  NamedValue decay{"prefix_decay", &trace.operand(scan.getPrefixDecay())};
  NamedValue state{"prefix_state", &trace.operand(scan.getPrefixState())};
  ScanOperands operands{x, b, {b, c}, {}, {b, c}, {}};
  if (scan.getPlaces())
    operands.rows.push_back({"places", &trace.operand(scan.getPlaces())});
  operands.heads.push_back({"A_log", &trace.operand(scan.getALog())});
  if (scan.getD())
    operands.heads.push_back({"D", &trace.operand(scan.getD())});
  if (!beginScan(trace, operands))
    return;
  int64_t count = x.value->shape[1], length = lengthOf(*x.value);
  std::vector<std::vector<int64_t>> runs(trace.numRanks());
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    Digits own = checkScan(trace, operands, rank);
    checkSame(trace, x, 2, decay, 1, rank);
    checkState(trace, x, b, state, rank);
    if (scan.getInitial())
      checkState(trace, x, b, {"initial", &trace.operand(scan.getInitial())},
                 rank);
    for (int64_t i = 0; i < x.value->shape[0]; ++i) {
      int64_t first = own.at[i * count], run = runOf(trace, own, i, count);
      for (const NamedValue &prefix : {decay, state})
        checkPrefix(trace, prefix, rank, i, first, length,
                    /*mayBePlain=*/false);
      checkKept(trace, {"chunk_states", &trace.operand(scan.getChunkStates())},
                rank, i, run, length);
      checkKept(trace, {"delta", &trace.operand(scan.getDelta())}, rank, i, run,
                length);
      runs[rank].push_back(withBefore(trace, run, length));
    }
  }
  sameStructure(trace, 0, *x.value);
  setSummary(trace, 1, {x, x, b}, {2, 3, 3}, runs);
}

void traceSsd(OpTrace &trace, SsdOp scan) {
  NamedValue x{"x", &trace.operand(scan.getX())},
      b{"B", &trace.operand(scan.getB())};
  NamedValue dt{"dt", &trace.operand(scan.getDt())},
      c{"C", &trace.operand(scan.getC())};
  ScanOperands operands{x, b, {dt, b, c}, {dt}, {b, c}, {}};
  if (scan.getPlaces())
    operands.rows.push_back({"places", &trace.operand(scan.getPlaces())});
  operands.heads.push_back({"A_log", &trace.operand(scan.getALog())});
  if (scan.getD())
    operands.heads.push_back({"D", &trace.operand(scan.getD())});
  if (scan.getDtBias())
    operands.heads.push_back({"dt_bias", &trace.operand(scan.getDtBias())});
  if (!beginScan(trace, operands))
    return;
  int64_t count = x.value->shape[1], length = lengthOf(*x.value);
  TracedValue zeros;
  zeros.shape = {x.value->shape[0], 1};
  NamedValue initial{"initial", &zeros};
  if (scan.getInitial())
    initial.value = &trace.operand(scan.getInitial());
  std::vector<std::vector<int64_t>> runs(trace.numRanks());
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    Digits own = checkScan(trace, operands, rank);
    checkState(trace, x, b, initial, rank);
    for (int64_t i = 0; i < x.value->shape[0]; ++i) {
      // Whoever wants the final state from zero does not read y.
      if (!scan.getY().use_empty())
        checkPrefix(trace, initial, rank, i, own.at[i * count], length,
                    /*mayBePlain=*/true);
      runs[rank].push_back(joinRuns(trace, coverOf(trace, initial, rank, i),
                                    runOf(trace, own, i, count)));
    }
  }
  sameStructure(trace, 0, *x.value);
  setSummary(trace, 1, {x, x, b}, {2, 3, 3}, runs);
}

void traceSsdGradStates(OpTrace &trace, SsdGradStatesOp op) {
  NamedValue dy{"dy", &trace.operand(op.getDy())},
      c{"C", &trace.operand(op.getC())}, dt{"dt", &trace.operand(op.getDt())};
  ScanOperands operands{dy, c, {dt, c}, {dt}, {c}, {}};
  if (op.getPlaces())
    operands.rows.push_back({"places", &trace.operand(op.getPlaces())});
  operands.heads.push_back({"A_log", &trace.operand(op.getALog())});
  if (op.getDtBias())
    operands.heads.push_back({"dt_bias", &trace.operand(op.getDtBias())});
  if (!beginScan(trace, operands))
    return;
  std::vector<std::vector<int64_t>> runs(trace.numRanks());
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    Digits own = checkScan(trace, operands, rank);
    for (int64_t i = 0; i < dy.value->shape[0]; ++i)
      runs[rank].push_back(runOf(trace, own, i, dy.value->shape[1]));
  }
  setSummary(trace, 0, {dy, dy, c}, {2, 3, 3}, runs);
}

/// The state in front of a rank's rows is of those before, its cotangent behind
/// them of those behind.
void traceSsdGrad(OpTrace &trace, SsdGradOp op) {
  NamedValue x{"x", &trace.operand(op.getX())},
      b{"B", &trace.operand(op.getB())}, c{"C", &trace.operand(op.getC())},
      dt{"dt", &trace.operand(op.getDt())},
      dy{"dy", &trace.operand(op.getDy())};
  ScanOperands operands{x, b, {dt, b, c, dy}, {dt}, {b, c}, {}};
  if (op.getPlaces())
    operands.rows.push_back({"places", &trace.operand(op.getPlaces())});
  operands.heads.push_back({"A_log", &trace.operand(op.getALog())});
  if (op.getD())
    operands.heads.push_back({"D", &trace.operand(op.getD())});
  if (op.getDtBias())
    operands.heads.push_back({"dt_bias", &trace.operand(op.getDtBias())});
  if (!beginScan(trace, operands))
    return;
  int64_t count = x.value->shape[1], length = lengthOf(*x.value);
  TracedValue zeros;
  zeros.shape = {x.value->shape[0], 1};
  NamedValue initial{"initial", &zeros}, dstate{"dstate", &zeros};
  if (op.getInitial())
    initial.value = &trace.operand(op.getInitial());
  if (op.getDstate())
    dstate.value = &trace.operand(op.getDstate());
  std::vector<std::vector<int64_t>> runs(trace.numRanks());
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    Digits own = checkScan(trace, operands, rank);
    checkSame(trace, x, 2, dy, 2, rank);
    checkSame(trace, x, 3, dy, 3, rank);
    checkState(trace, x, b, initial, rank);
    checkState(trace, x, b, dstate, rank);
    for (int64_t i = 0; i < x.value->shape[0]; ++i) {
      checkPrefix(trace, initial, rank, i, own.at[i * count], length,
                  /*mayBePlain=*/true);
      checkPrefix(trace, dstate, rank, i, own.at[(i + 1) * count - 1], length,
                  /*mayBePlain=*/true, /*isReverse=*/true);
      runs[rank].push_back(joinRuns(trace, coverOf(trace, dstate, rank, i),
                                    runOf(trace, own, i, count)));
    }
  }
  std::vector<int64_t> whole(trace.numRanks(), 0),
      terms = coversOfRows(trace, x);
  setSumLike(trace, 0, *x.value, whole);
  setSumLike(trace, 1, *dt.value, whole);
  setSumAlong(trace, 2, x, {2}, terms);
  setSumLike(trace, 3, *b.value, whole);
  setSumLike(trace, 4, *c.value, whole);
  setSumAlong(trace, 5, x, {2, 3}, terms);
  setSumAlong(trace, 6, x, {2}, terms);
  setSummary(trace, 7, {x, x, b}, {2, 3, 3}, runs);
}

} // namespace cp
