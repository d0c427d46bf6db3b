//===- Gated.cpp - A recurrence, its halves and its loops -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gated.h"
#include "Frame.h"

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

//===----------------------------------------------------------------------===//
// What it does at run time
//===----------------------------------------------------------------------===//

StringRef RecurrenceOp::getRuntimeSymbol() { return "gated_recurrence"; }
StringRef SummaryOp::getRuntimeSymbol() { return "gated_summary"; }
StringRef WindowOp::getRuntimeSymbol() { return "gated_window"; }

void writeReverse(NamedAttrList &list, MLIRContext *context, bool value) {
  list.set("reverse", BoolAttr::get(context, value));
}
void RecurrenceOp::getRuntimeAttributes(NamedAttrList &list) {
  writeReverse(list, getContext(), getReverse());
}
void SummaryOp::getRuntimeAttributes(NamedAttrList &list) {
  writeReverse(list, getContext(), getReverse());
}
void WindowOp::getRuntimeAttributes(NamedAttrList &list) {
  writeReverse(list, getContext(), getReverse());
  list.set("rows", getRowsAttr());
}

namespace {

void recurrence(cprt_context *context, cprt_stream *, const int64_t *desc,
                void *const *buffers) {
  if (cprt_context_status(context) != CPRT_OK)
    return;
  Frame frame(desc, buffers);
  const View &gate = frame.views[0], &x = frame.views[1];
  const View &h = frame.views.back();
  bool hasInitial = desc[0] == 3, isReverse = frame.attributes[0];
  int64_t length = h.sizes[1];
  for (int64_t b = 0; b < h.sizes[0]; ++b)
    for (int64_t c = 0; c < h.sizes[2]; ++c) {
      double state = hasInitial ? frame.views[2].at(b, c) : 0;
      for (int64_t i = 0; i < length; ++i) {
        int64_t l = isReverse ? length - 1 - i : i;
        h.at(b, l, c) = state = gate.at(b, l, c) * state + x.at(b, l, c);
      }
    }
}

void summary(cprt_context *context, cprt_stream *, const int64_t *desc,
             void *const *buffers) {
  if (cprt_context_status(context) != CPRT_OK)
    return;
  Frame frame(desc, buffers);
  const View &gate = frame.views[0], &x = frame.views[1];
  bool isReverse = frame.attributes[0];
  int64_t length = x.sizes[1];
  for (int64_t b = 0; b < x.sizes[0]; ++b)
    for (int64_t c = 0; c < x.sizes[2]; ++c) {
      double product = 1, state = 0;
      for (int64_t i = 0; i < length; ++i) {
        int64_t l = isReverse ? length - 1 - i : i;
        product *= gate.at(b, l, c);
        state = gate.at(b, l, c) * state + x.at(b, l, c);
      }
      frame.views[2].at(b, c) = product;
      frame.views[3].at(b, c) = state;
    }
}

void window(cprt_context *context, cprt_stream *, const int64_t *desc,
            void *const *buffers) {
  if (cprt_context_status(context) != CPRT_OK)
    return;
  Frame frame(desc, buffers);
  const View &x = frame.views[0], &y = frame.views.back();
  bool hasInitial = desc[0] == 2, isReverse = frame.attributes[0];
  int64_t rows = frame.attributes[1], length = x.sizes[1];
  // Rows before the first are the last of the initial ones; in reverse those
  // behind the last are the first of them.
  auto rowAt = [&](int64_t b, int64_t l, int64_t c) {
    if (l >= 0 && l < length)
      return x.at(b, l, c);
    if (!hasInitial)
      return 0.0;
    return frame.views[1].at(b, isReverse ? l - length : rows + l, c);
  };
  for (int64_t b = 0; b < x.sizes[0]; ++b)
    for (int64_t l = 0; l < length; ++l)
      for (int64_t c = 0; c < x.sizes[2]; ++c) {
        double sum = 0;
        for (int64_t k = 0; k <= rows; ++k)
          sum += double(k + 1) * rowAt(b, isReverse ? l + k : l - k, c);
        y.at(b, l, c) = sum;
      }
}

} // namespace

std::vector<cp::RuntimeOperation> runtimeOperations() {
  std::vector<cp::RuntimeOperation> operations = deltaOperations();
  operations.insert(operations.end(), {{"gated_recurrence", recurrence},
                                       {"gated_summary", summary},
                                       {"gated_window", window}});
  return operations;
}

} // namespace gated
