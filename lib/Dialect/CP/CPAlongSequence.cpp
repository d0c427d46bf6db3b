//===- CPAlongSequence.cpp - What goes from part to part --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyUtils.h"
#include "cp/IR/CPDialect.h"
#include "cp/Layout/Saturating.h"

using namespace mlir;

namespace cp {
namespace {

int64_t bytesOf(Value value) {
  int64_t bytes = elementBytes(value.getType());
  for (int64_t size : shapeOf(value))
    bytes = multiplySaturating(bytes, size);
  return bytes;
}

/// The parts of a sequence along which a scan and a halo go, numbered in their
/// direction.
class SequenceParts {
public:
  template <typename OpTy>
  SequenceParts(OpTy op, bool isReverse)
      : cut(jointCut(op.toCuts())), size(op.getGroupSize()),
        perPosition(*partsPerRank(cut)), isReverse(isReverse) {}

  /// How many parts a position has, and all positions together.
  int64_t each() const { return perPosition; }
  int64_t count() const { return perPosition * size; }
  SmallVector<int64_t, 2> of(int64_t position) const {
    SmallVector<int64_t, 2> parts;
    CutRuns runs = runsOf(cut, size, position, count());
    for (int64_t local = 0; local < perPosition; ++local)
      parts.push_back(inTokens(runs.globalOf(local)));
    return parts;
  }
  /// What part `from` sends to part `to`: nothing to one that is not there or
  /// on the same rank.
  int64_t sent(int64_t from, int64_t to, int64_t bytes) const {
    return to < count() && holder(to) != holder(from) ? bytes : 0;
  }

private:
  /// A part by its number in the order of the tokens, and the other way round.
  int64_t inTokens(int64_t part) const {
    return isReverse ? count() - 1 - part : part;
  }
  int64_t holder(int64_t part) const {
    return holderOf(cut, size, count(), inTokens(part)).position;
  }

  Cut cut;
  int64_t size, perPosition;
  bool isReverse;
};

/// A tensor whose dimension `dim` is cut by these both before and after.
template <typename OpTy> Transfer keptCut(OpTy op, Value tensor, int64_t dim) {
  Layout layout;
  layout.mesh = op.getMesh().toMesh();
  layout.dims.resize(shapeOf(tensor).size());
  layout.dims[dim] = op.toCuts();
  return {layout, layout};
}

/// Bytes of one part's summary in a scan.
class SummaryBytes {
public:
  SummaryBytes(ScanStateOp op, const SequenceParts &parts)
      : size(op.getGroupSize()) {
    OperandRange summary = op.getSummary();
    auto ofPart = [&](Value tensor) { return bytesOf(tensor) / parts.each(); };
    if (!op.getCombine()) {
      decays = ofPart(summary[0]);
      states = ofPart(summary[1]);
      unit = elementBytes(summary[1].getType());
      return;
    }
    for (Value tensor : summary)
      states = addSaturating(states, ofPart(tensor));
    int64_t units = 1;
    for (int64_t count : shapeOf(summary.front()).take_front(op.getUnitDims()))
      units = multiplySaturating(units, count);
    unit = units < parts.each() ? 0 : states / (units / parts.each());
  }

  int64_t all() const { return addSaturating(states, decays); }
  /// The states that the rank at `position` folds for all.
  int64_t slice(int64_t position) const {
    int64_t count = unit ? states / unit : 0;
    return (count / size + (position < count % size ? 1 : 0)) * unit;
  }

