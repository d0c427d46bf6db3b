//===- TraceSequence.cpp - Windows and scans on ids -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tracer.h"

using namespace mlir;

namespace cp {
namespace {

/// A row of what a window op reads before its own: zeros, a row of the sequence
/// (batch element times length plus token), or one in front of it (-1 is the
/// last).
struct WindowRow {
  enum Kind { Zeros, Token, Front, Unknown } kind = Zeros;
  int64_t number = 0;
};

/// Row `row` of all batch elements' rows of `initial`. Where a sequence has as
/// many rows as stand in front of it, a row may be of either: `isFront`
/// decides.
WindowRow windowRow(const TracedValue &initial, int64_t rank, int64_t row,
                    int64_t before, int64_t length, bool isFront) {
  if (!initial.space)
    return {};
  Plane plane = initial.idsOf(rank);
  int64_t channels = initial.shape[2];
  int64_t stride = initial.space->strides[2];
  SmallVector<int64_t> sizes =
      initial.space->sizesBetween(initial.space->strides[0], stride);
  bool hasTokens = !sizes.empty() && sizes.back() == length &&
                   !(isFront && length == before);
  for (int64_t c = 0; c < channels; ++c) {
    int64_t word = (*plane)[row * channels + c];
    if (word == unknownId)
      return {WindowRow::Unknown, 0};
    if (word == noId)
      continue;
    int64_t number = ((word & ~initialTag) - 1) / stride;
    if ((word & initialTag) || !hasTokens)
      return {WindowRow::Front, number % before - before};
    return {WindowRow::Token, number};
  }
  return {};
}

std::string textOf(const WindowRow &row, int64_t length) {
  switch (row.kind) {
  case WindowRow::Zeros:
    return "zeros";
  case WindowRow::Token:
    return "token " + std::to_string(row.number % length);
  case WindowRow::Front:
    return "the row " + std::to_string(-row.number) +
           " before the sequence's first";
  case WindowRow::Unknown:
    break;
  }
  return "something unknown";
}

} // namespace

void OpTrace::conv1d() {
  auto conv = cast<Conv1dOp>(op);
  NamedValue x{"x", &operand(conv.getX())};
  NamedValue weight{"weight", &operand(conv.getWeight())};
  checkPlain(x);
  sameStructure(0, *x.value);
  if (!x.value->space)
    return;
  int64_t before = conv.getWindowRows(), length = lengthOf(*x.value);
  int64_t batches = x.value->shape[0], count = x.value->shape[1];
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    checkSame(x, 2, weight, 0, rank);
    if (conv.getBias())
      checkSame(x, 2, {"bias", &operand(conv.getBias())}, 0, rank);
    Digits own = rows(x, rank);
    if (before == 0 || count == 0)
      continue;
    checkInOrder("x", rank, own, batches, length);
    const TracedValue *initial =
        conv.getInitial() ? &operand(conv.getInitial()) : nullptr;
    if (initial && initial->space)
      checkSame(x, 2, {"initial", initial}, 2, rank);
    bool said = false;
    for (int64_t i = 0; i < batches * before && !said; ++i) {
      int64_t first = own.at[i / before * count], row = i % before;
      if (first < 0)
        continue;
      int64_t want = first % length - before + row;
      WindowRow got = initial ? windowRow(*initial, rank, i, before, length,
                                          /*isFront=*/want < 0)
                              : WindowRow();
      bool fits = got.kind == WindowRow::Unknown ||
                  (want >= 0 ? got.kind == WindowRow::Token &&
                                   got.number == first - before + row
                             : got.kind == WindowRow::Zeros ||
                                   (got.kind == WindowRow::Front &&
                                    got.number == want));
      if (fits)
        continue;
      said = true;
      WindowRow right{want >= 0 ? WindowRow::Token : WindowRow::Front, want};
      report(rank, "initial: row " + std::to_string(row) + " holds " +
                       textOf(got, length) + " where it should hold " +
                       textOf(right, length) + ", as x begins at token " +
                       std::to_string(first % length));
    }
  }
}

