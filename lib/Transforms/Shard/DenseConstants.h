//===- DenseConstants.h - Constants by their elements -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_SHARD_DENSECONSTANTS_H
#define CP_LIB_TRANSFORMS_SHARD_DENSECONSTANTS_H

#include "mlir/IR/Operation.h"

namespace cp {

/// Writes constants of resources (`dense_resource<blob>`), and sparse ones, by
/// their elements. A resource that is not there, or is of another size, stays.
/// Whether there were any.
bool makeDense(mlir::Operation *root);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_SHARD_DENSECONSTANTS_H
