//===- NormRule.h - How norms and their adjoints are cut --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_DIALECT_NORMRULE_H
#define CP_LIB_DIALECT_NORMRULE_H

#include "cp/IR/ShardingRule.h"

namespace cp {

/// The rule of a norm of `x`, or of its adjoint. In its text X stands for the
/// dimensions of x, C for its channels and L for those before.
ShardingRule normRule(mlir::Operation *op, llvm::StringRef text,
                      mlir::RankedTensorType x, int64_t groups);
/// How many of the groups a rank has, with `own` of `whole` channels.
int64_t localGroups(int64_t groups, int64_t whole, int64_t own);

} // namespace cp

#endif // CP_LIB_DIALECT_NORMRULE_H
