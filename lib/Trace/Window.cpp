//===- Window.cpp - Windows on ids ------------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gradients.h"
#include "Models.h"
#include "Rules.h"
#include "cp/Trace/Rows.h"

using namespace mlir;

namespace cp {
namespace {

/// A row of what a window op reads beside its own: zeros, a row of the sequence
/// (batch element times length plus token), or one outside of it, by the token
/// that it would be (-1 is the last before the first).
struct WindowRow {
  enum Kind { Zeros, Token, Outside, Unknown } kind = Zeros;
  int64_t number = 0;
  /// Of a row outside: whose sequence it is beside.
  int64_t batch = 0;
};

/// What a window op reads.
struct Window {
  NamedValue x;
  /// Null for zeros.
  const TracedValue *initial;
  /// How many rows beside its own, and whether behind it.
  int64_t rows;
  bool isReverse;
  /// Of the sequence.
  int64_t length;
};

/// Of a value `[b, l, ...]`.
int64_t elementsOfRow(const TracedValue &value) {
  int64_t elements = 1;
  for (int64_t size : ArrayRef(value.shape).drop_front(2))
    elements *= size;
  return elements;
}

/// Row `row` of all batch elements' rows of `initial`. Where a sequence has as
/// many rows as stand outside of it, a row may be of either: `isOutside`
/// decides.
WindowRow windowRow(const Window &window, int64_t rank, int64_t row,
                    bool isOutside) {
  if (!window.initial || !window.initial->space)
    return {};
  const TracedValue &initial = *window.initial;
  Plane plane = initial.idsOf(rank);
  int64_t channels = elementsOfRow(initial);
  int64_t stride = initial.space->strides[2];
  SmallVector<int64_t> sizes =
      initial.space->sizesBetween(initial.space->strides[0], stride);
  bool hasTokens = !sizes.empty() && sizes.back() == window.length &&
                   !(isOutside && window.length == window.rows);
  for (int64_t c = 0; c < channels; ++c) {
    int64_t word = (*plane)[row * channels + c];
    if (word == unknownId)
      return {WindowRow::Unknown, 0};
    if (word == noId)
      continue;
    int64_t number = ((word & ~initialTag) - 1) / stride;
    if ((word & initialTag) || !hasTokens)
      return {WindowRow::Outside,
              number % window.rows +
                  (window.isReverse ? window.length : -window.rows),
              number / window.rows};
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
  case WindowRow::Outside:
    return row.number < 0
               ? "the row " + std::to_string(-row.number) +
                     " before the sequence's first"
               : "the row " + std::to_string(row.number - length + 1) +
                     " behind the sequence's last";
  case WindowRow::Unknown:
    break;
  }
  return "something unknown";
}

/// That the rows which the op reads beside its own are those.
void checkWindow(OpTrace &trace, const Window &window, int64_t rank,
                 const Digits &own) {
  int64_t length = window.length, count = window.x.value->shape[1];
  for (int64_t i = 0; i < window.x.value->shape[0] * window.rows; ++i) {
    int64_t part = i / window.rows, row = i % window.rows;
    int64_t edge =
        own.at[window.isReverse ? (part + 1) * count - 1 : part * count];
    if (edge < 0)
      continue;
    // From its edge on, by the token and by the row.
    int64_t step = window.isReverse ? row + 1 : row - window.rows;
    int64_t want = edge % length + step;
    bool isOutside = want < 0 || want >= length;
    WindowRow got = windowRow(window, rank, i, isOutside);
    bool isToken = got.kind == WindowRow::Token && got.number == edge + step;
    bool isOfRow = got.kind == WindowRow::Outside && got.number == want;
    bool isRight =
        got.kind == WindowRow::Zeros || (isOfRow && got.batch == edge / length);
    if (got.kind == WindowRow::Unknown || (isOutside ? isRight : isToken))
      continue;
    if (isOutside && isOfRow)
      return trace.report(
          rank, "initial: row " + std::to_string(row) +
                    " is of batch element " + std::to_string(got.batch) +
                    " where it should be of " + std::to_string(edge / length));
    WindowRow right{isOutside ? WindowRow::Outside : WindowRow::Token, want,
                    edge / length};
    return trace.report(rank, "initial: row " + std::to_string(row) +
                                  " holds " + textOf(got, length) +
                                  " where it should hold " +
                                  textOf(right, length) + ", as x " +
                                  (window.isReverse ? "ends" : "begins") +
                                  " at token " + std::to_string(edge % length));
  }
}

/// What an operand is called in a finding.
std::string nameOf(Operation *op, unsigned number) {
  Value operand = op->getOperand(number);
  if (auto conv = dyn_cast<Conv1dOp>(op)) {
    if (operand == conv.getWeight())
      return "weight";
    if (operand == conv.getBias())
      return "bias";
    if (operand == conv.getPlaces())
      return "places";
  }
  return "operand " + std::to_string(number);
}

/// That elements meet their own in all operands, as the op's rule says: rows in
/// those that have them, and what other dimensions hold.
void checkMeeting(OpTrace &trace, WindowOpInterface op, const Window &window,
                  const Correspondence &found, int64_t rank) {
  OpOperand &read = op.getWindowOperand();
  ArrayRef<int64_t> indices = found.operands[read.getOperandNumber()];
  for (OpOperand &operand : op->getOpOperands()) {
    if (&operand == &read || operand.get() == op.getInitialRows())
      continue;
    NamedValue other{nameOf(op, operand.getOperandNumber()),
                     &trace.operand(operand.get())};
    ArrayRef<int64_t> others = found.operands[operand.getOperandNumber()];
    if (others.take_front(2) == indices.take_front(2))
      checkSameRows(trace, window.x, other, rank, window.length);
    for (auto [dim, index] : llvm::enumerate(others))
      for (size_t own = 2; own < indices.size(); ++own)
        if (index >= 0 && indices[own] == index)
          checkSame(trace, window.x, own, other, dim, rank);
  }
}

} // namespace

void traceWindow(OpTrace &trace, WindowOpInterface op) {
  FailureOr<Correspondence> found = correspondenceOf(op);
  NamedValue x{"x", &trace.operand(op.getWindowOperand().get())};
  bool hasRows = x.value->shape.size() >= 2 && op->getNumResults() == 1 &&
                 trace.result(0).shape == x.value->shape;
  if (failed(found) || !hasRows)
    return trace.giveUp();
  checkPlain(trace, x);
  sameStructure(trace, 0, *x.value);
  if (!x.value->space)
    return;
  Value initial = op.getInitialRows();
  Window window{x, initial ? &trace.operand(initial) : nullptr,
                op.getWindowRows(), op.isReverse(), lengthOf(*x.value)};
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    checkMeeting(trace, op, window, *found, rank);
    if (window.rows == 0)
      continue;
    Digits own = rowsOf(trace, x, rank);
    checkInOrder(trace, "x", rank, own, x.value->shape[0], window.length);
    for (size_t dim = 2; initial && dim < x.value->shape.size(); ++dim)
      checkSame(trace, x, dim, {"initial", window.initial}, dim, rank);
    checkWindow(trace, window, rank, own);
  }
}

