//===- DocumentsAlike.h - Ranks with the same documents ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_SHARD_DOCUMENTSALIKE_H
#define CP_LIB_TRANSFORMS_SHARD_DOCUMENTSALIKE_H

#include "cp/IR/CPDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace cp {

/// Ranks compare their documents over every axis that does not cut the lists:
/// one that cuts heads, or replicates, has the tokens of others too, and with
/// documents of its own they would be of other sequences.
class DocumentsAlike {
public:
  /// Of a function whose types have layouts.
  explicit DocumentsAlike(mlir::FunctionOpInterface function);

  /// Once it is one rank's: lets `cp.cut_positions` stand for each
  /// `cp.positions` with documents that ranks share, and say over which axes
  /// where these are not those of its cuts. All go in front.
  void addTo(mlir::FunctionOpInterface function) const;

private:
  struct Ranks {
    MeshAttr mesh;
    mlir::ArrayAttr axes;
  };
  /// What stands for one of them, where the builder is.
  static mlir::Operation *place(mlir::OpBuilder &builder, mlir::Operation *op,
                                const Ranks &ranks);

  llvm::DenseMap<mlir::Value, Ranks> known;
};

} // namespace cp

#endif // CP_LIB_TRANSFORMS_SHARD_DOCUMENTSALIKE_H
