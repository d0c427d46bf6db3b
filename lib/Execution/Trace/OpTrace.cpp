//===- OpTrace.cpp - What all traced ops ask --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tracer.h"

#include "cp/Transforms/SourcePlace.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace cp {

OpTrace::OpTrace(Tracer &tracer, Operation *op) : tracer(tracer), op(op) {}

std::vector<std::vector<int64_t>> groupsOf(Operation *op) {
  auto group = cast<GroupOpInterface>(op);
  Mesh mesh = group.getMesh().toMesh();
  std::vector<int> axes = axisPositions(group.getMesh(), group.getAxes());
  std::vector<std::vector<int64_t>> groups;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    groups.push_back(mesh.group(rank, axes));
  return groups;
}

/// "cp.ssd (layer 3, model.mlir:13:10)".
static std::string describe(Operation *op, const Layers &layers) {
  std::string text = op->getName().getStringRef().str() + " (";
  std::string layer = layers.of(op);
  if (layer != "-")
    text += (llvm::isDigit(layer.front()) ? "layer " : "") + layer + ", ";
  std::string place = sourcePlace(op->getLoc());
  return text + (place == "-" ? "no location" : place) + ")";
}

Plane idsFrom(const TracedValue &value, ArrayRef<Digits> digits) {
  auto words = std::make_shared<Words>(value.numElements());
  for (size_t e = 0; e < words->size(); ++e) {
    int64_t rest = static_cast<int64_t>(e), at = 0;
    bool isKnown = true;
    for (size_t dim = value.shape.size(); dim-- > 0;) {
      int64_t local = rest % value.shape[dim];
      rest /= value.shape[dim];
      int64_t digit = digits[dim].at[local];
      isKnown &= digit != Digits::unknown;
      at += (digit >= 0 ? digit : local) * value.space->strides[dim + 1];
    }
    (*words)[e] = isKnown ? at + 1 : unknownId;
  }
  return words;
}

void OpTrace::report(int64_t rank, const std::string &what) {
  std::string where = describe(op, tracer.layers);
  std::vector<TokenFinding> &findings = tracer.trace.findings;
  if (!findings.empty() && findings.back().where == where)
    ++findings.back().more;
  else
    findings.push_back({where, rank, what, 0});
}

const TracedValue &OpTrace::operand(Value value) const {
  return tracer.of(value);
}

TracedValue &OpTrace::result(unsigned number) {
  TracedValue &value = tracer.of(op->getResult(number));
  auto type = dyn_cast<RankedTensorType>(op->getResult(number).getType());
  if (type && value.shape.empty())
    value.shape.assign(type.getShape().begin(), type.getShape().end());
  return value;
}

bool OpTrace::anyUnknown() const {
  return llvm::any_of(op->getOperands(),
                      [&](Value value) { return operand(value).isUnknown; });
}

Digits OpTrace::along(const NamedValue &named, int64_t rank, size_t first,
                      size_t last) {
  int64_t count = 1;
  for (size_t dim = first; dim <= last; ++dim)
    count *= named.value->shape[dim];
  if (!named.value->space)
    return {std::vector<int64_t>(count, Digits::none), 0};
  return digitsAlong(
      *named.value, rank, first, last,
      [&](int64_t index, int64_t digit, int64_t other) {
        report(rank, named.name + ": index " + std::to_string(index) +
                         " of dimension " + std::to_string(last) +
                         " holds elements of " + std::to_string(digit) +
                         " beside elements of " + std::to_string(other));
      });
}

Digits OpTrace::rows(const NamedValue &named, int64_t rank) {
  return along(named, rank, 0, 1);
}

int64_t OpTrace::lengthOf(const TracedValue &value) {
  if (!value.space)
    return 0;
  const IdSpace &space = *value.space;
  SmallVector<int64_t> sizes =
      space.sizesBetween(space.strides[0], space.strides[2]);
  return sizes.empty() ? 1 : sizes.back();
}

void OpTrace::checkInOrder(const std::string &name, int64_t rank,
                           const Digits &rows, int64_t batch, int64_t length) {
  int64_t count =
      static_cast<int64_t>(rows.at.size()) / std::max<int64_t>(batch, 1);
  for (int64_t i = 0; i < static_cast<int64_t>(rows.at.size()); ++i) {
    int64_t row = rows.at[i];
    if (i % count == 0 || row < 0 || rows.at[i - 1] < 0)
      continue;
    int64_t before = rows.at[i - 1];
    if (row == before + 1 && row % length != 0)
      continue;
    report(rank, name + ": row " + std::to_string(i % count) + " holds token " +
                     std::to_string(row % length) +
                     " where it should hold token " +
                     std::to_string(before % length + 1) +
                     ", the one after the row before it");
    return;
  }
}

