//===- CPRuntimeAttributes.cpp - What calls tell the runtime ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names here sort into the order in which cprt.h lists each operation's
// attribute words.
//
//===----------------------------------------------------------------------===//

#include "cp/IR/WrittenCut.h"
#include <cmath>

using namespace mlir;

namespace cp {
namespace {

/// Writes attributes of a call in the runtime's form.
class Writer {
public:
  Writer(Operation *op, NamedAttrList &list)
      : builder(op->getContext()), list(list) {}

  void flag(StringRef name, bool value) {
    list.set(name, builder.getBoolAttr(value));
  }
  void integer(StringRef name, int64_t value) {
    list.set(name, builder.getI64IntegerAttr(value));
  }
  void number(StringRef name, const APFloat &value) {
    list.set(name, builder.getF64FloatAttr(value.convertToDouble()));
  }
  void array(StringRef name, ArrayRef<int64_t> values) {
    list.set(name, builder.getDenseI64ArrayAttr(values));
  }
  /// Mesh axes by position.
  void axes(MeshAttr mesh, ArrayAttr names, StringRef key = "axes") {
    Mesh value = mesh.toMesh();
    SmallVector<int64_t> positions;
    for (StringAttr name : names.getAsRange<StringAttr>())
      positions.push_back(value.findAxis(name.getValue()));
    array(key, positions);
  }

private:
  Builder builder;
  NamedAttrList &list;
};

SmallVector<int64_t> orEach(std::optional<ArrayRef<int64_t>> values,
                            size_t count, int64_t otherwise) {
  return values ? SmallVector<int64_t>(*values)
                : SmallVector<int64_t>(count, otherwise);
}

/// The runtime's word for an order; `striped` is a unit, or 0.
int64_t orderWord(bool zigzag, int64_t striped) {
  return striped > 0 ? 1 + striped : zigzag;
}

SmallVector<int64_t> orders(std::optional<ArrayRef<bool>> zigzag,
                            std::optional<ArrayRef<int64_t>> striped,
                            size_t count) {
  SmallVector<int64_t> result(count, 0);
  for (size_t i = 0; i < count; ++i)
    result[i] = orderWord(zigzag && (*zigzag)[i], striped ? (*striped)[i] : 0);
  return result;
}

SmallVector<int64_t> orders(ArrayRef<Cut> cuts) {
  return llvm::map_to_vector(cuts, [](const Cut &cut) {
    return orderWord(cut.order == Order::Zigzag,
                     cut.order == Order::Striped ? cut.unit : 0);
  });
}

template <typename OpTy> void writeDimGroup(OpTy op, NamedAttrList &list) {
  Writer writer(op, list);
  writer.axes(op.getMesh(), op.getAxes());
  writer.integer("dim", op.getDim());
  writer.integer("order", orderWord(op.getZigzag(), op.getStriped()));
}

/// 1/sqrt(p) unless given.
template <typename OpTy> APFloat scaleOf(OpTy op) {
  if (std::optional<APFloat> scale = op.getScale())
    return *scale;
  int64_t width = op.getQ().getType().getShape()[3];
  return APFloat(1.0 / std::sqrt(static_cast<double>(width)));
}

/// What every form of attention tells.
template <typename OpTy> void writeAttention(OpTy op, Writer &writer) {
  writer.flag("causal", op.getCausal());
  writer.number("scale", scaleOf(op));
  writer.integer("window", op.getWindow());
}

} // namespace

void Conv1dOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writer.flag("has_bias", static_cast<bool>(getBias()));
  writer.flag("has_initial", static_cast<bool>(getInitial()));
  writer.flag("silu", getSilu());
}

void SsdOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writer.integer("chunk_size", getChunkSize());
  writer.number("dt_max", getDtMax());
  writer.number("dt_min", getDtMin());
  writer.flag("has_D", static_cast<bool>(getD()));
  writer.flag("has_dt_bias", static_cast<bool>(getDtBias()));
  writer.flag("has_initial", static_cast<bool>(getInitial()));
}

void SsdStatesOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writer.integer("chunk_size", getChunkSize());
  writer.number("dt_max", getDtMax());
  writer.number("dt_min", getDtMin());
  writer.flag("has_dt_bias", static_cast<bool>(getDtBias()));
}

void SsdScanOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writer.integer("chunk_size", getChunkSize());
  writer.flag("has_D", static_cast<bool>(getD()));
  writer.flag("has_initial", static_cast<bool>(getInitial()));
}

void PositionsOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  for (StringRef name : {"axes", "orders"})
    writer.array(name, {});
}

void CutPositionsOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writer.axes(getMesh(), getAxes());
  writer.array("orders", orders(writtenCuts(*this)));
}

void RotaryOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writer.integer("dims", getDims().value_or(getX().getType().getDimSize(3)));
  writer.number("theta", getTheta());
}

void RmsNormOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writer.number("eps", getEps());
  writer.flag("gate_first", getGateFirst());
  writer.integer("groups", getGroups());
  writer.flag("has_gate", static_cast<bool>(getGate()));
  writer.flag("has_weight", static_cast<bool>(getWeight()));
}

void RepeatOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writer.integer("dim", getDim());
  writer.integer("times", getTimes());
  writer.integer("unit", getUnit());
}

void AllToAllOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  size_t count = getSources().size();
  writer.axes(getMesh(), getAxes());
  writer.array("concat_dims", getConcatDims());
  writer.array("concat_orders",
               orders(getConcatZigzag(), getConcatStriped(), count));
  writer.array("repeat_times", orEach(getRepeats(), count, 1));
  writer.array("repeat_units", orEach(getRepeatUnits(), count, 1));
  writer.array("split_dims", getSplitDims());
  writer.array("split_orders",
               orders(getSplitZigzag(), getSplitStriped(), count));
}

void HaloOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writer.axes(getMesh(), getAxes());
  writer.integer("before", getBefore());
  writer.integer("dim", getDim());
  writer.flag("has_initial", !getInitial().empty());
  writer.integer("order", orderWord(getZigzag(), 0));
}

void ScanStateOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writer.integer("algorithm", static_cast<int64_t>(getAlgorithm()));
  writer.axes(getMesh(), getAxes());
  writer.integer("order", orderWord(getZigzag(), 0));
}

void AllGatherOp::getRuntimeAttributes(NamedAttrList &list) {
  writeDimGroup(*this, list);
}
void SliceOp::getRuntimeAttributes(NamedAttrList &list) {
  writeDimGroup(*this, list);
}
void ReduceScatterOp::getRuntimeAttributes(NamedAttrList &list) {
  writeDimGroup(*this, list);
}

void AllReduceOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer(*this, list).axes(getMesh(), getAxes());
}

void ShiftOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writer.axes(getMesh(), getAxes());
  writer.integer("offset", getOffset());
}

void ReorderOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writer.axes(getMesh(), getAxes());
  writer.integer("dim", getDim());
  writer.integer("from_order", orderWord(getFromZigzag(), getFromStriped()));
  writer.integer("to_order", orderWord(getToZigzag(), getToStriped()));
}

void AttentionOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writeAttention(*this, writer);
  for (StringRef name : {"k_axes", "k_orders", "q_axes", "q_orders"})
    writer.array(name, {});
}

StringRef AttentionRowsOp::getRuntimeSymbol() { return "attention"; }

void AttentionRowsOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writeAttention(*this, writer);
  for (StringRef name : {"k_axes", "k_orders"})
    writer.array(name, {});
  writer.axes(getMesh(), getAxes(), "q_axes");
  writer.array("q_orders", orders(writtenCuts(*this)));
}

void RingAttentionOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writeAttention(*this, writer);
  writer.axes(getMesh(), getAxes());
  writer.array("orders", orders(writtenCuts(*this)));
}

} // namespace cp
