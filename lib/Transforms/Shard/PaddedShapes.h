//===- PaddedShapes.h - What has more rows than before ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_PADDEDSHAPES_H
#define CP_LIB_TRANSFORMS_PADDEDSHAPES_H

#include "cp/IR/CPDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace cp {

/// An op's rule, and the sizes that its factors get.
struct PaddedFactors {
  ShardingRule rule;
  llvm::SmallVector<int64_t> sizes;

  bool isPadded(int64_t factor) const {
    return sizes[factor] != rule.sizes[factor];
  }
};

/// The shapes of a function's values when some dimensions of arguments get
/// longer, as far as rules carry it, to users and to what goes together with
/// them.
class PaddedShapes {
public:
  explicit PaddedShapes(mlir::FunctionOpInterface function)
      : body(function.getFunctionBody().front()) {}

  /// The dimension of an argument gets `size`.
  void pad(mlir::BlockArgument argument, int64_t dim, int64_t size);
  /// Follows the rules, until nothing changes. What is made of nothing gets a
  /// copy for each use, of which one may get longer and another not. Fails
  /// after an error on an op without a rule, or on an argument that would have
  /// to get longer.
  llvm::LogicalResult spread();

  /// What a value's shape becomes.
  llvm::ArrayRef<int64_t> of(mlir::Value value) const;
  bool isPadded(mlir::Value value) const { return shapes.contains(value); }
  bool isPadded(mlir::Value value, int64_t dim) const;
  /// Fails after an error where the op has no rule.
  llvm::FailureOr<PaddedFactors> factorsOf(mlir::Operation *op) const;
  /// Writes the shapes into the types and what else has sizes.
  void apply();

private:
  void change(mlir::Value value, llvm::SmallVector<int64_t> shape);
  llvm::LogicalResult visit(mlir::Operation *op);
  void own(mlir::OpOperand &operand);

  mlir::Block &body;
  llvm::MapVector<mlir::Value, llvm::SmallVector<int64_t>> shapes;
  llvm::SetVector<mlir::Operation *> pending;
};

} // namespace cp

#endif // CP_LIB_TRANSFORMS_PADDEDSHAPES_H
