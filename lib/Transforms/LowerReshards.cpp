//===- LowerReshards.cpp - Turn reshards into collectives -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Plan.h"
#include "cp/Transforms/Passes.h"

namespace cp {
#define GEN_PASS_DEF_LOWERRESHARDS
#include "cp/Transforms/Passes.h.inc"
} // namespace cp

using namespace mlir;

namespace cp {
namespace {

/// Builds the collectives of one reshard's plan.
class StepBuilder {
public:
  explicit StepBuilder(ReshardOp reshard)
      : reshard(reshard), builder(reshard), mesh(reshard.getFrom()->getMesh()),
        layout(reshard.getFrom()->toLayout()),
        shape(globalShape(reshard, layout)) {}

  /// The resharded value; null, after an error, when there is no plan.
  Value build() {
    std::optional<std::vector<Step>> steps =
        plan(layout, reshard.getTo()->toLayout(), shape);
    if (!steps) {
      reshard.emitOpError("lower_c1: there is no way from ")
          << *reshard.getFrom() << " to " << *reshard.getTo();
      return {};
    }
    Value value = reshard.getSource();
    for (const Step &step : *steps)
      value = apply(step, value);
    return value;
  }

private:
  static std::vector<int64_t> globalShape(ReshardOp reshard,
                                          const Layout &layout) {
    ArrayRef<int64_t> local = reshard.getSource().getType().getShape();
    std::vector<int64_t> shape(local.begin(), local.end());
    for (size_t dim = 0; dim < shape.size(); ++dim)
      for (const Cut &cut : layout.dims[dim])
        shape[dim] *= layout.mesh.axes[cut.axis].size;
    return shape;
  }

  /// The cuts that a step takes away and those that it makes.
  ArrayAttr cutsBefore(const Step &step) {
    return cutsOver(step.axes, {0, step.fromOrder, step.fromUnit});
  }
  ArrayAttr cutsAfter(const Step &step) {
    return cutsOver(step.axes, {0, step.toOrder, step.unit});
  }
  ArrayAttr cutsOver(ArrayRef<int> axes, Cut cut) {
    SmallVector<Cut> cuts;
    for (int axis : axes) {
      cut.axis = axis;
      cuts.push_back(cut);
    }
    return localCutsAttr(mesh, cuts);
  }

  Value apply(const Step &step, Value value) {
    Location loc = reshard.getLoc();
    ArrayAttr before = cutsBefore(step), after = cutsAfter(step);
    ArrayAttr axes = axesOf(before);
    // A group of one rank has everything where it is wanted.
    if (groupSize(mesh, axes) == 1)
      return value;
    auto type = cast<RankedTensorType>(value.getType())
                    .clone(localShape(step.after, shape, 0));
    switch (step.kind) {
    case Step::Kind::AllToAll:
      return allToAll(step, value, type, axes);
    case Step::Kind::AllGather:
      return AllGatherOp::create(builder, loc, type, value, mesh, before,
                                 dimAttr(step.from));
    case Step::Kind::Slice:
      return SliceOp::create(builder, loc, type, value, mesh, after,
                             dimAttr(step.to));
    case Step::Kind::AllReduce:
      return AllReduceOp::create(builder, loc, type, value, mesh, axes);
    case Step::Kind::ReduceScatter:
      return ReduceScatterOp::create(builder, loc, type, value, mesh, after,
                                     dimAttr(step.to));
    case Step::Kind::Reorder:
      return ReorderOp::create(builder, loc, type, value, mesh, before, after,
                               dimAttr(step.from));
    }
    llvm_unreachable("every kind of step is handled above");
  }

  /// Reads the source of a repeat of the split dimension instead of its result.
  Value allToAll(const Step &step, Value value, RankedTensorType type,
                 ArrayAttr axes) {
    DenseI64ArrayAttr times, units;
    auto repeat = value.getDefiningOp<RepeatOp>();
    if (repeat && static_cast<int64_t>(repeat.getDim()) == step.to) {
      value = repeat.getSource();
      times = builder.getDenseI64ArrayAttr(
          {static_cast<int64_t>(repeat.getTimes())});
      units = builder.getDenseI64ArrayAttr(
          {static_cast<int64_t>(repeat.getUnit())});
    }
    auto unlessContiguous = [](Order order, ArrayAttr cuts) {
      return order == Order() ? ArrayAttr() : cuts;
    };
    return AllToAllOp::create(
               builder, reshard.getLoc(), TypeRange{type}, ValueRange{value},
               mesh, axes, builder.getDenseI64ArrayAttr({step.from}),
               builder.getDenseI64ArrayAttr({step.to}),
               unlessContiguous(step.fromOrder, cutsBefore(step)),
               unlessContiguous(step.toOrder, cutsAfter(step)), times, units)
        .getResults()[0];
  }

  IntegerAttr dimAttr(int dim) { return builder.getI64IntegerAttr(dim); }

  ReshardOp reshard;
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
    for (ReshardOp reshard : reshards) {
      Value source = reshard.getSource();
      Value value = StepBuilder(reshard).build();
      if (!value)
        return signalPassFailure();
      reshard.replaceAllUsesWith(value);
      reshard.erase();
      if (auto repeat = source.getDefiningOp<RepeatOp>();
          repeat && repeat->use_empty())
        repeat.erase();
    }
  }
};

} // namespace
} // namespace cp
