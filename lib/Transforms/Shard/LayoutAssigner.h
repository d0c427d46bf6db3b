//===- LayoutAssigner.h - One sweep that gives layouts ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_LAYOUTASSIGNER_H
#define CP_LIB_TRANSFORMS_LAYOUTASSIGNER_H

#include "CutRefusal.h"
#include "Materializer.h"
#include "OrderChoice.h"
#include "PartialSums.h"
#include "cp/IR/CPDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace cp {

/// The layout when sums are made.
LayoutAttr withoutSums(LayoutAttr layout);

/// The axes for a message: "cp", or "ring" and "u".
std::string axesText(const Mesh &mesh, llvm::ArrayRef<Cut> cuts);

/// Gives every tensor of a function a layout, in program order. A value's type
/// is set once; where an op needs another layout, a reshard goes right behind
/// the value's definition.
class LayoutAssigner {
public:
  /// `mesh` is that of `sharding`, which must live as long as this.
  LayoutAssigner(MeshAttr mesh, const Sharding &sharding)
      : meshAttr(mesh), sharding(sharding), mesh(sharding.mesh),
        orders(sharding) {}

  /// Fails after an error on the op that cannot be served.
  llvm::LogicalResult run(mlir::FunctionOpInterface function);

private:
  llvm::LogicalResult assignArguments(mlir::FunctionOpInterface function);
  /// How an argument of this shape is kept.
  std::vector<std::vector<Cut>> keptCuts(llvm::ArrayRef<int64_t> shape) const;
  void gatherForUse(mlir::BlockArgument arg);
  /// Cuts dimension 0 of an argument that has a sequence behind it.
  llvm::LogicalResult assignBatch(mlir::FunctionOpInterface function,
                                  mlir::BlockArgument arg, Layout &layout);
  /// The layout of an argument whose dimension `dim` is the sequence.
  llvm::LogicalResult assignSequence(mlir::FunctionOpInterface function,
                                     mlir::BlockArgument arg, int64_t dim,
                                     Layout &layout);
  llvm::LogicalResult visit(mlir::Operation *op);
  llvm::LogicalResult visitReshard(ReshardOp op);
  llvm::LogicalResult visitWithoutRule(mlir::Operation *op);
  llvm::LogicalResult visitTerminator(mlir::Operation *op);
  /// The layout of a result whose dimension `dim` is the sequence.
  llvm::FailureOr<LayoutAttr> asSequence(mlir::FunctionOpInterface function,
                                         unsigned result, int64_t dim,
                                         LayoutAttr have);
  /// Notes which values are gradients, and of what.
  void findGradients(mlir::FunctionOpInterface function);
  /// Operands that are gradients get the layout of what they are of.
  void layGradients(mlir::Operation *op);
  /// A gradient with the layout `want`, by way of the sums that it is one of.
  void layGradient(mlir::OpOperand &operand, LayoutAttr want);
  /// A sum goes back to where an operand was gathered from for it: the
  /// cotangent of gathered keys travels no farther than they did.
  void returnAsTheyCame(mlir::Operation *op);
  /// `to` has its sequence and batch where `from` has them.
  void keepDims(mlir::Value from, mlir::Value to);
  void finish(mlir::FunctionOpInterface function);

  /// The cuts of the op's factors: what the operands agree on, or the sequence.
  FactorCuts chooseCuts(mlir::Operation *op, const ShardingRule &rule);
  /// Those of an op that depends along the sequence: by its strategy.
  FactorCuts strategyCuts(SequenceOpInterface op, const ShardingRule &rule);
  /// Cuts the factor of the batch, if the op has one that may be cut.
  void addBatchCut(mlir::Operation *op, const ShardingRule &rule,
                   bool mayBePartial, FactorCuts &cuts);
  /// What tensor parallelism adds to a projection of which it cuts the columns
  /// or, with the sum that this makes partial, the rows.
  void addTensorCut(mlir::Operation *op, const ShardingRule &rule,
                    FactorCuts &cuts);
  bool isTensorAxis(int axis) const;
  /// An operand's layout with the factors that are `chosen` cut so, and of all
  /// else what tensor parallelism cuts.
  Layout onTensorAxes(Layout layout, const TensorFactors &dims,
                      const FactorCuts &chosen) const;
  /// Which partial sums the op hands on.
  PartialSums::Passed passedBy(mlir::Operation *op) const;
  /// The cuts of the sequence of an op that depends along none: all that rows
  /// are cut by, unless tensor parallelism cuts something else of it, or it
  /// adds up terms that are yet to be summed over that axis.
  std::vector<Cut> rowsOf(mlir::Operation *op, const ShardingRule &rule,
                          int64_t sequence);
  /// The cuts of a sequence in the order on which `op` runs.
  std::vector<Cut> ordered(mlir::Operation *op,
                           const std::vector<Cut> &cuts) const;
  llvm::LogicalResult checkDivides(mlir::Operation *op,
                                   const ShardingRule &rule,
                                   const FactorCuts &cuts);

  LayoutAttr attr(const Layout &layout);

  MeshAttr meshAttr;
  const Sharding &sharding;
  const Mesh &mesh;
  OrderChoice orders;
  /// Nothing when nobody listens.
  std::optional<CutRemarks> remarks;
  /// The dimension of a value that is the sequence.
  llvm::DenseMap<mlir::Value, int64_t> sequenceDims;
  /// What each gradient is of.
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;
  /// That which is the batch.
  llvm::DenseMap<mlir::Value, int64_t> batchDims;
  Materializer values;
};

} // namespace cp

#endif // CP_LIB_TRANSFORMS_LAYOUTASSIGNER_H
