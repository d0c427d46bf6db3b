//===- ShardingModels.h - What sharding rules share -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_DIALECT_CP_SHARDINGMODELS_H
#define CP_LIB_DIALECT_CP_SHARDINGMODELS_H

#include "cp/IR/ShardingRule.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Operation.h"

namespace cp {

/// Dimension i of the tensor is factor i; empty for what is no tensor.
TensorFactors identityFactors(mlir::Type type);

/// Dimension i is factor i in every operand and result, which have the shape of
/// the first result. Operands behind `uses` are used in another way.
ShardingRule elementwiseRule(mlir::Operation *op, llvm::ArrayRef<Use> uses);

/// The rules of the ops of upstream's tensor dialect.
void registerTensorShardingModels(mlir::DialectRegistry &registry);

} // namespace cp

#endif // CP_LIB_DIALECT_CP_SHARDINGMODELS_H
