//===- Delta.cpp - The gated delta rule, its halves and its loops ---------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scan whose state a matrix carries on: its summaries are a matrix and a
// state, and it says itself how two of them become one.
//
//===----------------------------------------------------------------------===//

#include "Gated.h"
#include "GatedCalls.h"
#include "View.h"

using namespace mlir;

namespace gated {

//===----------------------------------------------------------------------===//
// How the op can be cut
//===----------------------------------------------------------------------===//

FailureOr<cp::ShardingRule> DeltaOp::getShardingRule() {
  StringRef text = getInitial() ? "b l h d; b l h d; b l h e; b l h; b l h; "
                                  "b h d e -> b l h e; b h d e"
                                : "b l h d; b l h d; b l h e; b l h; b l h "
                                  "-> b l h e; b h d e";
  return cp::ShardingRule::parse(text, *this);
}

cp::ScanSummary DeltaOp::summarize(OpBuilder &builder) {
  ArrayRef<int64_t> k = cast<RankedTensorType>(getK().getType()).getShape();
  ArrayRef<int64_t> v = cast<RankedTensorType>(getV().getType()).getShape();
  auto type = [&](int64_t columns) {
    return RankedTensorType::get({k[0], k[2], k[3], columns},
                                 builder.getF64Type());
  };
  auto op =
      DeltaSummaryOp::create(builder, getLoc(), type(k[3]), type(v[3]), getK(),
                             getV(), getGate(), getBeta(), getReverseAttr());
  return {{op.getMatrix(), op.getState()}, {}};
}

cp::CombineAttr DeltaOp::getCombine() {
  // Of each batch and head on its own.
  return cp::CombineAttr::get(getContext(), "gated_delta_combine",
                              /*batchDims=*/2);
}

Value DeltaOp::advance(OpBuilder &builder, ValueRange summary, Value before) {
  if (!before)
    return summary[1];
  return AdvanceOp::create(builder, getLoc(), summary[1].getType(), summary[0],
                           summary[1], before);
}

/// The rule from what the earlier ranks leave.
SmallVector<Value> DeltaOp::apply(OpBuilder &builder, const cp::ScanSummary &,
                                  const cp::ScanSummary &prefix) {
  Value incoming = advance(builder, prefix.values, getInitial());
  auto op = DeltaOp::create(builder, getLoc(), getO().getType(),
                            incoming.getType(), getQ(), getK(), getV(),
                            getGate(), getBeta(), incoming, getReverseAttr());
  return {op.getO(), Value()};
}

Value DeltaOp::getInitialState() { return getInitial(); }
Value DeltaOp::getFinalState() { return getFinal(); }
bool DeltaOp::isReverse() { return getReverse(); }

std::optional<cp::ScanAlgorithm> DeltaOp::getScanAlgorithm() {
  auto attr = (*this)->getAttrOfType<cp::ScanAlgorithmAttr>("algorithm");
  return attr ? std::optional(attr.getValue()) : std::nullopt;
}

void DeltaOp::setScanAlgorithm(cp::ScanAlgorithm algorithm) {
  (*this)->setAttr("algorithm",
                   cp::ScanAlgorithmAttr::get(getContext(), algorithm));
}

//===----------------------------------------------------------------------===//
// How ids of tokens pass through it
//===----------------------------------------------------------------------===//

/// What both the op and its first half check on a rank: gives the rows of k.
static cp::Digits checkTokens(cp::OpTrace &trace, const cp::NamedValue &k,
                              llvm::ArrayRef<cp::NamedValue> others,
                              int64_t rank) {
  int64_t length = cp::lengthOf(*k.value);
  cp::Digits rows = cp::rowsOf(trace, k, rank);
  cp::checkInOrder(trace, k.name, rank, rows, k.value->shape[0], length);
  for (const cp::NamedValue &other : others) {
    cp::checkSameRows(trace, k, other, rank, length);
    cp::checkSame(trace, k, 2, other, 2, rank);
  }
  return rows;
}

llvm::Error DeltaSummaryOp::trace(cp::OpTrace &trace) {
  cp::NamedValue k{"k", &trace.operand(getK())}, v{"v", &trace.operand(getV())};
  cp::NamedValue gate{"gate", &trace.operand(getGate())},
      beta{"beta", &trace.operand(getBeta())};
  std::vector<std::vector<int64_t>> runs(trace.numRanks());
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    cp::Digits rows = checkTokens(trace, k, {v, gate, beta}, rank);
    for (int64_t b = 0; b < k.value->shape[0]; ++b)
      runs[rank].push_back(cp::runOf(trace, rows, b, k.value->shape[1]));
  }
  cp::setSummary(trace, 0, {k, k, k}, {2, 3, 3}, runs);
  cp::setSummary(trace, 1, {k, k, v}, {2, 3, 3}, runs);
  return llvm::Error::success();
}

