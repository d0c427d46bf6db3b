//===- PartialSums.h - Sums that ranks have yet to add up -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_PARTIALSUMS_H
#define CP_LIB_TRANSFORMS_PARTIALSUMS_H

#include "cp/IR/CPDialect.h"

namespace cp {

/// The axes over which the results of one op with these cuts are partial sums.
class PartialSums {
public:
  /// What an op may hand on as terms of its result: no operand, those that are
  /// partial sums, or also parts that may be terms (termAxesOf).
  enum class Passed { None, Sums, SumsAndParts };
  PartialSums(mlir::Operation *op, const ShardingRule &rule,
              const FactorCuts &cuts, Passed may);

  /// Of a result: those that cut a factor which it sums over, and those over
  /// which operands are partial, or may be (termAxesOf), where the op makes of
  /// such terms terms of its own result, which are no more bytes. So one
  /// exchange is enough for all that are added up.
  std::vector<int> ofResult(unsigned result) const;
  /// Of an operand, as the op takes it.
  std::vector<int> ofOperand(mlir::OpOperand &operand) const;

private:
  /// The axes over which ranks have, or may have, terms of an operand.
  llvm::SmallVector<int64_t> axesOf(mlir::Value operand) const;
  /// Whether parts over this axis give parts.
  bool passes(int axis) const;

  mlir::Operation *op;
  const ShardingRule &rule;
  const FactorCuts &cuts;
  const Passed may;
  std::vector<int> passed;
};

/// The axes over which ranks have terms of a value that are yet to be added up,
/// or may have: parts of it, where it is little, with zeros around them.
llvm::SmallVector<int64_t> termAxesOf(mlir::Value value);

/// Whether all that an op adds its products to is zero, on every rank.
bool startsFromZero(mlir::Operation *op, const ShardingRule &rule);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_PARTIALSUMS_H
