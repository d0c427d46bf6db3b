//===- ProveMask.h - Masks that say what attributes say ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_PROVEMASK_H
#define CP_LIB_TRANSFORMS_PROVEMASK_H

#include "cp/IR/CPDialect.h"

namespace cp {

/// Replaces the mask of `attention`, which has one, by `causal` and `window`,
/// so that it goes with any cut and order of the sequence. Fails, after an
/// error on the op, when the mask is not a constant or says something else.
llvm::LogicalResult proveMask(AttentionOp attention);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_PROVEMASK_H
