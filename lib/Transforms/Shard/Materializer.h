//===- Materializer.h - Values in the layouts they are used in --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_MATERIALIZER_H
#define CP_LIB_TRANSFORMS_MATERIALIZER_H

#include "cp/IR/CPDialect.h"

namespace cp {

bool isTensor(mlir::Value value);
void setLayout(mlir::Value value, LayoutAttr layout);

/// Scalars, constants of one value, empty tensors, fills and positions take
/// whatever layout their user needs. (Of other constants every rank has the
/// whole.)
bool isFree(mlir::Operation *op);
/// Whether a value is zero, and free.
bool isFreeZero(mlir::Value value);

/// Gives values the layouts in which they are used: once for all users that
/// want the same.
class Materializer {
public:
  /// Makes the operand a value with the layout `want`: the value it was, if
  /// that has it or is free, and else a reshard right behind the definition, or
  /// at `late` where that is given.
  void materialize(mlir::OpOperand &operand, LayoutAttr want,
                   mlir::Operation *late = nullptr);
  /// Gives a value without layout, whose definition has no say in it, `want`.
  mlir::Value adopt(mlir::Value value, LayoutAttr want);

private:
  /// What the value is computed by once more, from operands with the layout
  /// `want`; null where that cannot be.
  mlir::Value recompute(mlir::Value value, LayoutAttr want);

  llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, mlir::Value> known;
};

} // namespace cp

#endif // CP_LIB_TRANSFORMS_MATERIALIZER_H
