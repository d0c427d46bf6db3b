//===- CPRuntimeCalls.cpp - What ops hand to the runtime --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What writes a call is made of the runtime's table (cp/Runtime/Operations.td):
// each attribute is `valueOf` the op and the attribute's name, which is the
// op's accessor of that name. Here stands what is not.
//
//===----------------------------------------------------------------------===//

#include "cp/IR/CPDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace mlir;

namespace cp {
namespace {

#define GET_KEYS
#include "RuntimeCalls.inc"

using Array = SmallVector<int64_t>;

//===----------------------------------------------------------------------===//
// Groups and cuts
//===----------------------------------------------------------------------===//

/// Mesh axes by position.
template <typename Op> Array valueOf(Op op, key::axes) {
  std::vector<int> positions = axisPositions(op.getMesh(), op.getAxes());
  return Array(positions.begin(), positions.end());
}

/// The order of a group that is one axis, and that of each axis.
int64_t orderOf(MeshAttr mesh, ArrayAttr cuts) {
  return orderWord(jointCut(cutsOf(mesh, cuts)));
}
Array ordersOf(MeshAttr mesh, ArrayAttr cuts) {
  return llvm::map_to_vector(cutsOf(mesh, cuts), orderWord);
}

template <typename Op> int64_t valueOf(Op op, key::order) {
  return orderOf(op.getMesh(), op.getCuts());
}
template <typename Op> Array valueOf(Op op, key::orders) {
  return ordersOf(op.getMesh(), op.getCuts());
}
int64_t valueOf(ReorderOp op, key::from_order) {
  return orderOf(op.getMesh(), op.getFrom());
}
int64_t valueOf(ReorderOp op, key::to_order) {
  return orderOf(op.getMesh(), op.getTo());
}

//===----------------------------------------------------------------------===//
// Places and attention
//===----------------------------------------------------------------------===//

// All of the sequence is here.
Array valueOf(PositionsOp, key::axes) { return {}; }
Array valueOf(PositionsOp, key::orders) { return {}; }
Array valueOf(PositionsOp, key::alike) { return {}; }
Array valueOf(CutPositionsOp op, key::alike) {
  if (!op.getAlike())
    return {};
  std::vector<int> positions = axisPositions(op.getMesh(), *op.getAlike());
  return Array(positions.begin(), positions.end());
}

int64_t valueOf(RotaryOp op, key::dims) {
  return op.getDims().value_or(op.getX().getType().getDimSize(3));
}

/// 1/sqrt(p) unless given.
template <typename Op> APFloat scaleOf(Op op) {
  if (std::optional<APFloat> scale = op.getScale())
    return *scale;
  int64_t width = op.getQ().getType().getShape()[3];
  return APFloat(1.0 / std::sqrt(static_cast<double>(width)));
}
APFloat valueOf(AttentionOp op, key::scale) { return scaleOf(op); }
APFloat valueOf(AttentionRowsOp op, key::scale) { return scaleOf(op); }
APFloat valueOf(RingAttentionOp op, key::scale) { return scaleOf(op); }
APFloat valueOf(AttentionGradOp op, key::scale) { return scaleOf(op); }
APFloat valueOf(RingAttentionGradOp op, key::scale) { return scaleOf(op); }

template <typename Op> Array valueOf(Op, key::k_axes) { return {}; }
template <typename Op> Array valueOf(Op, key::k_orders) { return {}; }
Array valueOf(AttentionOp, key::q_axes) { return {}; }
Array valueOf(AttentionOp, key::q_orders) { return {}; }
Array valueOf(AttentionRowsOp op, key::q_axes) {
  return valueOf(op, key::axes());
}
Array valueOf(AttentionRowsOp op, key::q_orders) {
  return valueOf(op, key::orders());
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

Array orEach(std::optional<ArrayRef<int64_t>> values, AllToAllOp op,
             int64_t otherwise) {
  return values ? Array(*values) : Array(op.getSources().size(), otherwise);
}
Array orEach(std::optional<ArrayAttr> cuts, AllToAllOp op) {
  return cuts ? ordersOf(op.getMesh(), *cuts)
              : Array(op.getSources().size(), orderWord({}));
}
Array valueOf(AllToAllOp op, key::concat_orders) {
  return orEach(op.getConcatCuts(), op);
}
Array valueOf(AllToAllOp op, key::split_orders) {
  return orEach(op.getSplitCuts(), op);
}
Array valueOf(AllToAllOp op, key::repeat_times) {
  return orEach(op.getRepeats(), op, 1);
}
Array valueOf(AllToAllOp op, key::repeat_units) {
  return orEach(op.getRepeatUnits(), op, 1);
}

bool valueOf(HaloOp op, key::reverse) { return op.getRows().isReverse; }
int64_t valueOf(HaloOp op, key::rows) { return op.getRows().count; }

int64_t valueOf(ScanStateOp op, key::algorithm) {
  return static_cast<int64_t>(op.getAlgorithm());
}
int64_t valueOf(ScanStateOp op, key::batch_dims) { return op.getUnitDims(); }
bool valueOf(ScanStateOp op, key::total) { return !op.getTotal().empty(); }

#define GET_WRITERS
#include "RuntimeCalls.inc"

} // namespace

#define GET_METHODS
#include "RuntimeCalls.inc"

//===----------------------------------------------------------------------===//
// Ops that are not named as what they call
//===----------------------------------------------------------------------===//

StringRef AttentionRowsOp::getRuntimeSymbol() { return "attention"; }

void AttentionRowsOp::getRuntimeCall(RuntimeCall &call) {
  writeAttention(*this, call);
}

template <typename Op> static StringRef symbolOfPositions(Op op) {
  return op.getDocuments() ? "document_positions" : "positions";
}
template <typename Op>
static void writePositionsCall(Op op, RuntimeCall &call) {
  if (op.getDocuments())
    writeDocumentPositions(op, call);
  else
    writePositions(op, call);
}

StringRef PositionsOp::getRuntimeSymbol() { return symbolOfPositions(*this); }
StringRef CutPositionsOp::getRuntimeSymbol() {
  return symbolOfPositions(*this);
}

void PositionsOp::getRuntimeCall(RuntimeCall &call) {
  writePositionsCall(*this, call);
}
void CutPositionsOp::getRuntimeCall(RuntimeCall &call) {
  writePositionsCall(*this, call);
}

StringRef ReorderOp::getRuntimeSymbol() {
  return getDocuments() ? "reorder_documents" : "reorder";
}
void ReorderOp::getRuntimeCall(RuntimeCall &call) {
  if (getDocuments())
    writeReorderDocuments(*this, call);
  else
    writeReorder(*this, call);
}

void ScanStateOp::getRuntimeCall(RuntimeCall &call) {
  if (getCombine())
    writeScanStateWith(*this, call);
  else
    writeScanState(*this, call);
}

//===----------------------------------------------------------------------===//
// Words of a call
//===----------------------------------------------------------------------===//

void appendWords(ArrayRef<NamedAttribute> attributes,
                 SmallVectorImpl<int64_t> &words) {
  for (NamedAttribute attribute : attributes)
    llvm::TypeSwitch<Attribute>(attribute.getValue())
        .Case([&](BoolAttr flag) { words.push_back(flag.getValue()); })
        .Case([&](IntegerAttr number) { words.push_back(number.getInt()); })
        .Case([&](FloatAttr number) {
          words.push_back(
              llvm::bit_cast<int64_t>(number.getValue().convertToDouble()));
        })
        .Case([&](DenseI64ArrayAttr array) {
          words.push_back(array.size());
          llvm::append_range(words, array.asArrayRef());
        });
}

} // namespace cp
