//===- OpenAttentionBlock.h - An attention layer in parts -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_OPENATTENTIONBLOCK_H
#define CP_LIB_TRANSFORMS_OPENATTENTIONBLOCK_H

#include "cp/IR/CPDialect.h"

namespace cp {

/// What the block computes, in ops at its place: projections, `cp.rotary` and
/// `cp.attention`. Precondition: all shapes are static.
mlir::Value openAttentionBlock(AttentionBlockOp block);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_OPENATTENTIONBLOCK_H
