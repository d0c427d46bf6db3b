//===- GradientModules.h - Ops whose gradients are timed --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_BENCHMARKS_WORKER_GRADIENTMODULES_H
#define CP_BENCHMARKS_WORKER_GRADIENTMODULES_H

#include "Question.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace cp::bench {

// All but weightGrad have the setting dtype too.

/// A scan and its gradients, by a cotangent of its result. Settings: length,
/// heads.
mlir::OwningOpRef<mlir::ModuleOp> ssdStep(mlir::MLIRContext &context,
                                          const Question &q);
/// Causal attention and its gradients. Settings: length, heads, size.
mlir::OwningOpRef<mlir::ModuleOp> attentionStep(mlir::MLIRContext &context,
                                                const Question &q);
/// The gradient [n, k] of a projection of m rows by its weight.
mlir::OwningOpRef<mlir::ModuleOp> weightGrad(mlir::MLIRContext &context,
                                             const Question &q);
/// Of a convolution with four taps, bias and SiLU. Settings: length, channels.
mlir::OwningOpRef<mlir::ModuleOp> conv1dGrad(mlir::MLIRContext &context,
                                             const Question &q);
/// Of a gated norm. Settings: length, channels.
mlir::OwningOpRef<mlir::ModuleOp> rmsNormGrad(mlir::MLIRContext &context,
                                              const Question &q);

} // namespace cp::bench

#endif // CP_BENCHMARKS_WORKER_GRADIENTMODULES_H