  int64_t decays = 0, states = 0;

private:
  /// What is not divided.
  int64_t unit, size;
};

/// As the runtime's header says it for each algorithm.
int64_t sentByScan(ScanStateOp op, const SequenceParts &parts,
                   int64_t position) {
  int64_t others = op.getGroupSize() - 1;
  SummaryBytes bytes(op, parts);
  int64_t toNext = 0, toLater = 0;
  for (int64_t part : parts.of(position)) {
    toNext = addSaturating(toNext, parts.sent(part, part + 1, bytes.all()));
    for (int64_t hop = 1; part + hop < parts.count(); hop *= 2)
      toLater =
          addSaturating(toLater, parts.sent(part, part + hop, bytes.all()));
  }
  switch (op.getAlgorithm()) {
  case ScanAlgorithm::Chain:
  case ScanAlgorithm::Pipelined:
    return toNext;
  case ScanAlgorithm::Gather:
    return multiplySaturating(parts.each() * others, bytes.all());
  case ScanAlgorithm::Doubling:
    return addSaturating(toNext, toLater);
  case ScanAlgorithm::Transposed: {
    int64_t slice = bytes.slice(position);
    int64_t ofPart = addSaturating(
        bytes.states - slice,
        multiplySaturating(others, addSaturating(slice, bytes.decays)));
    return multiplySaturating(parts.each(), ofPart);
  }
  }
  return 0;
}

/// The same of a scan's total.
int64_t sentForTotal(ScanStateOp op, const SequenceParts &parts,
                     int64_t position) {
  SummaryBytes bytes(op, parts);
  int64_t each = 0;
  if (op.getAlgorithm() == ScanAlgorithm::Transposed)
    each = bytes.slice(position);
  else if (op.getAlgorithm() != ScanAlgorithm::Gather &&
           llvm::is_contained(parts.of(position), parts.count() - 1))
    each = bytes.all();
  return multiplySaturating(op.getGroupSize() - 1, each);
}

} // namespace

//===----------------------------------------------------------------------===//
// HaloOp: the last rows of each part go to the next ones.
//===----------------------------------------------------------------------===//

SmallVector<Transfer> HaloOp::getTransfers() {
  return llvm::map_to_vector(getSources(), [&](Value source) {
    return keptCut(*this, source, getDim());
  });
}

/// What a part sends to those behind it: all its rows to the next ones, which
/// want more, and the rest of a halo to the one where it ends.
static int64_t sentOfHalo(const SequenceParts &parts, int64_t part,
                          int64_t rows, HaloRows halo, int64_t bytesOfRow) {
  int64_t sent = 0;
  for (int64_t to = part + 1, left = halo.count;
       left > 0 && rows > 0 && to < parts.count(); ++to, left -= rows)
    sent = addSaturating(
        sent, parts.sent(part, to,
                         multiplySaturating(std::min(rows, left), bytesOfRow)));
  return sent;
}

SmallVector<int64_t> HaloOp::getBytesSent() {
  HaloRows halo = getRows();
  SequenceParts parts(*this, halo.isReverse);
  SmallVector<int64_t> bytes(getGroupSize());
  for (Value source : getSources()) {
    int64_t held = shapeOf(source)[getDim()], rows = held / parts.each();
    int64_t bytesOfRow = held ? bytesOf(source) / held : 0;
    for (auto [position, sent] : llvm::enumerate(bytes))
      for (int64_t part : parts.of(position))
        sent = addSaturating(sent,
                             sentOfHalo(parts, part, rows, halo, bytesOfRow));
  }
  return bytes;
}

//===----------------------------------------------------------------------===//
// ScanStateOp
//===----------------------------------------------------------------------===//

SmallVector<Transfer> ScanStateOp::getTransfers() {
  return SmallVector<Transfer>(1);
}

SmallVector<int64_t> ScanStateOp::getBytesSent() {
  SequenceParts parts(*this, getReverse());
  SmallVector<int64_t> bytes;
  for (int64_t position = 0, e = getGroupSize(); position < e; ++position)
    bytes.push_back(addSaturating(
        sentByScan(*this, parts, position),
        getTotal().empty() ? 0 : sentForTotal(*this, parts, position)));
  return bytes;
}

//===----------------------------------------------------------------------===//
// ShiftOp
//===----------------------------------------------------------------------===//

SmallVector<Transfer> ShiftOp::getTransfers() {
  return SmallVector<Transfer>(1);
}

SmallVector<int64_t> ShiftOp::getBytesSent() {
  int64_t offset = getOffset(), size = getGroupSize();
  SmallVector<int64_t> bytes(size);
  for (int64_t position = 0; position < size; ++position)
    if (offset != 0 && offset < size - position && offset >= -position)
      bytes[position] = bytesOf(getSource());
  return bytes;
}

//===----------------------------------------------------------------------===//
// RingAttentionOp, RingAttentionGradOp: each rank passes on a block of keys and
// values in every step, and what there is of their cotangents.
//===----------------------------------------------------------------------===//

/// Sent to one rank after the other by each, except the last.
static SmallVector<int64_t> sentAround(int64_t size, ValueRange block) {
  int64_t bytes = 0;
  for (Value tensor : block)
    bytes = addSaturating(bytes, bytesOf(tensor));
  return SmallVector<int64_t>(size, multiplySaturating(size - 1, bytes));
}

SmallVector<Transfer> RingAttentionOp::getTransfers() {
  return {keptCut(*this, getK(), 1), keptCut(*this, getV(), 1)};
}

SmallVector<int64_t> RingAttentionOp::getBytesSent() {
  return sentAround(getGroupSize(), {getK(), getV()});
}

SmallVector<Transfer> RingAttentionGradOp::getTransfers() {
  return {keptCut(*this, getK(), 1), keptCut(*this, getV(), 1),
          keptCut(*this, getDk(), 1), keptCut(*this, getDv(), 1)};
}

SmallVector<int64_t> RingAttentionGradOp::getBytesSent() {
  return sentAround(getGroupSize(), {getK(), getV(), getDk(), getDv()});
}

} // namespace cp
