//===- Gated.cpp - A recurrence, its halves and its loops -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gated.h"
#include "GatedCalls.h"
#include "View.h"

using namespace mlir;

#include "GatedDialect.cpp.inc"
#define GET_OP_CLASSES
#include "GatedOps.cpp.inc"

namespace gated {

void GatedDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "GatedOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// How the op can be cut
//===----------------------------------------------------------------------===//

FailureOr<cp::ShardingRule> RecurrenceOp::getShardingRule() {
  return cp::ShardingRule::parse(getInitial() ? "b l c; b l c; b c -> b l c"
                                              : "b l c; b l c -> b l c",
                                 *this);
}

bool RecurrenceOp::isReverse() { return getReverse(); }

cp::ScanSummary RecurrenceOp::summarize(OpBuilder &builder) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(getX().getType()).getShape();
  auto summary =
      RankedTensorType::get({shape[0], shape[2]}, builder.getF64Type());
  auto op = SummaryOp::create(builder, getLoc(), summary, summary, getGate(),
                              getX(), getReverseAttr());
  return {{op.getDecay(), op.getState()}, {}};
}

/// The recurrence from what the earlier ranks leave.
SmallVector<Value> RecurrenceOp::apply(OpBuilder &builder,
                                       const cp::ScanSummary &own,
                                       const cp::ScanSummary &prefix) {
  Value incoming = advance(builder, prefix.values, getInitial());
  return {RecurrenceOp::create(builder, getLoc(), getH().getType(), getGate(),
                               getX(), incoming, getReverseAttr())};
}

std::optional<cp::ScanAlgorithm> RecurrenceOp::getScanAlgorithm() {
  auto attr = (*this)->getAttrOfType<cp::ScanAlgorithmAttr>("algorithm");
  return attr ? std::optional(attr.getValue()) : std::nullopt;
}

void RecurrenceOp::setScanAlgorithm(cp::ScanAlgorithm algorithm) {
  (*this)->setAttr("algorithm",
                   cp::ScanAlgorithmAttr::get(getContext(), algorithm));
}

FailureOr<cp::ShardingRule> WindowOp::getShardingRule() {
  return cp::ShardingRule::parse(
      getInitial() ? "b l c; b . c -> b l c" : "b l c -> b l c", *this);
}

int64_t WindowOp::getWindowRows() { return getRows(); }
bool WindowOp::isReverse() { return getReverse(); }
Value WindowOp::getInitialRows() { return getInitial(); }
void WindowOp::setInitialRows(Value rows) { getInitialMutable().assign(rows); }

FailureOr<cp::ShardingRule> ShiftOp::getShardingRule() {
  return cp::ShardingRule::parse(
      getInitial() ? "b l c; b . c -> b l c" : "b l c -> b l c", *this);
}

int64_t ShiftOp::getWindowRows() { return 1; }
bool ShiftOp::isReverse() { return getReverse(); }
Value ShiftOp::getInitialRows() { return getInitial(); }
void ShiftOp::setInitialRows(Value rows) { getInitialMutable().assign(rows); }

//===----------------------------------------------------------------------===//
// What it does at run time
//===----------------------------------------------------------------------===//

StringRef RecurrenceOp::getRuntimeSymbol() { return "gated_recurrence"; }
StringRef SummaryOp::getRuntimeSymbol() { return "gated_summary"; }
StringRef WindowOp::getRuntimeSymbol() { return "gated_window"; }
StringRef ShiftOp::getRuntimeSymbol() { return "gated_shift"; }

namespace {
#define GET_KEYS
#define GET_WRITERS
#include "GatedWriters.inc"
} // namespace

void RecurrenceOp::getRuntimeCall(cp::RuntimeCall &call) {
  writeGatedRecurrence(*this, call);
}
void SummaryOp::getRuntimeCall(cp::RuntimeCall &call) {
  writeGatedSummary(*this, call);
}
void WindowOp::getRuntimeCall(cp::RuntimeCall &call) {
  writeGatedWindow(*this, call);
}
void ShiftOp::getRuntimeCall(cp::RuntimeCall &call) {
  writeGatedShift(*this, call);
}

