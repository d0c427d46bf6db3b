//===- Movement.cpp - What a collective moves -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Movement.h"

#include "cp/Layout/Plan.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace cp {

int64_t addSaturating(int64_t a, int64_t b) {
  int64_t sum;
  return llvm::AddOverflow(a, b, sum) ? INT64_MAX : sum;
}

int64_t multiplySaturating(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? INT64_MAX : product;
}

int64_t elementBytes(Type tensor) {
  Type element = cast<ShapedType>(tensor).getElementType();
  return element.isIntOrFloat()
             ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
             : 0;
}

SmallVector<int64_t> Movement::bytesByRank() const {
  Mesh all = mesh.toMesh();
  std::vector<int> group;
  for (auto axis : axes.getAsRange<StringAttr>())
    group.push_back(all.findAxis(axis.getValue().str()));
  SmallVector<int64_t> bytes;
  if (bytesByPosition.empty())
    return bytes;
  for (int64_t rank = 0; rank < all.numRanks(); ++rank)
    bytes.push_back(bytesByPosition[all.positionInGroup(rank, group)]);
  return bytes;
}

namespace {

using Kind = Step::Kind;

Order orderOf(bool zigzag) {
  return zigzag ? Order::Zigzag : Order::Contiguous;
}

Step stepOf(Kind kind, int64_t from, bool fromZigzag, int64_t to,
            bool toZigzag) {
  Step step;
  step.kind = kind;
  step.axes = {0};
  step.from = static_cast<int>(from);
  step.to = static_cast<int>(to);
  step.fromOrder = orderOf(fromZigzag);
  step.toOrder = orderOf(toZigzag);
  return step;
}

std::vector<int64_t> shapeOf(Value value) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  return {shape.begin(), shape.end()};
}

int64_t bytesOf(Value value) {
  int64_t bytes = elementBytes(value.getType());
  for (int64_t size : shapeOf(value))
    bytes = multiplySaturating(bytes, size);
  return bytes;
}

/// Describes one op. A group is seen as a mesh of one axis, on which a position
/// is a rank: so one formula serves groups of any axes.
class Describer {
public:
  template <typename OpTy>
  explicit Describer(OpTy op) : size(op.getGroupSize()) {
    result.mesh = op.getMesh();
    result.axes = op.getAxes();
    Mesh all = result.mesh.toMesh();
    if (all.numRanks() <= mostExplainedRanks)
      result.bytesByPosition.assign(size, 0);
    for (auto axis : result.axes.template getAsRange<StringAttr>())
      axes.push_back(all.findAxis(axis.getValue().str()));
  }

  void add(AllToAllOp op) {
    for (auto [i, source] : llvm::enumerate(op.getSources())) {
      auto flag = [i = i](std::optional<ArrayRef<bool>> flags) {
        return flags && (*flags)[i];
      };
      Step step = stepOf(Kind::AllToAll, op.getConcatDims()[i],
                         flag(op.getConcatZigzag()), op.getSplitDims()[i],
                         flag(op.getSplitZigzag()));
      std::vector<int64_t> shape = shapeOf(source);
      if (op.getRepeats())
        shape[step.to] =
            multiplySaturating(shape[step.to], (*op.getRepeats())[i]);
      addStep(step, source, shape);
    }
  }
  void add(AllGatherOp op) {
    addStep(stepOf(Kind::AllGather, op.getDim(), op.getZigzag(), -1, false),
            op.getSource());
  }
  void add(SliceOp op) {
    addStep(stepOf(Kind::Slice, -1, false, op.getDim(), op.getZigzag()),
            op.getSource());
  }
  void add(AllReduceOp op) {
    addStep(stepOf(Kind::AllReduce, -1, false, -1, false), op.getSource());
  }
  void add(ReduceScatterOp op) {
    addStep(stepOf(Kind::ReduceScatter, -1, false, op.getDim(), op.getZigzag()),
            op.getSource());
  }
  void add(ReorderOp op) {
    addStep(stepOf(Kind::Reorder, op.getDim(), !op.getToZigzag(), -1,
                   op.getToZigzag()),
            op.getSource());
  }