void OpTrace::setSummary(unsigned number, std::vector<NamedValue> parts,
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
    Digits own = rows(x, rank);
    SmallVector<Digits> rest;
    for (auto [part, dim] : llvm::zip(parts, dims))
      rest.push_back(along(part, rank, dim, dim));
    auto ids = std::make_shared<Words>(value.numElements());
    auto marks = std::make_shared<Words>(value.numElements());
    for (size_t e = 0; e < ids->size(); ++e) {
      int64_t index = static_cast<int64_t>(e), at = 0;
      bool known = true;
      for (size_t dim = dims.size(); dim > 0; --dim) {
        int64_t local = index % value.shape[dim];
        index /= value.shape[dim];
        int64_t digit = rest[dim - 1].at[local];
        known &= digit != Digits::unknown;
        at += (digit >= 0 ? digit : local) * value.space->strides[dim + 1];
      }
      int64_t row = own.at[index * count];
      known &= row >= 0;
      at += row / length * value.space->strides[1];
      (*ids)[e] = known ? at + 1 : unknownId;
      (*marks)[e] = coversByRank[rank][index];
    }
    value.ids.push_back(ids);
    value.covers.push_back(marks);
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

void OpTrace::ssdStates() {
  auto states = cast<SsdStatesOp>(op);
  NamedValue x{"x", &operand(states.getX())};
  NamedValue dt{"dt", &operand(states.getDt())};
  NamedValue b{"B", &operand(states.getB())};
  if (!x.value->space)
    return setUnknown();
  for (const NamedValue &value : {x, dt, b})
    checkPlain(value);
  int64_t batches = x.value->shape[0], count = x.value->shape[1];
  int64_t length = lengthOf(*x.value);
  std::vector<std::vector<int64_t>> runs(numRanks());
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    Digits own = rows(x, rank);
    checkInOrder("x", rank, own, batches, length);
    checkSameRows(x, dt, rank, length);
    checkSameRows(x, b, rank, length);
    checkSame(x, 2, dt, 2, rank);
    checkSame(x, 2, {"A_log", &operand(states.getALog())}, 0, rank);
    if (states.getDtBias())
      checkSame(x, 2, {"dt_bias", &operand(states.getDtBias())}, 0, rank);
    checkGroups(x, b, 2, rank);
    for (int64_t i = 0; i < batches; ++i)
      runs[rank].push_back(count ? *runOf(own, i, count) : unknownId);
  }
  setSummary(0, {x}, {2}, runs);
  setSummary(1, {x, x, b}, {2, 3, 3}, runs);
  // The kept values stand for the same rows; inside of them they have no order
  // that could be lost.
  for (unsigned i = 2; i < 5; ++i) {
    TracedValue &kept = result(i);
    kept.space = std::make_shared<IdSpace>(IdSpace::of(kept.shape));
    for (int64_t rank = 0; rank < numRanks(); ++rank) {
      auto ids = std::make_shared<Words>(kept.numElements());
      auto marks = std::make_shared<Words>(kept.numElements());
      for (size_t e = 0; e < ids->size(); ++e) {
        (*ids)[e] = static_cast<int64_t>(e) + 1;
        (*marks)[e] = runs[rank][e * batches / ids->size()];
      }
      kept.ids.push_back(ids);
      kept.covers.push_back(marks);
    }
  }
}

