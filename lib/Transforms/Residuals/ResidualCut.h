//===- ResidualCut.h - What to keep and what to make again ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_RESIDUALCUT_H
#define CP_LIB_TRANSFORMS_RESIDUALCUT_H

#include "cp/Transforms/Layers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace cp {

/// The forward pass of a step as a graph: what each op costs, what each value
/// takes, and what the backward pass reads of it.
class ResidualCut {
public:
  /// With `exchanges` what travelled may travel again.
  ResidualCut(mlir::func::FuncOp function, bool exchanges);

  /// The ops to compute again where a byte that is kept for the backward pass
  /// is worth `costPerByte`: the cheapest cut between what is kept and what is
  /// made again. Of two prices the higher has all ops of the lower. What goes
  /// from layer to layer is kept, so that no more than one layer is made again
  /// at a time.
  llvm::DenseSet<mlir::Operation *> opsAgain(int64_t costPerByte) const;

  /// The ops of the forward pass.
  const llvm::DenseSet<mlir::Operation *> &forward() const { return ops; }
  const std::string &layerOf(mlir::Operation *op) const {
    return layers.find(op)->second;
  }

private:
  bool canBeAgain(mlir::Operation *op, bool exchanges) const;
  bool leavesLayer(mlir::Operation *op) const;

  mlir::Block &block;
  llvm::DenseSet<mlir::Operation *> ops, candidates;
  llvm::DenseMap<mlir::Operation *, std::string> layers;
};

} // namespace cp

#endif // CP_LIB_TRANSFORMS_RESIDUALCUT_H