llvm::Error DeltaOp::trace(cp::OpTrace &trace) {
  cp::NamedValue q{"q", &trace.operand(getQ())}, k{"k", &trace.operand(getK())},
      v{"v", &trace.operand(getV())};
  cp::NamedValue gate{"gate", &trace.operand(getGate())},
      beta{"beta", &trace.operand(getBeta())};
  int64_t count = k.value->shape[1], length = cp::lengthOf(*k.value);
  std::vector<std::vector<int64_t>> runs(trace.numRanks());
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    cp::Digits rows = checkTokens(trace, k, {q, v, gate, beta}, rank);
    for (int64_t b = 0; b < k.value->shape[0]; ++b) {
      int64_t run = cp::runOf(trace, rows, b, count);
      int64_t edge = rows.at[getReverse() ? (b + 1) * count - 1 : b * count];
      std::optional<int64_t> before;
      if (Value initial = getInitial()) {
        cp::NamedValue state{"initial", &trace.operand(initial)};
        cp::checkPrefix(trace, state, rank, b, edge, length,
                        /*mayBePlain=*/true, getReverse());
        before = cp::coverOf(trace, state, rank, b);
      }
      runs[rank].push_back(cp::joinRuns(trace, before, run));
    }
  }
  cp::sameStructure(trace, 0, *v.value);
  cp::setSummary(trace, 1, {k, k, v}, {2, 3, 3}, runs);
  return llvm::Error::success();
}

/// The state in front of a sequence covers nothing of it, so what is made of it
/// and of a summary covers what the summary does.
llvm::Error AdvanceOp::trace(cp::OpTrace &trace) {
  cp::NamedValue matrix{"matrix", &trace.operand(getMatrix())},
      state{"state", &trace.operand(getState())};
  cp::checkPlain(trace, {"before", &trace.operand(getBefore())});
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank)
    for (int64_t b = 0; b < state.value->shape[0]; ++b)
      if (cp::coverOf(trace, matrix, rank, b) !=
          cp::coverOf(trace, state, rank, b))
        trace.report(rank, "matrix and state do not cover the same tokens");
  cp::sameStructure(trace, 0, *state.value);
  trace.result(0).covers = state.value->covers;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// What it does at run time
//===----------------------------------------------------------------------===//

StringRef DeltaOp::getRuntimeSymbol() { return "gated_delta"; }
StringRef DeltaSummaryOp::getRuntimeSymbol() { return "gated_delta_summary"; }
StringRef AdvanceOp::getRuntimeSymbol() { return "gated_advance"; }

namespace {
#define GET_KEYS
#define GET_WRITERS
#include "GatedWriters.inc"
} // namespace

void DeltaOp::getRuntimeCall(cp::RuntimeCall &call) {
  writeGatedDelta(*this, call);
}
void DeltaSummaryOp::getRuntimeCall(cp::RuntimeCall &call) {
  writeGatedDeltaSummary(*this, call);
}

namespace {

/// What a token does to the state of one batch and head.
struct Token {
  const View &k, &gate, &beta;
  int64_t b, l, h;

