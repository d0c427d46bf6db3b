//===- TraceAttention.cpp - Attention on ids --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tracer.h"

using namespace mlir;

namespace cp {
namespace {

/// What an attention op says of the places of its rows.
struct Places {
  Mesh mesh;
  /// None where all of a sequence is here.
  std::vector<Cut> queries, keys;
  std::string text;
};

template <typename OpTy> Places placesOf(OpTy op, bool keysToo) {
  Places places;
  places.mesh = op.getMesh().toMesh();
  for (auto [i, name] :
       llvm::enumerate(op.getAxes().template getAsRange<StringAttr>())) {
    Cut cut;
    cut.axis = places.mesh.findAxis(name.getValue().str());
    if (op.getZigzag() && (*op.getZigzag())[i])
      cut.order = Order::Zigzag;
    if (op.getStriped() && (*op.getStriped())[i] > 0) {
      cut.order = Order::Striped;
      cut.unit = (*op.getStriped())[i];
    }
    places.queries.push_back(cut);
    places.text += (places.text.empty() ? "" : ", ") + std::string("\"") +
                   name.str() + "\" " + orderName(cut.order);
  }
  if (keysToo)
    places.keys = places.queries;
  return places;
}

} // namespace

/// That row i of `name` is the token that has its place there.
static std::optional<std::string> misplacedRow(const Digits &rows,
                                               const std::vector<Cut> &cuts,
                                               const Places &places,
                                               int64_t rank, int64_t count,
                                               int64_t length) {
  for (int64_t i = 0; i < static_cast<int64_t>(rows.at.size()); ++i) {
    if (rows.at[i] < 0)
      continue;
    int64_t want = globalIndex(places.mesh, cuts, length, rank, i % count);
    if (rows.at[i] % length == want)
      continue;
    return "row " + std::to_string(i % count) + " holds token " +
           std::to_string(rows.at[i] % length) +
           " where it should hold token " + std::to_string(want) +
           (cuts.empty() ? ", as all rows are here"
                         : ", as the sequence is cut over " + places.text);
  }
  return std::nullopt;
}

void OpTrace::attention() {
  NamedValue q{"q", &operand(0u)}, k{"k", &operand(1u)}, v{"v", &operand(2u)};
  if (!q.value->space || !k.value->space || !v.value->space)
    return setUnknown();
  Places places;
  bool causal = true;
  if (auto whole = dyn_cast<AttentionOp>(op)) {
    causal = whole.getCausal();
  } else if (auto cut = dyn_cast<AttentionRowsOp>(op)) {
    causal = cut.getCausal();
    places = placesOf(cut, /*keysToo=*/false);
  } else if (auto ring = dyn_cast<RingAttentionOp>(op)) {
    causal = ring.getCausal();
    places = placesOf(ring, /*keysToo=*/true);
  }
  int64_t queries = lengthOf(*q.value), keys = lengthOf(*k.value);
  std::vector<int> axes;
  for (const Cut &cut : places.keys)
    axes.push_back(cut.axis);
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    checkSameRows(k, v, rank, keys);
    checkGroups(q, k, 2, rank);
    checkSame(k, 2, v, 2, rank);
    checkSame(q, 3, k, 3, rank);
    Digits ownQueries = rows(q, rank), ownKeys = rows(k, rank);
    int64_t queryCount = q.value->shape[1], keyCount = k.value->shape[1];
    int64_t parts = places.mesh.groupSize(axes);
    if (keyCount * parts != keys)
      report(rank, "k: the ranks together hold " +
                       std::to_string(keyCount * parts) + " rows of " +
                       std::to_string(keys));
    else if (auto wrong = misplacedRow(ownKeys, places.keys, places, rank,
                                       keyCount, keys);
             wrong && causal)
      report(rank, "k: " + *wrong);
    std::vector<int> queryAxes;
    for (const Cut &cut : places.queries)
      queryAxes.push_back(cut.axis);
    if (!causal)
      continue;
    if (queryCount * places.mesh.groupSize(queryAxes) != queries)
      report(rank,
             "q: row 0 is taken for token 0 of " +
                 std::to_string(queryCount * places.mesh.groupSize(queryAxes)) +
                 ", but the sequence has " + std::to_string(queries));
    else if (auto wrong = misplacedRow(ownQueries, places.queries, places, rank,
                                       queryCount, queries))
      report(rank, "q: " + *wrong);
  }
  for (const NamedValue &value : {q, k, v})
    checkPlain(value);
  // Rows and heads of q, channels of v; the sums of exponents without these.
  const IdSpace &own = *q.value->space, &other = *v.value->space;
  int64_t channels = other.wholeSize(3), heads = own.wholeSize(2);
  TracedValue &out = result(0), &sums = result(1);
  IdSpace space{{}, own.sizesBetween(own.strides[0], own.strides[2])};
  space.sizes.append({heads, channels});
  for (size_t dim = 0; dim < 4; ++dim)
    space.strides.push_back(own.strides[dim] / own.strides[3] * channels);
  space.strides.push_back(1);
  out.space = std::make_shared<IdSpace>(space);
  sums.space = std::make_shared<IdSpace>(
      IdSpace::of({own.wholeSize(0), heads, own.wholeSize(1)}));
  for (int64_t rank = 0; rank < numRanks(); ++rank) {
    Digits row = rows(q, rank), head = along(q, rank, 2, 2),
           channel = along(v, rank, 3, 3);
    auto outs = std::make_shared<Words>(), lse = std::make_shared<Words>();
    int64_t count = q.value->shape[1];
    for (int64_t r : row.at)
      for (int64_t h : head.at)
        for (int64_t c : channel.at)
          outs->push_back(r < 0 || h < 0 || c < 0
                              ? unknownId
                              : (r * heads + h) * channels + c + 1);
    for (int64_t b = 0; b < q.value->shape[0]; ++b)
      for (int64_t h : head.at)
        for (int64_t i = 0; i < count; ++i) {
          int64_t r = row.at[b * count + i], length = own.wholeSize(1);
          lse->push_back(r < 0 || h < 0 ? unknownId
                                        : (r / length * heads + h) * length +
                                              r % length + 1);
        }
    out.ids.push_back(outs);
    sums.ids.push_back(lse);
  }
}

} // namespace cp
