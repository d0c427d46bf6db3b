//===- TraceWindow.cpp - Windows on ids -------------------------*- C++ -*-===//
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

void OpTrace::checkWindow(const NamedValue &x, const TracedValue *initial,
                          int64_t before, int64_t rank, const Digits &own) {
  int64_t length = lengthOf(*x.value), count = x.value->shape[1];
  for (int64_t i = 0; i < x.value->shape[0] * before; ++i) {
    int64_t first = own.at[i / before * count], row = i % before;
    if (first < 0)
      continue;
    int64_t want = first % length - before + row;
    WindowRow got;
    if (initial)
      got = windowRow(*initial, rank, i, before, length, /*isFront=*/want < 0);
    bool isToken =
        got.kind == WindowRow::Token && got.number == first - before + row;
    bool isFront = got.kind == WindowRow::Zeros ||
                   (got.kind == WindowRow::Front && got.number == want);
    if (got.kind == WindowRow::Unknown || (want >= 0 ? isToken : isFront))
      continue;
    WindowRow right{want >= 0 ? WindowRow::Token : WindowRow::Front, want};
    return report(rank, "initial: row " + std::to_string(row) + " holds " +
                            textOf(got, length) + " where it should hold " +
                            textOf(right, length) + ", as x begins at token " +
                            std::to_string(first % length));
  }
}

void OpTrace::conv1d() {
  auto conv = cast<Conv1dOp>(op);
  NamedValue x{"x", &operand(conv.getX())};
  checkPlain(x);
  sameStructure(0, *x.value);
  if (!x.value->space)
    return;
  int64_t before = conv.getWindowRows(), length = lengthOf(*x.value);
  const TracedValue *initial =
      conv.getInitial() ? &operand(conv.getInitial()) : nullptr;
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    checkSame(x, 2, {"weight", &operand(conv.getWeight())}, 0, rank);
    if (conv.getBias())
      checkSame(x, 2, {"bias", &operand(conv.getBias())}, 0, rank);
    if (before == 0)
      continue;
    Digits own = rows(x, rank);
    checkInOrder("x", rank, own, x.value->shape[0], length);
    if (initial)
      checkSame(x, 2, {"initial", initial}, 2, rank);
    checkWindow(x, initial, before, rank, own);
  }
}

} // namespace cp
