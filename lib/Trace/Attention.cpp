//===- Attention.cpp - Attention on ids -------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gradients.h"
#include "Models.h"
#include "cp/Trace/Rows.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace cp {

namespace {

/// How an attention op says that its rows are cut.
struct RowCuts {
  Mesh mesh;
  /// None where all of a sequence is here.
  std::vector<Cut> queries, keys;
  std::string text;
};

template <typename OpTy> RowCuts rowCutsOf(OpTy op, bool keysToo) {
  RowCuts rowCuts;
  rowCuts.mesh = op.getMesh().toMesh();
  rowCuts.queries = op.toCuts();
  for (const Cut &cut : rowCuts.queries)
    rowCuts.text += (rowCuts.text.empty() ? "\"" : ", \"") +
                    rowCuts.mesh.axes[cut.axis].name + "\" " +
                    orderName(cut.order);
  if (keysToo)
    rowCuts.keys = rowCuts.queries;
  return rowCuts;
}

/// That row i of `name` is the token that has its place there.
std::optional<std::string> misplacedRow(const Digits &rows,
                                        const std::vector<Cut> &cuts,
                                        const RowCuts &rowCuts, int64_t rank,
                                        int64_t count, int64_t length) {
  for (int64_t i = 0; i < static_cast<int64_t>(rows.at.size()); ++i) {
    if (rows.at[i] < 0)
      continue;
    int64_t want = globalIndex(rowCuts.mesh, cuts, length, rank, i % count);
    if (rows.at[i] % length == want)
      continue;
    return "row " + std::to_string(i % count) + " holds token " +
           std::to_string(rows.at[i] % length) +
           " where it should hold token " + std::to_string(want) +
           (cuts.empty() ? ", as all rows are here"
                         : ", as the sequence is cut over " + rowCuts.text);
  }
  return std::nullopt;
}

RowCuts rowCutsOf(Operation *op) {
  if (auto cut = dyn_cast<AttentionRowsOp>(op))
    return rowCutsOf(cut, /*keysToo=*/false);
  if (auto ring = dyn_cast<RingAttentionOp>(op))
    return rowCutsOf(ring, /*keysToo=*/true);
  if (auto grad = dyn_cast<RingAttentionGradOp>(op))
    return rowCutsOf(grad, /*keysToo=*/true);
  return {};
}

/// The operand that says where rows stand in their own sequences.
Value ownPlacesOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<AttentionOp, AttentionRowsOp, RingAttentionOp, AttentionGradOp,
            RingAttentionGradOp>(
          [](auto attention) { return attention.getPlaces(); })
      .Default(Value());
}

bool isCausal(Operation *op) {
  auto causal = op->getAttrOfType<BoolAttr>("causal");
  return !causal || causal.getValue();
}

} // namespace

static int64_t ranksOf(const std::vector<Cut> &cuts, const Mesh &mesh) {
  std::vector<int> axes;
  for (const Cut &cut : cuts)
    axes.push_back(cut.axis);
  return mesh.groupSize(axes);
}

/// Of places that count in documents, the elements of the batch that a rank
/// has: those that its documents are of.
static std::vector<int64_t> batchOf(OpTrace &trace, Value documents,
                                    int64_t rank, int64_t &size) {
  size = 1;
  if (!documents)
    return {0};
  Digits rows = digitsAlong(
      trace.operand(documents), rank, 0, 0, [&](int64_t, int64_t, int64_t) {
        trace.report(rank, "documents: a list is of several elements of the "
                           "batch");
      });
  size = rows.size;
  return rows.at;
}

/// Each place is the token there: what meets it must be that token's.
template <typename Op>
static void tracePlaces(OpTrace &trace, Op op, const RowCuts &rowCuts) {
  TracedValue &value = trace.result(0);
  Value documents = op.getDocuments();
  if (documents && !trace.operand(documents).space)
    return trace.setUnknown();
  int64_t count = value.shape.back();
  int64_t length = count * ranksOf(rowCuts.queries, rowCuts.mesh);
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    auto ids = std::make_shared<Words>();
    int64_t size = 0;
    for (int64_t row : batchOf(trace, documents, rank, size))
      for (int64_t i = 0; i < count; ++i)
        ids->push_back(
            row * length + 1 +
            globalIndex(rowCuts.mesh, rowCuts.queries, length, rank, i));
    value.ids.push_back(std::move(ids));
    if (rank == 0)
      value.space = std::make_shared<IdSpace>(
          documents ? IdSpace::of({size, length}) : IdSpace::of({length}));
  }
}

void tracePositions(OpTrace &trace, Operation *op) {
  if (auto cut = dyn_cast<CutPositionsOp>(op))
    tracePlaces(trace, cut, rowCutsOf(cut, /*keysToo=*/false));
  else
    tracePlaces(trace, cast<PositionsOp>(op), {});
}

/// That all rows of a sequence are there and, if that counts, in order.
static void checkRows(OpTrace &trace, const NamedValue &value, int64_t rank,
                      const RowCuts &rowCuts, const std::vector<Cut> &cuts,
                      bool inOrder) {
  int64_t length = lengthOf(*value.value), count = value.value->shape[1];
  int64_t all = count * ranksOf(cuts, rowCuts.mesh);
  if (all != length)
    return trace.report(rank, value.name + ": the ranks of the op hold " +
                                  std::to_string(all) + " rows of " +
                                  std::to_string(length));
  std::vector<int64_t> here;
  llvm::copy_if(rowsOf(trace, value, rank).at, std::back_inserter(here),
                [](int64_t row) { return row >= 0; });
  if (!intervalsOf(here))
    return trace.report(rank, value.name + ": holds a token twice");
  if (!inOrder)
    return;
  if (auto wrong = misplacedRow(rowsOf(trace, value, rank), cuts, rowCuts, rank,
                                count, length))
    trace.report(rank, value.name + ": " + *wrong);
}

