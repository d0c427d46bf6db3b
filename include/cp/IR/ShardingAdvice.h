//===- ShardingAdvice.h - What to do without a rule -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_SHARDINGADVICE_H
#define CP_IR_SHARDINGADVICE_H

#include "mlir/IR/Operation.h"

#include <string>

namespace cp {

/// What to write in place of an upstream op that has no sharding rule, by its
/// name ("tensor.gather"); empty for an op of which nothing is known. Static
/// storage.
llvm::StringRef shardingAdvice(llvm::StringRef op);

/// The same for an error, with a way out for every op.
std::string withoutRule(mlir::Operation *op);

} // namespace cp

#endif // CP_IR_SHARDINGADVICE_H
