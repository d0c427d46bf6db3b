//===- Update.h - Which optimizer a step ends with --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRANSFORMS_UPDATE_H
#define CP_TRANSFORMS_UPDATE_H

#include "llvm/ADT/StringRef.h"

namespace cp {

/// What becomes of gradients: they are results, or a step of cp.sgd or
/// cp.adamw.
enum class Optimizer { None, Sgd, Adamw };

/// The options of cp-add-update, and whether it is run.
struct UpdateOptions {
  Optimizer optimizer = Optimizer::None;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0;
  /// A step takes several micro-batches (cp-accumulate): the program is two
  /// then, of which the first adds one more, and the second makes the step.
  bool accumulate = false;
};

/// Names of the scalar arguments and the result that cp-add-update adds.
namespace update {
inline constexpr llvm::StringLiteral rate = "rate";
inline constexpr llvm::StringLiteral step = "step";
inline constexpr llvm::StringLiteral clip = "clip";
inline constexpr llvm::StringLiteral gradNorm = "grad_norm";
/// Those of cp-accumulate: which of a step's batches it is, and the result that
/// sums are divided by.
inline constexpr llvm::StringLiteral microBatch = "micro_batch";
inline constexpr llvm::StringLiteral count = "count";
} // namespace update

} // namespace cp

#endif // CP_TRANSFORMS_UPDATE_H
