//===- ExplainLayers.cpp - Decisions layer by layer -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Compile/Decisions.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

namespace cp {

static auto keyOf(const ExplainedMove &move) {
  return std::tie(move.op, move.from, move.to, move.why);
}
static auto keyOf(const ExplainedRefusal &refusal) {
  return std::tie(refusal.op, refusal.layout, refusal.why, refusal.instead);
}

bool operator==(const ExplainedMove &a, const ExplainedMove &b) {
  return keyOf(a) == keyOf(b) && a.calls == b.calls &&
         a.bytesByRank == b.bytesByRank;
}
bool operator==(const ExplainedRefusal &a, const ExplainedRefusal &b) {
  return keyOf(a) == keyOf(b) && a.calls == b.calls;
}

namespace {

/// The model's order: embedding, layers, head, all gradients, what belongs to
/// none.
int64_t orderOf(const std::string &layer) {
  if (layer == "embedding")
    return -1;
  int64_t number;
  if (!llvm::StringRef(layer).getAsInteger(10, number))
    return number;
  if (layer == "head")
    return INT64_MAX - 2;
  return layer == "gradients" ? INT64_MAX - 1 : INT64_MAX;
}

/// The row of that key, which is new if there is none.
template <typename RowTy>
RowTy &rowOf(std::vector<RowTy> &rows, const RowTy &key) {
  for (RowTy &row : rows)
    if (keyOf(row) == keyOf(key))
      return row;
  return rows.emplace_back(key);
}

void addMove(const Decision &decision, int64_t ranks, ExplainedLayers &layer) {
  ExplainedMove &row = rowOf<ExplainedMove>(
      layer.moves, {decision.name, decision.text("from"), decision.text("to"),
                    decision.text("why"), 0, std::vector<int64_t>(ranks)});
  ++row.calls;
  for (auto [sum, more] :
       llvm::zip_equal(row.bytesByRank, decision.bytesByRank(ranks)))
    sum += more;
}

/// Heads that the ranks do not divide, in the same table.
void addHeads(const Decision &decision, ExplainedLayers &layer) {
  ++rowOf<ExplainedRefusal>(
        layer.refusals,
        {decision.text("op"), decision.text("heads") + " heads",
         decision.text("ranks") + " ranks do not divide them",
         decision.text("of_zeros") + " of zeros behind them", 0})
        .calls;
}

/// So are tokens.
void addLength(const Decision &decision, ExplainedLayers &layer) {
  ++rowOf<ExplainedRefusal>(
        layer.refusals,
        {"sequence", decision.text("tokens") + " tokens",
         decision.text("ranks") + " ranks do not divide them",
         decision.text("of_padding") + " of padding behind them", 0})
        .calls;
}

void addRefusal(const Decision &decision, ExplainedLayers &layer) {
  if (decision.name == "heads")
    return addHeads(decision, layer);
  if (decision.name == "length")
    return addLength(decision, layer);
  std::string why = "operand " + decision.text("operand") + ", dimension " +
                    decision.text("dim") + ": " + decision.text("why");
  ++rowOf<ExplainedRefusal>(layer.refusals,
                            {decision.text("op"), decision.text("layout"), why,
                             decision.text("instead"), 0})
        .calls;
}

bool sendsNothing(const ExplainedMove &move) {
  return llvm::all_of(move.bytesByRank,
                      [](int64_t bytes) { return bytes == 0; });
}

/// Whether the rows are the same, in any order.
template <typename RowTy>
bool sameRows(const std::vector<RowTy> &a, const std::vector<RowTy> &b) {
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end());
}

} // namespace

std::vector<ExplainedLayers> explainLayers(llvm::ArrayRef<Decision> decisions,
                                           int64_t ranks) {
  std::map<int64_t, ExplainedLayers> byOrder;
  for (const Decision &decision : decisions) {
    bool isMove = decision.category == "collective" && decision.name != "total";
    if (!isMove && decision.category != "cut")
      continue;
    std::string layer = decision.text("layer");
    ExplainedLayers &entry = byOrder[orderOf(layer)];
    entry.layers = {layer};
    isMove ? addMove(decision, ranks, entry) : addRefusal(decision, entry);
  }
  std::vector<ExplainedLayers> result;
  for (auto &[order, entry] : byOrder) {
    // Slices of parameters are many and send nothing: they come last.
    std::stable_partition(entry.moves.begin(), entry.moves.end(),
                          [](const auto &move) { return !sendsNothing(move); });
    auto alike = llvm::find_if(result, [&, &entry = entry](const auto &known) {
      return sameRows(known.moves, entry.moves) &&
             sameRows(known.refusals, entry.refusals);
    });
    if (alike == result.end())
      result.push_back(std::move(entry));
    else
      alike->layers.push_back(entry.layers.front());
  }
  return result;
}

} // namespace cp