void OpTrace::checkSameRows(const NamedValue &first, const NamedValue &other,
                            int64_t rank, int64_t length) {
  Digits a = rows(first, rank), b = rows(other, rank);
  int64_t count = other.value->shape[1];
  for (size_t i = 0; i < b.at.size() && i < a.at.size(); ++i) {
    if (a.at[i] < 0 || b.at[i] < 0 || a.at[i] == b.at[i])
      continue;
    report(rank, other.name + ": row " + std::to_string(i % count) +
                     " holds token " + std::to_string(b.at[i] % length) +
                     " where it should hold token " +
                     std::to_string(a.at[i] % length) + ", as " + first.name +
                     " does");
    return;
  }
}

void OpTrace::checkSame(const NamedValue &first, size_t firstDim,
                        const NamedValue &other, size_t otherDim,
                        int64_t rank) {
  Digits a = along(first, rank, firstDim, firstDim);
  Digits b = along(other, rank, otherDim, otherDim);
  for (size_t i = 0; i < b.at.size() && i < a.at.size(); ++i) {
    if (a.at[i] < 0 || b.at[i] < 0 || a.at[i] == b.at[i])
      continue;
    report(rank, other.name + ": index " + std::to_string(i) +
                     " of dimension " + std::to_string(otherDim) + " holds " +
                     std::to_string(b.at[i]) + " where it should hold " +
                     std::to_string(a.at[i]) + ", as dimension " +
                     std::to_string(firstDim) + " of " + first.name + " does");
    return;
  }
}

void OpTrace::checkGroups(const NamedValue &heads, const NamedValue &groups,
                          size_t dim, int64_t rank) {
  Digits a = along(heads, rank, dim, dim), b = along(groups, rank, dim, dim);
  int64_t count = static_cast<int64_t>(a.at.size());
  int64_t slots = static_cast<int64_t>(b.at.size());
  for (int64_t i = 0; i < count; ++i) {
    int64_t slot = i * slots / count;
    if (a.at[i] < 0 || b.at[slot] < 0)
      continue;
    int64_t want = a.at[i] * b.size / a.size;
    if (b.at[slot] == want)
      continue;
    report(rank, groups.name + ": index " + std::to_string(slot) +
                     " of dimension " + std::to_string(dim) + " holds group " +
                     std::to_string(b.at[slot]) +
                     " where it should hold group " + std::to_string(want) +
                     ", that of head " + std::to_string(a.at[i]) + " of " +
                     heads.name);
    return;
  }
}

bool OpTrace::checkPlain(const NamedValue &named) {
  if (named.value->covers.empty())
    return true;
  for (int64_t rank = 0; rank < numRanks(); ++rank)
    for (int64_t word : *named.value->coversOf(rank)) {
      if (word == 0)
        continue;
      if (word < 0)
        return false;
      const Cover &cover = tracer.covers[word];
      report(rank,
             cover.isRun
                 ? named.name + ": holds a state where it should hold a value"
                 : named.name + ": is a sum over " + textOf(cover.intervals) +
                       " of " + std::to_string(cover.size) +
                       " terms only; add it up over the ranks first");
      return false;
    }
  return true;
}

std::optional<int64_t> OpTrace::coverOf(const NamedValue &named, int64_t rank,
                                        int64_t batch) {
  Plane covers = named.value->coversOf(rank), ids = named.value->idsOf(rank);
  int64_t count = named.value->numElements() / named.value->numBatches();
  std::optional<int64_t> found;
  for (int64_t i = batch * count; i < (batch + 1) * count; ++i) {
    if ((*ids)[i] == noId && (*covers)[i] == 0)
      continue;
    if ((*covers)[i] == unknownId)
      return unknownId;
    if (found && *found != (*covers)[i]) {
      report(rank, named.name + ": its elements do not cover the same tokens");
      return unknownId;
    }
    found = (*covers)[i];
  }
  return found;
}

int64_t OpTrace::runOf(const Digits &rows, int64_t batch, int64_t count) {
  int64_t first = rows.at[batch * count];
  int64_t last = rows.at[(batch + 1) * count - 1];
  if (first < 0 || last < first)
    return unknownId;
  return tracer.covers.wordOf({true, 0, {{first, last + 1}}});
}

void OpTrace::checkPrefix(const NamedValue &state, int64_t rank, int64_t batch,
                          int64_t row, int64_t length, bool mayBePlain) {
  if (row < 0)
    return;
  int64_t start = row / length * length;
  std::optional<int64_t> word = coverOf(state, rank, batch);
  if (word == unknownId)
    return;
  std::vector<std::pair<int64_t, int64_t>> want, got;
  if (row > start)
    want.push_back({start, row});
  if (word.value_or(0) > 0)
    got = tracer.covers[*word].intervals;
  else if (word && !mayBePlain)
    return report(rank, state.name + ": holds a value where it should hold a "
                                     "state");
  if (got == want)
    return;
  report(rank, state.name + ": covers " + (got.empty() ? "" : "tokens ") +
                   textOf(got, length) + " where it should cover " +
                   (want.empty() ? "" : "tokens ") + textOf(want, length) +
                   ", all before the first row's");
}

void OpTrace::sameStructure(unsigned number, const TracedValue &source) {
  TracedValue &value = result(number);
  value.space = source.space;
  value.ids = source.ids;
}

} // namespace cp
