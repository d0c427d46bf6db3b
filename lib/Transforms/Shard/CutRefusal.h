//===- CutRefusal.h - Cuts that an op cannot have ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_CUTREFUSAL_H
#define CP_LIB_TRANSFORMS_CUTREFUSAL_H

#include "cp/IR/CPDialect.h"
#include "cp/Transforms/Layers.h"

namespace cp {

/// Why the cuts that an op's operands came with do not go together.
struct CutRefusal {
  enum class Kind {
    /// The op's rule does not allow a cut of this dimension.
    WholeDimension,
    /// Its parts would not be whole runs of the rule's factor.
    Uneven,
    /// Another operand is cut in another way there.
    Unlike,
    /// The op sums over the dimension.
    Summed,
    /// The op sums over it, and parts have room for more than they hold.
    Room,
    /// The axis cuts another dimension of the op already.
    AxisTwice,
  };
  Kind kind;
  unsigned operand;
  int64_t dim;
};

/// What of an operand's layout counts for the op.
using TakenLayout =
    llvm::function_ref<Layout(Layout, const TensorFactors &factors)>;
/// Whether results may be partial sums over the axis.
using MaySum = llvm::function_ref<bool(int axis)>;

/// The cuts that the operands' layouts, as they are `taken`, put on the factors
/// of the op, beside those that are there; or why they cannot be had together:
/// a dimension against the rule, an axis on two factors, or a factor that all
/// sum over, on an axis over which they may not or in parts of sizes of their
/// own.
std::optional<CutRefusal> collectOperandCuts(mlir::Operation *op,
                                             const ShardingRule &rule,
                                             FactorCuts &cuts,
                                             TakenLayout taken, MaySum maySum);

/// With `chosen` in place of what cuts that factor, where it has a dimension by
/// itself.
Layout recut(Layout layout, const TensorFactors &factors, int64_t factor,
             const std::vector<Cut> &chosen);

/// Says which cuts were refused, by remarks of category `cut`.
class CutRemarks {
public:
  explicit CutRemarks(mlir::FunctionOpInterface function)
      : function(function), layers(function) {}

  /// The op got the cuts `instead`: those of the sequence, or none.
  void refused(mlir::Operation *op, const CutRefusal &refusal,
               const ShardingRule &rule, const FactorCuts &instead);

private:
  mlir::FunctionOpInterface function;
  Layers layers;
};

} // namespace cp

#endif // CP_LIB_TRANSFORMS_CUTREFUSAL_H