  /// g (I - beta k k^T) `state`, of so many columns.
  void carry(const View &state, int64_t columns) const {
    int64_t rows = k.sizes[3];
    for (int64_t column = 0; column < columns; ++column) {
      double along = 0;
      for (int64_t row = 0; row < rows; ++row)
        along += k.at(b, l, h, row) * state.at(b, h, row, column);
      for (int64_t row = 0; row < rows; ++row) {
        double &entry = state.at(b, h, row, column);
        entry = gate.at(b, l, h) *
                (entry - beta.at(b, l, h) * k.at(b, l, h, row) * along);
      }
    }
  }
  /// beta k v^T is added to it.
  void add(const View &state, const View &v) const {
    for (int64_t row = 0; row < k.sizes[3]; ++row)
      for (int64_t column = 0; column < v.sizes[3]; ++column)
        state.at(b, h, row, column) +=
            beta.at(b, l, h) * k.at(b, l, h, row) * v.at(b, l, h, column);
  }
};

/// Calls `body` for each token of each batch and head, in the direction.
template <typename Body>
void forEachToken(const View &k, const View &gate, const View &beta,
                  bool isReverse, Body body) {
  int64_t length = k.sizes[1];
  for (int64_t b = 0; b < k.sizes[0]; ++b)
    for (int64_t h = 0; h < k.sizes[2]; ++h)
      for (int64_t i = 0; i < length; ++i)
        body(Token{k, gate, beta, b, isReverse ? length - 1 - i : i, h});
}

/// Sets each [row, column] of each unit.
template <typename Value> void fill(const View &out, Value value) {
  for (int64_t b = 0; b < out.sizes[0]; ++b)
    for (int64_t h = 0; h < out.sizes[1]; ++h)
      for (int64_t row = 0; row < out.sizes[2]; ++row)
        for (int64_t column = 0; column < out.sizes[3]; ++column)
          out.at(b, h, row, column) = value(b, h, row, column);
}

void delta(cprt_context *context, cprt_stream *, const int64_t *desc,
           void *const *buffers) {
  gated_delta_call call;
  if (cprt_context_status(context) != CPRT_OK ||
      !gated_delta_read(context, desc, buffers, &call))
    return;
  View q = call.q, k = call.k, v = call.v, gate = call.gate, beta = call.beta;
  View initial = call.initial, o = call.o, state = call.state;
  fill(state, [&](auto... at) { return initial ? initial.at(at...) : 0.0; });
  forEachToken(k, gate, beta, call.reverse, [&](const Token &token) {
    token.carry(state, v.sizes[3]);
    token.add(state, v);
    auto [b, l, h] = std::tuple(token.b, token.l, token.h);
    for (int64_t column = 0; column < v.sizes[3]; ++column) {
      double sum = 0;
      for (int64_t row = 0; row < q.sizes[3]; ++row)
        sum += state.at(b, h, row, column) * q.at(b, l, h, row);
      o.at(b, l, h, column) = sum;
    }
  });
}

void deltaSummary(cprt_context *context, cprt_stream *, const int64_t *desc,
                  void *const *buffers) {
  gated_delta_summary_call call;
  if (cprt_context_status(context) != CPRT_OK ||
      !gated_delta_summary_read(context, desc, buffers, &call))
    return;
  View k = call.k, v = call.v, matrix = call.matrix, state = call.state;
  fill(matrix, [](int64_t, int64_t, int64_t row, int64_t column) {
    return double(row == column);
  });
  fill(state, [](auto...) { return 0.0; });
  forEachToken(k, call.gate, call.beta, call.reverse, [&](const Token &token) {
    token.carry(matrix, matrix.sizes[3]);
    token.carry(state, v.sizes[3]);
    token.add(state, v);
  });
}

/// One entry of `matrix` times `right`, behind the indices of a unit.
template <typename... Unit>
double product(const View &matrix, const View &right, int64_t inner,
               int64_t row, int64_t column, Unit... unit) {
  double sum = 0;
  for (int64_t i = 0; i < inner; ++i)
    sum += matrix.at(unit..., row, i) * right.at(unit..., i, column);
  return sum;
}

void advanceState(cprt_context *context, cprt_stream *, const int64_t *desc,
                  void *const *buffers) {
  gated_advance_call call;
  if (cprt_context_status(context) != CPRT_OK ||
      !gated_advance_read(context, desc, buffers, &call))
    return;
  View matrix = call.matrix, state = call.state, before = call.before;
  fill(call.after, [&](int64_t b, int64_t h, int64_t row, int64_t column) {
    return product(matrix, before, matrix.sizes[3], row, column, b, h) +
           state.at(b, h, row, column);
  });
}

/// See cprt_scan_state_with.
void combine(cprt_context *context, cprt_stream *, const int64_t *desc,
             void *const *buffers) {
  gated_delta_combine_call call;
  if (!gated_delta_combine_read(context, desc, buffers, &call))
    return;
  View first = call.matrix1, before = call.state1, second = call.matrix2,
       behind = call.state2, matrix = call.matrix, state = call.state;
  auto carried = [&](const View &left, int64_t unit, int64_t row,
                     int64_t column) {
    return product(second, left, matrix.sizes[2], row, column, unit);
  };
  for (int64_t unit = 0; unit < matrix.sizes[0]; ++unit)
    for (int64_t row = 0; row < matrix.sizes[1]; ++row) {
      for (int64_t column = 0; column < matrix.sizes[2]; ++column)
        matrix.at(unit, row, column) =
            second ? carried(first, unit, row, column) : double(row == column);
      for (int64_t column = 0; column < state.sizes[2]; ++column)
        state.at(unit, row, column) = second
                                          ? carried(before, unit, row, column) +
                                                behind.at(unit, row, column)
                                          : 0;
    }
}

} // namespace

std::vector<cp::RuntimeOperation> deltaOperations() {
  return {{"gated_delta", delta},
          {"gated_delta_summary", deltaSummary},
          {"gated_advance", advanceState},
          {"gated_delta_combine", combine}};
}

} // namespace gated
