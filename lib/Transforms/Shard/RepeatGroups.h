//===- RepeatGroups.h - Repeats move to before the exchange -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_REPEATGROUPS_H
#define CP_LIB_TRANSFORMS_REPEATGROUPS_H

#include "cp/IR/CPDialect.h"

namespace cp {

/// Moves a repeat up through the ops that compute its source row by row, until
/// an op that sums over a dimension, or an argument: f(repeat(x)) instead of
/// repeat(f(x)), so that the exchange in front of f reads x and repeats as it
/// copies. What the ops are follows from their sharding rules.
void hoistRepeat(RepeatOp repeat);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_REPEATGROUPS_H