/// The cotangents of the rows before each part's own, which they are of. Rows
/// before the first of a sequence have no number.
static void setBefore(OpTrace &trace, unsigned number, const Window &window) {
  TracedValue &value = trace.result(number);
  const IdSpace &space = *window.x.value->space;
  value.space = window.x.value->space;
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    Digits own = rowsOf(trace, window.x, rank),
           channel = digitsOf(trace, window.x, rank, 2, 2);
    auto words = std::make_shared<Words>();
    for (int64_t part = 0; part < value.shape[0]; ++part) {
      int64_t edge = own.at[part * window.x.value->shape[1]];
      for (int64_t step = -window.rows; step < 0; ++step)
        for (int64_t c : channel.at) {
          bool isToken =
              edge >= 0 && c >= 0 && edge % window.length + step >= 0;
          words->push_back(isToken ? (edge + step) * space.strides[2] +
                                         c * space.strides[3] + 1
                                   : unknownId);
        }
    }
    value.ids.push_back(std::move(words));
  }
}

void traceConv1dGrad(OpTrace &trace, Conv1dGradOp op) {
  NamedValue x{"x", &trace.operand(op.getX())},
      weight{"weight", &trace.operand(op.getWeight())},
      dy{"dy", &trace.operand(op.getDy())};
  if (!x.value->space)
    return trace.setUnknown();
  checkPlain(trace, x);
  checkPlain(trace, dy);
  Window window{x, op.getInitial() ? &trace.operand(op.getInitial()) : nullptr,
                weight.value->shape[1] - 1, /*isReverse=*/false,
                lengthOf(*x.value)};
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    checkSameRows(trace, x, dy, rank, window.length);
    checkSame(trace, x, 2, dy, 2, rank);
    checkSame(trace, x, 2, weight, 0, rank);
    if (op.getBias())
      checkSame(trace, x, 2, {"bias", &trace.operand(op.getBias())}, 0, rank);
    if (op.getPlaces())
      checkSameRows(trace, x, {"places", &trace.operand(op.getPlaces())}, rank,
                    window.length);
    Digits own = rowsOf(trace, x, rank);
    checkInOrder(trace, "x", rank, own, x.value->shape[0], window.length);
    if (window.initial)
      checkSame(trace, x, 2, {"initial", window.initial}, 2, rank);
    if (window.rows > 0)
      checkWindow(trace, window, rank, own);
  }
  std::vector<int64_t> whole(trace.numRanks(), 0),
      terms = coversOfRows(trace, x);
  setSumLike(trace, 0, *x.value, whole);
  setSumLike(trace, 1, *weight.value, terms);
  if (op.getBias())
    setSumLike(trace, 2, trace.operand(op.getBias()), terms);
  else
    setSumAlong(trace, 2, x, {2}, terms);
  setBefore(trace, 3, window);
  for (unsigned number : {0, 3})
    trace.result(number).hasRows = true;
}

} // namespace cp
