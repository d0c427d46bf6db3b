//===- Replicas.h - Cotangents of what ranks share whole --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a local program ranks that hold a value whole each have a term of its
// cotangent. At the border of the function both are made one: a cotangent that
// comes in is that of one replica, and one that leaves is the sum of all.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_REPLICAS_H
#define CP_LIB_TRANSFORMS_REPLICAS_H

#include "cp/IR/CPDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace cp {

/// The convention of a function for what several ranks hold: its cotangent has
/// a term on each of them, unless a gather or a slice has `grad_scale`; then
/// the program keeps whole cotangents on all ranks and adds up gradients
/// itself. Layouts may be null: the program then says nothing of other ranks.
class Replicas {
public:
  explicit Replicas(mlir::func::FuncOp function);

  /// The cotangent of a result with this layout, as a term on each rank: it on
  /// the first of those that hold the same, zeros on the others. The cotangent
  /// itself where there is one of each.
  mlir::Value termOf(mlir::OpBuilder &builder, mlir::Value cotangent,
                     LayoutAttr layout) const;

  /// Notes that the gradient of this number has a term on each rank that holds
  /// the argument with this layout.
  void add(size_t number, mlir::Value gradient, LayoutAttr layout);
  /// Puts sums in the place of the gradients noted, by one exchange for all
  /// with the same replicas.
  void makeSums(mlir::OpBuilder &builder,
                llvm::MutableArrayRef<mlir::Value> gradients);

private:
  /// The axes along which ranks hold the same; null where there are none.
  mlir::ArrayAttr axesOf(LayoutAttr layout) const;

  bool areWhole = false;
  using Group = std::pair<MeshAttr, mlir::ArrayAttr>;
  llvm::MapVector<Group, llvm::SmallVector<std::pair<size_t, mlir::Value>>>
      groups;
};

} // namespace cp

#endif // CP_LIB_TRANSFORMS_REPLICAS_H
