//===- OrderChoice.h - Which ops run on which token order -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_ORDERCHOICE_H
#define CP_LIB_TRANSFORMS_ORDERCHOICE_H

#include "cp/Transforms/Sharding.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseSet.h"

namespace cp {

/// Where the order of tokens changes, in a program of which some ops cannot run
/// on the order that was asked for: scans and windows on stripes, say.
///
/// Arguments and attention keep the order, such ops take contiguous rows, and
/// all others can have either. Of an order per document callers know nothing:
/// arguments and results are contiguous rows, and attention keeps it alone. No
/// other op can have it that mixes elements of the batch, each of which has
/// documents of its own; and of rows over several axes, of which attention
/// leaves the last to its heads, none at all.
/// Each value that has to be had in both costs its bytes, and the choice costs
/// least: so conversions stand where tensors are narrow (on the residual, not
/// behind a projection), and none between layers that agree.
class OrderChoice {
public:
  /// `sharding` must live as long as this.
  explicit OrderChoice(const Sharding &sharding) : sharding(sharding) {}

  /// Chooses for the ops of a function with one block. Nothing to do, and no
  /// cost, when every op can run on the order. Fails after an error of an op's
  /// sharding rule, and of an order per document after one that nothing in the
  /// function can have it.
  llvm::LogicalResult run(mlir::FunctionOpInterface function);

  /// Whether values come in another order than the one asked for.
  bool isMixed() const {
    return !contiguous.empty() || sharding.isPerDocument();
  }
  /// Whether `op` runs on contiguous rows instead.
  bool isContiguous(mlir::Operation *op) const {
    return contiguous.contains(op);
  }

private:
  /// Whether an op that depends along the sequence must have contiguous rows.
  bool needsContiguous(SequenceOpInterface op) const;
  /// Whether an op other than attention, with the sequence as that factor, can
  /// have the order. One per document is another one in each element of the
  /// batch, and of rows over several axes it is that of the first alone.
  bool mayKeep(const ShardingRule &rule, int64_t factor) const;
  llvm::LogicalResult refuseOrder(mlir::FunctionOpInterface function) const;

  const Sharding &sharding;
  llvm::DenseSet<mlir::Operation *> contiguous;
};

/// The factor of `op` that is the sequence, by the dimensions of values that
/// are: its own word, or that of an operand; -1 if there is none.
int64_t
sequenceFactorOf(mlir::Operation *op, const ShardingRule &rule,
                 const llvm::DenseMap<mlir::Value, int64_t> &sequenceDims);

/// The factor of the first operand's dimension that `dims` name; -1 if none is
/// of one factor alone.
int64_t factorOf(mlir::Operation *op, const ShardingRule &rule,
                 const llvm::DenseMap<mlir::Value, int64_t> &dims);

/// Notes which dimensions of the op's results run over `factor` alone.
void noteFactor(mlir::Operation *op, const ShardingRule &rule, int64_t factor,
                llvm::DenseMap<mlir::Value, int64_t> &dims);

/// The same of the factor `sequence`, and of what an op along it reads whole.
void noteSequence(mlir::Operation *op, const ShardingRule &rule,
                  int64_t sequence,
                  llvm::DenseMap<mlir::Value, int64_t> &sequenceDims);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_ORDERCHOICE_H
