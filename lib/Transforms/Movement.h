//===- Movement.h - What a collective moves ---------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_MOVEMENT_H
#define CP_LIB_TRANSFORMS_MOVEMENT_H

#include "cp/IR/CPDialect.h"

namespace cp {

/// Beyond it nobody reads what each rank sends.
inline constexpr int64_t mostExplainedRanks = 4096;

/// What a collective does to one tensor, as far as the axes that it acts on go:
/// cuts by other axes are not known in the local view. Both are empty where a
/// tensor is no part of a whole one: a summary of states.
struct TensorMove {
  std::optional<Layout> from, to;
};

struct Movement {
  MeshAttr mesh;
  mlir::ArrayAttr axes;
  /// One entry per tensor that travels.
  llvm::SmallVector<TensorMove> tensors;
  /// What the rank at each position of the group sends to others; the runtime
  /// counts the same. Empty on a mesh of more than `mostExplainedRanks`.
  llvm::SmallVector<int64_t> bytesByPosition;

  /// The same for each rank of the mesh, or empty.
  llvm::SmallVector<int64_t> bytesByRank() const;
};

/// The movement of a collective of the local view, a slice included, which
/// moves nothing. Nothing for any other op, and for shapes that are not static.
std::optional<Movement> movementOf(mlir::Operation *op);

/// For numbers of at least 0: the largest int64_t where it does not fit.
int64_t addSaturating(int64_t a, int64_t b);
int64_t multiplySaturating(int64_t a, int64_t b);

/// The bytes of one element; 0 for a type that is no number.
int64_t elementBytes(mlir::Type tensor);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_MOVEMENT_H
