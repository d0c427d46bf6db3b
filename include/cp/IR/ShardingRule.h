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
  /// Per result the factors that it is a sum over: cut, they make it partial.
  /// Empty where there are none.
  llvm::SmallVector<DimFactors> sums;
  /// How the op uses each operand; a partial sum passes additive ones only.
  llvm::SmallVector<Use> uses;
  /// The results are zero, or have no value yet: the one kind of value that is
  /// a partial sum over whatever axes its layout says.
  bool isZero = false;

  /// Reads a rule such as "b l (g q) p; b l (g q); b l g n -> b l (g q) p". One
  /// entry per operand before the arrow and per result after it; factors are
  /// numbered in order of first appearance; `.` is a dimension that cannot be
  /// cut. Behind a result may stand the factors that it is a sum over, as in
  /// "b l c; b l d -> b l c; c d {b l}"; where none says any, that is those of
  /// operands that no result has. Sizes come from the types of `op`. Uses are
  /// Other until set. Scalars have an empty entry.
  static ShardingRule parse(llvm::StringRef text, mlir::Operation *op);

  llvm::ArrayRef<int64_t> sumsOf(unsigned result) const {
    return sums.empty() ? llvm::ArrayRef<int64_t>() : sums[result];
  }
  /// Whether every result is a sum over it.
  bool isReduction(int64_t factor) const;
  /// Whether what an op makes of it says nothing of one element alone: a result
  /// is a sum over it, or has it in no dimension.
  bool isSummed(int64_t factor) const;
  /// Whether a result has it in a dimension.
  bool isKept(int64_t factor) const;
  /// Whether the op treats each element of a batch by itself along the factor:
  /// whatever has it has one other factor, the same everywhere, as its first
  /// dimension. No other op may see rows of which each element has its own
  /// order.
  ///   "b l c; c -> b l c"    of l: yes
  ///   "b l c; l c -> b l c"  no: one row of the table is for all elements
  ///   "b l c -> l c"         no: what is added up must be of one row
  bool isBatchwise(int64_t factor) const;
};

/// What an op makes, along one axis, of operands that are such, the others of
/// its rule's operands being no tensors or replicated. `sumIsCut`: the axis
/// cuts a factor that the result is a sum over. Nothing where it may not see
/// them; `culprit` is then the first operand that does not fit, or, where the
/// product is a partial sum and what it is added to is not (or the other way
/// round), the number of operands.
std::optional<Sum> sumThrough(const ShardingRule &rule,
                              llvm::ArrayRef<Sum> operands, bool sumIsCut,
                              unsigned &culprit);

/// What the operands' layouts make of an op: per factor the cuts, and the axes
/// over which the result is partial.
struct FactorCuts {
  /// Units are those of the factor's own elements.
  llvm::SmallVector<std::vector<Cut>> factors;
};

/// The cuts that `layout` puts on the factors of `dims`, written into `cuts`
/// where these are empty. Returns the dimension that cannot be had (cut where
/// it has no factor, or through a minor factor, or unlike the cuts already
/// there), or nothing. Cuts by sizes of a factor that the op sums over, which
/// would count what parts only have room for, are left to the caller.
std::optional<int64_t> collectCuts(const ShardingRule &rule,
                                   const TensorFactors &dims,
                                   const Layout &layout, FactorCuts &cuts);

/// The layout of a tensor with these factors under `cuts`.
Layout layoutFor(const ShardingRule &rule, const TensorFactors &dims,
                 const FactorCuts &cuts, const Mesh &mesh);

} // namespace cp

#endif // CP_IR_SHARDINGRULE_H