namespace {

void recurrence(cprt_context *context, cprt_stream *, const int64_t *desc,
                void *const *buffers) {
  gated_recurrence_call call;
  if (cprt_context_status(context) != CPRT_OK ||
      !gated_recurrence_read(context, desc, buffers, &call))
    return;
  View gate = call.gate, x = call.x, h = call.h, initial = call.initial;
  int64_t length = h.sizes[1];
  for (int64_t b = 0; b < h.sizes[0]; ++b)
    for (int64_t c = 0; c < h.sizes[2]; ++c) {
      double state = initial ? initial.at(b, c) : 0;
      for (int64_t i = 0; i < length; ++i) {
        int64_t l = call.reverse ? length - 1 - i : i;
        h.at(b, l, c) = state = gate.at(b, l, c) * state + x.at(b, l, c);
      }
    }
}

void summary(cprt_context *context, cprt_stream *, const int64_t *desc,
             void *const *buffers) {
  gated_summary_call call;
  if (cprt_context_status(context) != CPRT_OK ||
      !gated_summary_read(context, desc, buffers, &call))
    return;
  View gate = call.gate, x = call.x, decay = call.decay, last = call.state;
  int64_t length = x.sizes[1];
  for (int64_t b = 0; b < x.sizes[0]; ++b)
    for (int64_t c = 0; c < x.sizes[2]; ++c) {
      double product = 1, state = 0;
      for (int64_t i = 0; i < length; ++i) {
        int64_t l = call.reverse ? length - 1 - i : i;
        product *= gate.at(b, l, c);
        state = gate.at(b, l, c) * state + x.at(b, l, c);
      }
      decay.at(b, c) = product;
      last.at(b, c) = state;
    }
}

void window(cprt_context *context, cprt_stream *, const int64_t *desc,
            void *const *buffers) {
  gated_window_call call;
  if (cprt_context_status(context) != CPRT_OK ||
      !gated_window_read(context, desc, buffers, &call))
    return;
  View x = call.x, y = call.y, initial = call.initial;
  int64_t rows = call.rows, length = x.sizes[1];
  // Rows before the first are the last of the initial ones; in reverse those
  // behind the last are the first of them.
  auto rowAt = [&](int64_t b, int64_t l, int64_t c) {
    if (l >= 0 && l < length)
      return x.at(b, l, c);
    if (!initial)
      return 0.0;
    return initial.at(b, call.reverse ? l - length : rows + l, c);
  };
  for (int64_t b = 0; b < x.sizes[0]; ++b)
    for (int64_t l = 0; l < length; ++l)
      for (int64_t c = 0; c < x.sizes[2]; ++c) {
        double sum = 0;
        for (int64_t k = 0; k <= rows; ++k)
          sum += double(k + 1) * rowAt(b, call.reverse ? l + k : l - k, c);
        y.at(b, l, c) = sum;
      }
}

void shift(cprt_context *context, cprt_stream *, const int64_t *desc,
           void *const *buffers) {
  gated_shift_call call;
  if (cprt_context_status(context) != CPRT_OK ||
      !gated_shift_read(context, desc, buffers, &call))
    return;
  View x = call.x, y = call.y, initial = call.initial;
  int64_t length = x.sizes[1];
  for (int64_t b = 0; b < x.sizes[0]; ++b)
    for (int64_t l = 0; l < length; ++l)
      for (int64_t c = 0; c < x.sizes[2]; ++c) {
        int64_t from = call.reverse ? l + 1 : l - 1;
        bool isThere = from >= 0 && from < length;
        y.at(b, l, c) = isThere   ? x.at(b, from, c)
                        : initial ? initial.at(b, 0, c)
                                  : 0;
      }
}

} // namespace

std::vector<cp::RuntimeOperation> runtimeOperations() {
  std::vector<cp::RuntimeOperation> operations = deltaOperations();
  operations.insert(operations.end(), {{"gated_recurrence", recurrence},
                                       {"gated_summary", summary},
                                       {"gated_window", window},
                                       {"gated_shift", shift}});
  return operations;
}

} // namespace gated