void OpTrace::ssdScan() {
  auto scan = cast<SsdScanOp>(op);
  NamedValue x{"x", &operand(scan.getX())};
  NamedValue b{"B", &operand(scan.getB())}, c{"C", &operand(scan.getC())};
  NamedValue decay{"prefix_decay", &operand(scan.getPrefixDecay())};
  NamedValue state{"prefix_state", &operand(scan.getPrefixState())};
  if (!x.value->space)
    return setUnknown();
  for (const NamedValue &value : {x, b, c})
    checkPlain(value);
  int64_t batches = x.value->shape[0], count = x.value->shape[1];
  int64_t length = lengthOf(*x.value);
  std::vector<std::vector<int64_t>> runs(numRanks());
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    Digits own = rows(x, rank);
    checkInOrder("x", rank, own, batches, length);
    checkSameRows(x, b, rank, length);
    checkSameRows(x, c, rank, length);
    checkGroups(x, b, 2, rank);
    checkGroups(x, c, 2, rank);
    if (scan.getD())
      checkSame(x, 2, {"D", &operand(scan.getD())}, 0, rank);
    checkSame(b, 3, c, 3, rank);
    checkSame(x, 2, decay, 1, rank);
    checkState(x, b, state, rank);
    if (scan.getInitial())
      checkState(x, b, {"initial", &operand(scan.getInitial())}, rank);
    for (int64_t i = 0; i < batches && count; ++i) {
      int64_t first = own.at[i * count];
      checkPrefix(decay, rank, i, first, length, /*mayBePlain=*/false);
      checkPrefix(state, rank, i, first, length, /*mayBePlain=*/false);
      std::optional<int64_t> run = runOf(own, i, count);
      NamedValue kept{"the kept values", &operand(scan.getLogDecay())};
      std::optional<int64_t> word = coverOf(kept, rank, i);
      if (run != unknownId && word.value_or(0) > 0 && word != run)
        report(rank, "the kept values are of tokens " +
                         textOf(tracer.covers[*word].intervals, length) +
                         ", but x holds tokens " +
                         textOf(tracer.covers[*run].intervals, length));
      int64_t whole =
          first < 0
              ? unknownId
              : tracer.covers.wordOf({true,
                                      0,
                                      {{first / length * length,
                                        own.at[(i + 1) * count - 1] + 1}}});
      runs[rank].push_back(whole);
    }
    runs[rank].resize(batches, unknownId);
  }
  sameStructure(0, *x.value);
  setSummary(1, {x, x, b}, {2, 3, 3}, runs);
}

void OpTrace::ssd() {
  auto scan = cast<SsdOp>(op);
  NamedValue x{"x", &operand(scan.getX())};
  NamedValue dt{"dt", &operand(scan.getDt())};
  NamedValue b{"B", &operand(scan.getB())}, c{"C", &operand(scan.getC())};
  if (!x.value->space)
    return setUnknown();
  for (const NamedValue &value : {x, dt, b, c})
    checkPlain(value);
  int64_t batches = x.value->shape[0], count = x.value->shape[1];
  int64_t length = lengthOf(*x.value);
  std::vector<std::vector<int64_t>> runs(numRanks());
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    Digits own = rows(x, rank);
    checkInOrder("x", rank, own, batches, length);
    for (const NamedValue &other : {dt, b, c})
      checkSameRows(x, other, rank, length);
    checkSame(x, 2, dt, 2, rank);
    checkSame(x, 2, {"A_log", &operand(scan.getALog())}, 0, rank);
    if (scan.getD())
      checkSame(x, 2, {"D", &operand(scan.getD())}, 0, rank);
    if (scan.getDtBias())
      checkSame(x, 2, {"dt_bias", &operand(scan.getDtBias())}, 0, rank);
    checkGroups(x, b, 2, rank);
    checkGroups(x, c, 2, rank);
    TracedValue zeros;
    zeros.shape = {batches, 1};
    NamedValue initial{"initial", &zeros};
    if (scan.getInitial())
      initial.value = &operand(scan.getInitial());
    checkSame(b, 3, c, 3, rank);
    checkState(x, b, initial, rank);
    for (int64_t i = 0; i < batches && count; ++i) {
      int64_t first = own.at[i * count];
      if (!scan.getY().use_empty())
        checkPrefix(initial, rank, i, first, length, /*mayBePlain=*/true);
      // The final state has gone over what it started from, and these rows.
      std::optional<int64_t> before = coverOf(initial, rank, i);
      std::optional<int64_t> run = runOf(own, i, count);
      if (before == unknownId || run == unknownId) {
        runs[rank].push_back(unknownId);
        continue;
      }
      std::vector<std::pair<int64_t, int64_t>> all =
          tracer.covers[*run].intervals;
      if (before.value_or(0) > 0)
        llvm::append_range(all, tracer.covers[*before].intervals);
      auto sum = joined(all);
      runs[rank].push_back(sum ? tracer.covers.wordOf({true, 0, *sum})
                               : unknownId);
    }
    runs[rank].resize(batches, unknownId);
  }
  sameStructure(0, *x.value);
  setSummary(1, {x, x, b}, {2, 3, 3}, runs);
}

} // namespace cp
