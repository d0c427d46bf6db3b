//===- LowerReshards.cpp - Turn reshards into collectives -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartRoom.h"
#include "cp/Layout/Plan.h"
#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

namespace cp {
#define GEN_PASS_DEF_LOWERRESHARDS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

bool knowsDocuments(ArrayRef<Cut> cuts) {
  return isPerDocument(jointCut(cuts.vec()));
}

/// The documents of a function, by which reorders per document go.
class FunctionDocuments {
public:
  /// Lets them come first where such reorders will be: rows may be reordered
  /// before their places are asked for.
  FunctionDocuments(FunctionOpInterface function,
                    ArrayRef<ReshardOp> reshards) {
    if (llvm::none_of(reshards, isByDocuments))
      return;
    function.walk([&](CutPositionsOp op) {
      if (op.getDocuments())
        positions.push_back(op);
    });
    Operation *front = &function.getFunctionBody().front().front();
    llvm::SmallPtrSet<Operation *, 8> moved;
    for (CutPositionsOp op : positions)
      moveToFront(op.getDocuments().getDefiningOp(), front, moved);
  }

  /// Those of a tensor's batch; null unless there are these alone. What ranks
  /// cut by documents is known best, then what they count whole; and a batch
  /// that they share out elsewhere has the lists that theirs are cut from.
  Value of(RankedTensorType type) {
    if (type.getRank() == 0)
      return nullptr;
    Lists ofCut, ofWhole, sources;
    for (CutPositionsOp op : positions) {
      Value documents = op.getDocuments();
      (op.getCuts().empty() ? ofWhole : ofCut).insert(documents);
      // Reshards become other ops one by one.
      for (Operation *cut = documents.getDefiningOp();
           isa_and_nonnull<ReshardOp, SliceOp>(cut);
           cut = documents.getDefiningOp())
        sources.insert(documents = cut->getOperand(0));
    }
    auto isOfBatch = [&](Value documents) {
      return cast<RankedTensorType>(documents.getType()).getDimSize(0) ==
             type.getDimSize(0);
    };
    for (const Lists *lists : {&ofCut, &ofWhole, &sources}) {
      int64_t count = llvm::count_if(*lists, isOfBatch);
      if (count > 0)
        return count == 1 ? *llvm::find_if(*lists, isOfBatch) : nullptr;
    }
    return nullptr;
  }

private:
  using Lists = llvm::SetVector<Value>;
  static bool isByDocuments(ReshardOp reshard) {
    return isPerDocument(reshard.getFrom()->toLayout()) ||
           isPerDocument(reshard.getTo()->toLayout());
  }

  /// With what it is made of.
  static void moveToFront(Operation *op, Operation *&front,
                          llvm::SmallPtrSetImpl<Operation *> &moved) {
    if (!op || !moved.insert(op).second)
      return;
    for (Value operand : op->getOperands())
      moveToFront(operand.getDefiningOp(), front, moved);
    if (op == front)
      front = op->getNextNode();
    else
      op->moveBefore(front);
  }

  SmallVector<CutPositionsOp> positions;
};

/// Builds the collectives of one reshard's plan.
class StepBuilder {
public:
  StepBuilder(ReshardOp reshard, FunctionDocuments &documents)
      : reshard(reshard), documents(documents), builder(reshard),
        mesh(reshard.getFrom()->getMesh()),
        layout(reshard.getFrom()->toLayout()),
        shape(globalShape(reshard, layout)) {}

  /// The resharded value; null after an error. There is a plan: both layouts
  /// are of one mesh and rank, and no axis becomes partial that did not cut
  /// (reshard_c3 to reshard_c5).
  Value build() {
    std::vector<PlannedStep> steps =
        *plan(layout, reshard.getTo()->toLayout(), shape);
    Value value = reshard.getSource();
    for (const PlannedStep &step : steps) {
      value = apply(step, value);
      if (!value)
        return nullptr;
    }
    return value;
  }

private:
  static std::vector<int64_t> globalShape(ReshardOp reshard,
                                          const Layout &layout) {
    ArrayRef<int64_t> local = reshard.getSource().getType().getShape();
    std::vector<int64_t> shape(local.begin(), local.end());
    for (size_t dim = 0; dim < shape.size(); ++dim)
      shape[dim] = *wholeSize(layout.mesh, layout.dims[dim], shape[dim]);
    return shape;
  }

  ArrayAttr axesOf(const Step &step) {
    SmallVector<Attribute> names;
    for (int axis : step.axes)
      names.push_back(mesh.getNames()[axis]);
    return builder.getArrayAttr(names);
  }

  /// How a collective that makes or drops parts cuts, and which dimension. To
  /// it parts of unlike sizes are parts of one size.
  static std::vector<Cut> cutsIn(const Share &share) {
    const std::vector<Cut> &cuts = std::get<Parts>(share).cuts;
    return isBySizes(cuts) ? inContiguousOrder(cuts) : cuts;
  }
  ArrayAttr cutsOf(const Share &share) {
    return localCutsAttr(mesh, cutsIn(share));
  }
  static int64_t dimOf(const Share &share) {
    return std::get<Parts>(share).dim;
  }

