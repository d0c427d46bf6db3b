//===- ShardingRule.h - How dimensions correspond ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_IR_SHARDINGRULE_H
#define CP_IR_SHARDINGRULE_H

#include "cp/Layout/Layout.h"
#include "cp/Layout/Reduction.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace cp {

/// The factors of one dimension, major to minor. Empty: it cannot be cut.
using DimFactors = llvm::SmallVector<int64_t, 1>;
/// One entry per dimension of a tensor.
using TensorFactors = llvm::SmallVector<DimFactors>;

/// How the dimensions of an op's operands and results correspond, in the manner
/// of einsum: a factor is an index of the op's computation, and a dimension
/// runs over one factor or over several merged ones. Cutting a factor cuts
/// every dimension in which it is the major one.
struct ShardingRule {
  /// Sizes of the factors.
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<TensorFactors> operands, results;
  /// Factors that are summed: cut, they make the result partial.
  llvm::SmallVector<int64_t> reductions;
  /// How the op uses each operand; a partial sum passes additive ones only.
  llvm::SmallVector<Use> uses;
  /// The results are zero, or have no value yet: the one kind of value that is
  /// a partial sum over whatever axes its layout says.
  bool isZero = false;

  /// Reads a rule such as "b l (g q) p; b l (g q); b l g n -> b l (g q) p". One
  /// entry per operand before the arrow and per result after it; factors are
  /// numbered in order of first appearance; `.` is a dimension that cannot be
  /// cut. Factors of operands that no result has are reductions. Sizes come
  /// from the types of `op`. Uses are Other until set. Scalars have an empty
  /// entry.
  static ShardingRule parse(llvm::StringRef text, mlir::Operation *op);

  bool isReduction(int64_t factor) const;
};

/// What the operands' layouts make of an op: per factor the cuts, and the axes
/// over which the result is partial.
struct FactorCuts {
  /// Units are those of the factor's own elements.
  llvm::SmallVector<std::vector<Cut>> factors;
};

/// The cuts that `layout` puts on the factors of `dims`, written into `cuts`
/// where these are empty. Returns the dimension that cannot be had (cut where
/// it has no factor, or through a minor factor, or unlike the cuts already
/// there), or nothing.
std::optional<int64_t> collectCuts(const ShardingRule &rule,
                                   const TensorFactors &dims,
                                   const Layout &layout, FactorCuts &cuts);

/// The layout of a tensor with these factors under `cuts`.
Layout layoutFor(const ShardingRule &rule, const TensorFactors &dims,
                 const FactorCuts &cuts, const Mesh &mesh);

} // namespace cp

#endif // CP_IR_SHARDINGRULE_H
