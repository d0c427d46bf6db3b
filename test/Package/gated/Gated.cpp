//===- Gated.cpp - A recurrence, its halves and its loops -----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gated.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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

cp::SequenceKind RecurrenceOp::getSequenceKind() {
  return cp::SequenceKind::Scan;
}

cp::ScanSummary RecurrenceOp::summarize(OpBuilder &builder) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(getX().getType()).getShape();
  auto summary =
      RankedTensorType::get({shape[0], shape[2]}, builder.getF64Type());
  auto op =
      SummaryOp::create(builder, getLoc(), summary, summary, getGate(), getX());
  return {op.getDecay(), op.getState(), {}};
}

/// The recurrence from what the earlier ranks leave.
SmallVector<Value> RecurrenceOp::apply(OpBuilder &builder,
                                       const cp::ScanSummary &own,
                                       const cp::ScanSummary &prefix) {
  Value incoming = prefix.state;
  if (Value initial = getInitial()) {
    Value decayed =
        arith::MulFOp::create(builder, getLoc(), prefix.decay, initial);
    incoming = arith::AddFOp::create(builder, getLoc(), decayed, incoming);
  }
  return {RecurrenceOp::create(builder, getLoc(), getH().getType(), getGate(),
                               getX(), incoming)};
}

std::optional<cp::ScanAlgorithm> RecurrenceOp::getScanAlgorithm() {
  auto attr = (*this)->getAttrOfType<cp::ScanAlgorithmAttr>("algorithm");
  return attr ? std::optional(attr.getValue()) : std::nullopt;
}

void RecurrenceOp::setScanAlgorithm(cp::ScanAlgorithm algorithm) {
  (*this)->setAttr("algorithm",
                   cp::ScanAlgorithmAttr::get(getContext(), algorithm));
}

//===----------------------------------------------------------------------===//
// What it does at run time
//===----------------------------------------------------------------------===//

StringRef RecurrenceOp::getRuntimeSymbol() { return "gated_recurrence"; }
StringRef SummaryOp::getRuntimeSymbol() { return "gated_summary"; }

namespace {

/// One buffer of a call; see cprt_op in cprt.h.
struct View {
  double *data;
  const int64_t *sizes, *strides;

  double &at(int64_t b, int64_t l, int64_t c) const {
    return data[b * strides[0] + l * strides[1] + c * strides[2]];
  }
  double &at(int64_t b, int64_t c) const {
    return data[b * strides[0] + c * strides[1]];
  }
};

std::vector<View> viewsOf(const int64_t *desc, void *const *buffers) {
  std::vector<View> views;
  const int64_t *word = desc + 4;
  for (int64_t i = 0; i < desc[0] + desc[1]; ++i) {
    int64_t rank = word[1];
    views.push_back(
        {static_cast<double *>(buffers[i]), word + 2, word + 2 + rank});
    word += 2 + 2 * rank;
  }
  return views;
}

void recurrence(cprt_context *context, cprt_stream *, const int64_t *desc,
                void *const *buffers) {
  if (cprt_context_status(context) != CPRT_OK)
    return;
  std::vector<View> views = viewsOf(desc, buffers);
  const View &gate = views[0], &x = views[1], &h = views.back();
  bool hasInitial = desc[0] == 3;
  for (int64_t b = 0; b < h.sizes[0]; ++b)
    for (int64_t c = 0; c < h.sizes[2]; ++c) {
      double state = hasInitial ? views[2].at(b, c) : 0;
      for (int64_t l = 0; l < h.sizes[1]; ++l)
        h.at(b, l, c) = state = gate.at(b, l, c) * state + x.at(b, l, c);
    }
}

void summary(cprt_context *context, cprt_stream *, const int64_t *desc,
             void *const *buffers) {
  if (cprt_context_status(context) != CPRT_OK)
    return;
  std::vector<View> views = viewsOf(desc, buffers);
  const View &gate = views[0], &x = views[1];
  for (int64_t b = 0; b < x.sizes[0]; ++b)
    for (int64_t c = 0; c < x.sizes[2]; ++c) {
      double product = 1, state = 0;
      for (int64_t l = 0; l < x.sizes[1]; ++l) {
        product *= gate.at(b, l, c);
        state = gate.at(b, l, c) * state + x.at(b, l, c);
      }
      views[2].at(b, c) = product;
      views[3].at(b, c) = state;
    }
}

} // namespace

std::vector<cp::RuntimeOperation> runtimeOperations() {
  return {{"gated_recurrence", recurrence}, {"gated_summary", summary}};
}

} // namespace gated
