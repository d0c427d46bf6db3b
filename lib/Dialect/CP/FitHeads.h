//===- FitHeads.h - As many heads as ranks can share ------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_DIALECT_CP_FITHEADS_H
#define CP_LIB_DIALECT_CP_FITHEADS_H

#include "mlir/IR/Builders.h"

namespace cp {

/// The tensors of an op that runs each head by itself, with the dimension of
/// heads, or of groups that heads share. Of the first two there is one or more.
struct HeadTensors {
  llvm::SmallVector<std::pair<mlir::OpOperand *, int64_t>> heads, groups;
  llvm::SmallVector<std::pair<mlir::OpResult, int64_t>> results;
  /// The option that needs no such cut, for errors.
  llvm::StringRef otherwise;
};

/// SequenceOpInterface::prepareHiddenCut of such an op: `parts` ranks can share
/// its heads and groups afterwards, so that the busiest has as few heads as can
/// be. Groups are repeated, and heads of zeros added, in front of the op; its
/// results are cut to the heads that there were. Fails, after an error on the
/// op, where there are fewer heads than ranks.
llvm::LogicalResult fitHeads(mlir::Operation *op, mlir::OpBuilder &builder,
                             int64_t parts, const HeadTensors &tensors);

} // namespace cp

#endif // CP_LIB_DIALECT_CP_FITHEADS_H
