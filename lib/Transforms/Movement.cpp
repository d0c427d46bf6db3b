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

/// How a group cuts one dimension; no dimension is -1.
struct DimCut {
  int64_t dim = -1;
  Cut cut;
};

Step stepOf(Kind kind, DimCut from, DimCut to) {
  Step step;
  step.kind = kind;
  step.axes = {0};
  step.from = static_cast<int>(from.dim);
  step.fromOrder = from.cut.order;
  step.fromUnit = from.cut.unit;
  step.to = static_cast<int>(to.dim);
  step.toOrder = to.cut.order;
  step.unit = to.cut.unit;
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
      auto at = [&, i = i](std::optional<ArrayAttr> cuts) {
        return cuts ? cutsOf(result.mesh, *cuts)[i] : Cut();
      };
      Step step = stepOf(Kind::AllToAll,
                         {op.getConcatDims()[i], at(op.getConcatCuts())},
                         {op.getSplitDims()[i], at(op.getSplitCuts())});
      std::vector<int64_t> shape = shapeOf(source);
      if (op.getRepeats())
        shape[step.to] =
            multiplySaturating(shape[step.to], (*op.getRepeats())[i]);
      addStep(step, source, shape);
    }
  }
  void add(AllGatherOp op) {
    addStep(stepOf(Kind::AllGather, cutBy(op), {}), op.getSource());
  }
  void add(SliceOp op) {
    addStep(stepOf(Kind::Slice, {}, cutBy(op)), op.getSource());
  }
  void add(AllReduceOp op) {
    addStep(stepOf(Kind::AllReduce, {}, {}), op.getSource());
  }
  void add(ReduceScatterOp op) {
    addStep(stepOf(Kind::ReduceScatter, {}, cutBy(op)), op.getSource());
  }
  void add(ReorderOp op) {
    auto joint = [&](ArrayAttr cuts) {
      return jointCut(cutsOf(result.mesh, cuts));
    };
    addStep(stepOf(Kind::Reorder,
                   {static_cast<int64_t>(op.getDim()), joint(op.getFrom())},
                   {-1, joint(op.getTo())}),
            op.getSource());
  }

  /// The last rows of each part go to the next part.
  void add(HaloOp op) {
    DimCut dim = cutBy(op);
    Parts parts(size, dim.cut);
    for (auto [source, rows] :
         llvm::zip_equal(op.getSources(), op.getResults())) {
      Layout cut =
          layoutOf(shapeOf(source).size(), dim, axes, result.mesh.toMesh());
      result.tensors.push_back({cut, cut});
      int64_t bytes = bytesOf(rows) / parts.each();
      for (auto [position, sent] : llvm::enumerate(result.bytesByPosition))
        for (int64_t part : parts.of(position))
          sent = addSaturating(sent, parts.sent(part, part + 1, bytes));
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
  /// Keys and values go round: each rank passes on a block in every step.
  void add(RingAttentionOp op) {
    for (Value source : {Value(op.getK()), Value(op.getV())}) {
      Layout cut;
      cut.mesh = result.mesh.toMesh();
      cut.dims.resize(shapeOf(source).size());
      cut.dims[1] = op.toCuts();
      result.tensors.push_back({cut, cut});
      int64_t bytes = multiplySaturating(size - 1, bytesOf(source));
      for (int64_t &sent : result.bytesByPosition)
        sent = addSaturating(sent, bytes);
    }
  }
  void add(ScanStateOp op) {
    result.tensors.emplace_back();
    for (auto [position, sent] : llvm::enumerate(result.bytesByPosition))
      sent = sentByScan(op, position);
  }

  Movement result;

private:
  /// The parts of a sequence, which a scan and a halo go along: as long as one
  /// element each, so that the layout's indices are their numbers.
  class Parts {
  public:
    Parts(int64_t size, const Cut &cut)
        : mesh{{{"group", size}}}, cuts{cut}, perPosition(*partsPerRank(cut)) {}

    /// How many parts a position has, and all positions together.
    int64_t each() const { return perPosition; }
    int64_t count() const { return perPosition * mesh.numRanks(); }
    SmallVector<int64_t, 2> of(int64_t position) const {
      SmallVector<int64_t, 2> parts;
      for (int64_t local = 0; local < perPosition; ++local)
        parts.push_back(globalIndex(mesh, cuts, count(), position, local));
      return parts;
    }
    /// What part `from` sends to part `to`: nothing to one that is not there or
    /// on the same rank.
    int64_t sent(int64_t from, int64_t to, int64_t bytes) const {
      return to < count() && holder(to) != holder(from) ? bytes : 0;
    }

  private:
    int64_t holder(int64_t part) const {
      return placeOf(mesh, cuts, count(), part).coordinates.front();
    }

    Mesh mesh;
    std::vector<Cut> cuts;
    int64_t perPosition;
  };

  /// How an op with one dimension cuts it.
  template <typename OpTy> static DimCut cutBy(OpTy op) {
    return {static_cast<int64_t>(op.getDim()), jointCut(op.toCuts())};
  }

  /// A layout in which `onto` make this cut.
  static Layout layoutOf(size_t rank, DimCut cut, ArrayRef<int> onto,
                         const Mesh &mesh) {
    Layout layout;
    layout.mesh = mesh;
    layout.dims.resize(rank);
    for (int axis : onto)
      if (cut.dim >= 0)
        layout.dims[cut.dim].push_back({axis, cut.cut.order, cut.cut.unit});
    return layout;
  }

  /// The layouts before and after a step by `onto`.
  static TensorMove moveOf(const Step &step, size_t rank, ArrayRef<int> onto,
                           const Mesh &mesh) {
    Layout from = layoutOf(
        rank, {step.from, {0, step.fromOrder, step.fromUnit}}, onto, mesh);
    int to = step.kind == Kind::Reorder ? step.from : step.to;
    Layout after =
        layoutOf(rank, {to, {0, step.toOrder, step.unit}}, onto, mesh);
    if (step.kind == Kind::AllReduce || step.kind == Kind::ReduceScatter) {
      from.partial.assign(onto.begin(), onto.end());
      llvm::sort(from.partial);
    }
    return {from, after};
  }

  void addStep(Step step, Value source) {
    addStep(std::move(step), source, shapeOf(source));
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
    Parts parts(size, jointCut(op.toCuts()));
    int64_t states = bytesOf(op.getState()) / parts.each(),
            decays = bytesOf(op.getDecay()) / parts.each();
    int64_t summary = addSaturating(states, decays), others = size - 1;
    int64_t toNext = 0, toLater = 0;
    for (int64_t part : parts.of(position)) {
      toNext = addSaturating(toNext, parts.sent(part, part + 1, summary));
      for (int64_t hop = 1; part + hop < parts.count(); hop *= 2)
        toLater = addSaturating(toLater, parts.sent(part, part + hop, summary));
    }
    switch (op.getAlgorithm()) {
    case ScanAlgorithm::Chain:
    case ScanAlgorithm::Pipelined:
      return toNext;
    case ScanAlgorithm::Gather:
      return multiplySaturating(parts.each() * others, summary);
    case ScanAlgorithm::Doubling:
      return addSaturating(toNext, toLater);
    case ScanAlgorithm::Transposed: {
      int64_t element = elementBytes(op.getState().getType());
      int64_t count = element ? states / element : 0;
      int64_t slice =
          (count / size + (position < count % size ? 1 : 0)) * element;
      int64_t ofPart = addSaturating(
          states - slice,
          multiplySaturating(others, addSaturating(slice, decays)));
      return multiplySaturating(parts.each(), ofPart);
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
            ReorderOp, HaloOp, ShiftOp, ScanStateOp, RingAttentionOp>(
          [](auto typed) {
            Describer describer(typed);
            describer.add(typed);
            return describer.result;
          })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace cp
