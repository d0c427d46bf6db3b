//===- StepSchedule.h - What a step runs, and what lives --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_STEPSCHEDULE_H
#define CP_LIB_TRANSFORMS_STEPSCHEDULE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace cp {

/// The ops of a block with those that are computed once more: each right before
/// the first op of the backward pass that needs it.
class StepSchedule {
public:
  struct Step {
    mlir::Operation *op;
    /// Whether it is the second computation of it.
    bool isAgain;
  };

  /// `again` are ops of the forward pass whose second results the backward
  /// pass, all ops that are not in `forward`, reads in place of the first.
  StepSchedule(mlir::func::FuncOp function,
               const llvm::DenseSet<mlir::Operation *> &forward,
               const llvm::DenseSet<mlir::Operation *> &again);

  /// The most bytes of tensors that live at one time, beside arguments and what
  /// is returned or updated in place. What bufferization makes of it is near.
  int64_t peakBytes() const;

  /// Makes the second computations, with `cp.recomputed`.
  void apply() const;

  llvm::ArrayRef<Step> steps() const { return order; }

private:
  /// A value, of the first computation (0) or of the second (1).
  using Id = std::pair<mlir::Value, unsigned>;

  bool readsAgain(mlir::Value value, const Step &reader) const;
  void addAgain(mlir::Value value, llvm::DenseSet<mlir::Operation *> &made);

  mlir::func::FuncOp function;
  const llvm::DenseSet<mlir::Operation *> &forward, &again;
  std::vector<Step> order;
};

} // namespace cp

#endif // CP_LIB_TRANSFORMS_STEPSCHEDULE_H