  /// The last rows go to the next position.
  void add(HaloOp op) {
    for (auto [source, rows] :
         llvm::zip_equal(op.getSources(), op.getResults())) {
      Layout cut = cutBy(shapeOf(source).size(), op.getDim(), Order::Contiguous,
                         axes, result.mesh.toMesh());
      result.tensors.push_back({cut, cut});
      for (int64_t &sent :
           MutableArrayRef(result.bytesByPosition).drop_back(anyCounted()))
        sent = addSaturating(sent, bytesOf(rows));
    }
  }
  void add(ShiftOp op) {
    int64_t offset = op.getOffset();
    result.tensors.emplace_back();
    for (auto [i, sent] : llvm::enumerate(result.bytesByPosition)) {
      int64_t position = i;
      if (offset != 0 && offset < size - position && offset >= -position)
        sent = bytesOf(op.getSource());
    }
  }
  void add(ScanStateOp op) {
    result.tensors.emplace_back();
    for (auto [position, sent] : llvm::enumerate(result.bytesByPosition))
      sent = sentByScan(op, position);
  }

  Movement result;

private:
  bool anyCounted() const { return !result.bytesByPosition.empty(); }

  /// A layout in which `onto` cut dimension `dim`, if it is one.
  static Layout cutBy(size_t rank, int64_t dim, Order order, ArrayRef<int> onto,
                      const Mesh &mesh) {
    Layout layout;
    layout.mesh = mesh;
    layout.dims.resize(rank);
    for (int axis : onto)
      if (dim >= 0)
        layout.dims[dim].push_back({axis, order, 1});
    return layout;
  }

  /// The layouts before and after a step by `onto`.
  static TensorMove moveOf(const Step &step, size_t rank, ArrayRef<int> onto,
                           const Mesh &mesh) {
    Layout from = cutBy(rank, step.from, step.fromOrder, onto, mesh);
    int to = step.kind == Kind::Reorder ? step.from : step.to;
    Layout after = cutBy(rank, to, step.toOrder, onto, mesh);
    if (step.kind == Kind::AllReduce || step.kind == Kind::ReduceScatter) {
      from.partial.assign(onto.begin(), onto.end());
      llvm::sort(from.partial);
    }
    return {from, after};
  }

  void addStep(Step step, Value source) {
    addStep(step, source, shapeOf(source));
  }
  /// `shape` is that of one rank's part.
  void addStep(Step step, Value source, std::vector<int64_t> shape) {
    result.tensors.push_back(
        moveOf(step, shape.size(), axes, result.mesh.toMesh()));
    TensorMove inGroup =
        moveOf(step, shape.size(), {0}, Mesh{{{"group", size}}});
    step.after = *inGroup.to;
    if (step.from >= 0)
      shape[step.from] = multiplySaturating(shape[step.from], size);
    for (auto [position, sent] : llvm::enumerate(result.bytesByPosition))
      sent = addSaturating(
          sent,
          multiplySaturating(elementsSent(step, *inGroup.from, shape, position),
                             elementBytes(source.getType())));
  }

  /// As the runtime's header says it for each algorithm.
  int64_t sentByScan(ScanStateOp op, int64_t position) {
    int64_t states = bytesOf(op.getState()), decays = bytesOf(op.getDecay());
    int64_t summary = addSaturating(states, decays), others = size - 1;
    int64_t toNext = position < others ? summary : 0;
    switch (op.getAlgorithm()) {
    case ScanAlgorithm::Chain:
    case ScanAlgorithm::Pipelined:
      return toNext;
    case ScanAlgorithm::Gather:
      return multiplySaturating(others, summary);
    case ScanAlgorithm::Doubling:
      for (int64_t hop = 1; position + hop < size; hop *= 2)
        toNext = addSaturating(toNext, summary);
      return toNext;
    case ScanAlgorithm::Transposed: {
      int64_t element = elementBytes(op.getState().getType());
      int64_t count = element ? states / element : 0;
      int64_t slice =
          (count / size + (position < count % size ? 1 : 0)) * element;
      return addSaturating(
          states - slice,
          multiplySaturating(others, addSaturating(slice, decays)));
    }
    }
    return 0;
  }

  int64_t size;
  SmallVector<int> axes;
};

} // namespace

std::optional<Movement> movementOf(Operation *op) {
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  if (!llvm::all_of(op->getOperandTypes(), isStatic) ||
      !llvm::all_of(op->getResultTypes(), isStatic))
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<Movement>>(op)
      .Case<AllToAllOp, AllGatherOp, SliceOp, AllReduceOp, ReduceScatterOp,
            ReorderOp, HaloOp, ShiftOp, ScanStateOp>([](auto typed) {
        Describer describer(typed);
        describer.add(typed);
        return describer.result;
      })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace cp
