//===- Mlp.h - Work on elements, as between an MLP's projections -*- C++ -*-==//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_FRONTEND_MLP_H
#define CP_LIB_FRONTEND_MLP_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace cp {

/// silu(gate) * up, element by element, with silu(x) = x / (1 + exp(-x)); in
/// f32 or better, rounded once. Precondition: one type of floats.
mlir::Value createSwiGlu(mlir::ImplicitLocOpBuilder &builder, mlir::Value gate,
                         mlir::Value up);

/// max(x, 0)^2, likewise.
mlir::Value createSquaredRelu(mlir::ImplicitLocOpBuilder &builder,
                              mlir::Value x);

/// x * factor, likewise; x itself for the factor 1.
mlir::Value createScaled(mlir::ImplicitLocOpBuilder &builder, mlir::Value x,
                         double factor);

/// x / divisor, likewise.
mlir::Value createDivided(mlir::ImplicitLocOpBuilder &builder, mlir::Value x,
                          double divisor);

} // namespace cp

#endif // CP_LIB_FRONTEND_MLP_H