/// Rows and heads of q, channels of v; the sums of exponents without these.
static void setAttended(OpTrace &trace, const NamedValue &q,
                        const NamedValue &v) {
  const IdSpace &own = *q.value->space;
  int64_t channels = v.value->space->wholeSize(3), heads = own.wholeSize(2);
  int64_t length = own.wholeSize(1), count = q.value->shape[1];
  TracedValue &out = trace.result(0), &sums = trace.result(1);
  IdSpace space{{}, own.sizesBetween(own.strides[0], own.strides[2])};
  space.sizes.append({heads, channels});
  for (size_t dim = 0; dim < 4; ++dim)
    space.strides.push_back(own.strides[dim] / own.strides[3] * channels);
  space.strides.push_back(1);
  out.space = std::make_shared<IdSpace>(space);
  sums.space =
      std::make_shared<IdSpace>(IdSpace::of({own.wholeSize(0), heads, length}));
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    Digits row = rowsOf(trace, q, rank), head = digitsOf(trace, q, rank, 2, 2),
           channel = digitsOf(trace, v, rank, 3, 3);
    auto outs = std::make_shared<Words>(), lse = std::make_shared<Words>();
    for (int64_t r : row.at)
      for (int64_t h : head.at)
        for (int64_t c : channel.at)
          outs->push_back(r < 0 || h < 0 || c < 0
                              ? unknownId
                              : (r * heads + h) * channels + c + 1);
    for (int64_t b = 0; b < q.value->shape[0]; ++b)
      for (int64_t h : head.at)
        for (int64_t i = 0; i < count; ++i) {
          int64_t r = row.at[b * count + i];
          int64_t at = (r / length * heads + h) * length + r % length;
          lse->push_back(r < 0 || h < 0 ? unknownId : at + 1);
        }
    out.ids.push_back(std::move(outs));
    sums.ids.push_back(std::move(lse));
  }
}

namespace {
/// What attention and its adjoint have in common.
struct AttentionOperands {
  NamedValue q, k, v;
  /// Where queries stand, if the op is told that by a tensor.
  Value positions;
};
} // namespace

/// False, with unknown results, without ids.
static bool checkAttention(OpTrace &trace, Operation *op,
                           const AttentionOperands &operands) {
  auto &[q, k, v, positions] = operands;
  if (!q.value->space || !k.value->space || !v.value->space) {
    trace.setUnknown();
    return false;
  }
  RowCuts rowCuts = rowCutsOf(op);
  bool causal = isCausal(op);
  for (const NamedValue &value : {q, k, v})
    checkPlain(trace, value);
  Value ownPlaces = ownPlacesOf(op);
  for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
    checkSameRows(trace, k, v, rank, lengthOf(*k.value));
    checkGroups(trace, q, k, 2, rank);
    checkSame(trace, k, 2, v, 2, rank);
    checkSame(trace, q, 3, k, 3, rank);
    if (ownPlaces)
      checkSameRows(trace, q, {"places", &trace.operand(ownPlaces)}, rank,
                    lengthOf(*q.value));
    checkRows(trace, k, rank, rowCuts, rowCuts.keys, causal);
    if (positions)
      checkSame(trace, q, 1, {"positions", &trace.operand(positions)}, 0, rank);
    // Where all keys are seen, queries may come from anywhere.
    else if (causal)
      checkRows(trace, q, rank, rowCuts, rowCuts.queries, causal);
  }
  return true;
}

void traceAttention(OpTrace &trace, Operation *op) {
  NamedValue q{"q", &trace.operand(0u)}, k{"k", &trace.operand(1u)},
      v{"v", &trace.operand(2u)};
  if (checkAttention(trace, op, {q, k, v, Value()}))
    setAttended(trace, q, v);
}

/// Where keys are whole and queries are not, dk and dv are sums over these.
void traceAttentionGrad(OpTrace &trace, Operation *op) {
  NamedValue q{"q", &trace.operand(0u)}, k{"k", &trace.operand(1u)},
      v{"v", &trace.operand(2u)}, out{"out", &trace.operand(3u)},
      dout{"dout", &trace.operand(5u)};
  auto grad = dyn_cast<AttentionGradOp>(op);
  if (!checkAttention(trace, op,
                      {q, k, v, grad ? grad.getPositions() : Value()}))
    return;
  for (const NamedValue &value : {out, dout}) {
    checkPlain(trace, value);
    for (int64_t rank = 0; rank < trace.numRanks(); ++rank) {
      checkSameRows(trace, q, value, rank, lengthOf(*q.value));
      checkSame(trace, q, 2, value, 2, rank);
      checkSame(trace, v, 3, value, 3, rank);
    }
  }
  std::vector<int64_t> whole(trace.numRanks(), 0);
  setSumLike(trace, 0, *q.value, whole);
  std::vector<int64_t> terms =
      grad ? coversOfRows(trace, q, Rows::OfEach) : whole;
  setSumLike(trace, 1, *k.value, terms);
  setSumLike(trace, 2, *v.value, terms);
}

} // namespace cp