  /// The type of what a collective makes of a value.
  static RankedTensorType resultOf(const Step &step, Value value,
                                   int64_t ranks) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (std::holds_alternative<Parts>(step.from))
      shape[dimOf(step.from)] *= ranks;
    if (std::holds_alternative<Parts>(step.to))
      shape[dimOf(step.to)] /= ranks;
    return type.clone(shape);
  }

  /// The cut of a side of a step that lists sizes, or null.
  static const Cut *sizesOf(const Share &share) {
    const Parts *parts = std::get_if<Parts>(&share);
    return parts && isBySizes(parts->cuts) ? &parts->cuts.back() : nullptr;
  }

  Value apply(const Step &step, Value value) {
    ArrayAttr axes = axesOf(step);
    // A group of one rank has everything where it is wanted.
    if (groupSize(mesh, axes) == 1)
      return value;
    Location loc = reshard.getLoc();
    if (const Cut *cut = sizesOf(step.to))
      value = withRoom(builder, loc, value, dimOf(step.to), *cut);
    value = collective(step, value, axes);
    if (const Cut *cut = sizesOf(step.from))
      value = withoutRoom(builder, loc, value, dimOf(step.from), *cut);
    return value;
  }

  Value collective(const Step &step, Value value, ArrayAttr axes) {
    Location loc = reshard.getLoc();
    RankedTensorType type = resultOf(step, value, groupSize(mesh, axes));
    switch (step.kind()) {
    case Step::Kind::AllToAll:
      return allToAll(step, value, type, axes);
    case Step::Kind::AllGather:
      return AllGatherOp::create(builder, loc, type, value, mesh,
                                 cutsOf(step.from), dimOf(step.from))
          .getResults()[0];
    case Step::Kind::Slice:
      return SliceOp::create(builder, loc, type, value, mesh, cutsOf(step.to),
                             dimOf(step.to));
    case Step::Kind::AllReduce:
      return AllReduceOp::create(builder, loc, value, mesh, axes).getResult(0);
    case Step::Kind::ReduceScatter:
      return ReduceScatterOp::create(builder, loc, type, value, mesh,
                                     cutsOf(step.to), dimOf(step.to))
          .getResults()[0];
    case Step::Kind::Reorder:
      return reorder(step, value, type);
    case Step::Kind::Unslice:
      return UnsliceOp::create(builder, loc, type, value, mesh,
                               cutsOf(step.from), dimOf(step.from));
    }
    llvm_unreachable("all steps are handled");
  }

  Value reorder(const Step &step, Value value, RankedTensorType type) {
    Value lists;
    if (knowsDocuments(std::get<Parts>(step.from).cuts) ||
        knowsDocuments(std::get<Parts>(step.to).cuts)) {
      lists = documents.of(type);
      if (!lists || dimOf(step.from) == 0) {
        reshard.emitOpError(
            "lower_c1: from and to an order per document a tensor "
            "must have the batch first, with which one "
            "cp.positions of the function has its documents, "
            "but ")
            << (lists ? "the sequence is first" : "there is none, or several")
            << "; use the order zigzag";
        return nullptr;
      }
    }
    return ReorderOp::create(builder, reshard.getLoc(), type, value, lists,
                             mesh, cutsOf(step.from), cutsOf(step.to),
                             dimOf(step.from));
  }

  /// Reads the source of a repeat of the split dimension instead of its result.
  Value allToAll(const Step &step, Value value, RankedTensorType type,
                 ArrayAttr axes) {
    DenseI64ArrayAttr times, units;
    auto repeat = value.getDefiningOp<RepeatOp>();
    if (repeat && static_cast<int64_t>(repeat.getDim()) == dimOf(step.to)) {
      value = repeat.getSource();
      times = builder.getDenseI64ArrayAttr(
          {static_cast<int64_t>(repeat.getTimes())});
      units = builder.getDenseI64ArrayAttr(
          {static_cast<int64_t>(repeat.getUnit())});
    }
    auto unlessContiguous = [&](const Share &share) {
      return jointCut(cutsIn(share)).order == Order() ? ArrayAttr()
                                                      : cutsOf(share);
    };
    return AllToAllOp::create(builder, reshard.getLoc(), TypeRange{type},
                              ValueRange{value}, mesh, axes,
                              builder.getDenseI64ArrayAttr({dimOf(step.from)}),
                              builder.getDenseI64ArrayAttr({dimOf(step.to)}),
                              unlessContiguous(step.from),
                              unlessContiguous(step.to), times, units)
        .getResults()[0];
  }

  ReshardOp reshard;
  FunctionDocuments &documents;
  OpBuilder builder;
  MeshAttr mesh;
  Layout layout;
  std::vector<int64_t> shape;
};

struct LowerReshards : impl::LowerReshardsBase<LowerReshards> {
  void runOnOperation() override {
    SmallVector<ReshardOp> reshards;
    getOperation()->walk([&](ReshardOp op) {
      if (op.getFrom())
        reshards.push_back(op);
    });
    FunctionDocuments documents(getOperation(), reshards);
    for (ReshardOp reshard : reshards) {
      Value source = reshard.getSource();
      Value resharded = StepBuilder(reshard, documents).build();
      if (!resharded)
        return signalPassFailure();
      reshard.replaceAllUsesWith(resharded);
      reshard.erase();
      if (auto repeat = source.getDefiningOp<RepeatOp>();
          repeat && repeat->use_empty())
        repeat.erase();
    }
  }
};

} // namespace
} // namespace cp
