//===- Gradients.h - Where gradients come from ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TRANSFORMS_GRADIENTS_H
#define CP_TRANSFORMS_GRADIENTS_H

namespace cp {

/// What a pipeline derives gradients from: nothing, a loss, or cotangents that
/// are arguments.
enum class GradientsFrom { None, Loss, Cotangents };

/// Which program is differentiated. Both give the same gradients, by two ways
/// that have no communication rule in common.
enum class DifferentiatedView {
  /// Whole tensors, which are cut afterwards, the gradients as all else.
  Global,
  /// The program of one rank, with its exchanges.
  Local
};

} // namespace cp

#endif // CP_TRANSFORMS_GRADIENTS_H
