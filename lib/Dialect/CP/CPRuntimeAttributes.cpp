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

#include "cp/IR/CPDialect.h"
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
    std::vector<int> positions = axisPositions(mesh, names);
    array(key, SmallVector<int64_t>(positions.begin(), positions.end()));
  }
  /// The order of a group that is one axis, and that of each axis.
  void order(StringRef name, MeshAttr mesh, ArrayAttr cuts) {
    integer(name, orderWord(jointCut(cutsOf(mesh, cuts))));
  }
  void orders(StringRef name, MeshAttr mesh, ArrayAttr cuts) {
    array(name, llvm::map_to_vector(cutsOf(mesh, cuts), orderWord));
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

/// The words of the cuts of `count` operands; absent means contiguous.
SmallVector<int64_t> orders(MeshAttr mesh, std::optional<ArrayAttr> cuts,
                            size_t count) {
  if (!cuts)
    return SmallVector<int64_t>(count, orderWord({}));
  return llvm::map_to_vector(cutsOf(mesh, *cuts), orderWord);
}

template <typename OpTy> void writeDimCut(OpTy op, NamedAttrList &list) {
  Writer writer(op, list);
  writer.axes(op.getMesh(), op.getAxes());
  writer.integer("dim", op.getDim());
  writer.order("order", op.getMesh(), op.getCuts());
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
  writer.orders("orders", getMesh(), getCuts());
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
  writer.array("concat_orders", orders(getMesh(), getConcatCuts(), count));
  writer.array("repeat_times", orEach(getRepeats(), count, 1));
  writer.array("repeat_units", orEach(getRepeatUnits(), count, 1));
  writer.array("split_dims", getSplitDims());
  writer.array("split_orders", orders(getMesh(), getSplitCuts(), count));
}

void HaloOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writer.axes(getMesh(), getAxes());
  writer.integer("dim", getDim());
  writer.flag("has_initial", !getInitial().empty());
  writer.order("order", getMesh(), getCuts());
  writer.flag("reverse", getRows().isReverse);
  writer.integer("rows", getRows().count);
}

void ScanStateOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writer.integer("algorithm", static_cast<int64_t>(getAlgorithm()));
  writer.axes(getMesh(), getAxes());
  if (getCombine())
    writer.integer("batch_dims", getUnitDims());
  writer.order("order", getMesh(), getCuts());
  writer.flag("reverse", getReverse());
  writer.flag("total", !getTotal().empty());
}

void AllGatherOp::getRuntimeAttributes(NamedAttrList &list) {
  writeDimCut(*this, list);
}
void SliceOp::getRuntimeAttributes(NamedAttrList &list) {
  writeDimCut(*this, list);
}
void ReduceScatterOp::getRuntimeAttributes(NamedAttrList &list) {
  writeDimCut(*this, list);
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
  writer.order("from_order", getMesh(), getFrom());
  writer.order("to_order", getMesh(), getTo());
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
  writer.orders("q_orders", getMesh(), getCuts());
}

void RingAttentionOp::getRuntimeAttributes(NamedAttrList &list) {
  Writer writer(*this, list);
  writeAttention(*this, writer);
  writer.axes(getMesh(), getAxes());
  writer.orders("orders", getMesh(), getCuts());
}

} // namespace cp
