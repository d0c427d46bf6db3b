//===- Rules.h - Which dimensions correspond --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRACE_RULES_H
#define CP_LIB_TRACE_RULES_H

#include "cp/IR/CPDialect.h"

namespace cp {

/// Which dimensions of an op run over one index, by numbers; -1 for one that
/// runs over none.
struct Correspondence {
  llvm::SmallVector<llvm::SmallVector<int64_t>> operands, results;
  llvm::SmallVector<Use> uses;
  /// Per result the indices that it takes all of, and whether it is a sum.
  llvm::SmallVector<llvm::SmallVector<int64_t>> reductions;
  bool sums = false;
  /// Indices whose number the op computes with.
  llvm::SmallVector<int64_t> counted;
  int64_t size = 0;
};

/// That of an op with a sharding rule, with the dimensions too that no rank may
/// cut; fails, after an error on the op, when it has none.
llvm::FailureOr<Correspondence> correspondenceOf(mlir::Operation *op);

} // namespace cp

#endif // CP_LIB_TRACE_RULES_H
