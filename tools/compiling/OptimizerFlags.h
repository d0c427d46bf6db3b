//===- OptimizerFlags.h - Which optimizer a step ends with ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_COMPILING_OPTIMIZERFLAGS_H
#define CP_TOOLS_COMPILING_OPTIMIZERFLAGS_H

#include "RunFlags.h"
#include "cp/Transforms/Residuals.h"
#include "cp/Transforms/Update.h"

namespace cp {

struct OptimizerFlags {
  UpdateOptions update;
  /// Of a rank's program.
  ResidualOptions memory;
};

/// The flags that set them, but for accumulation.
void defineOptimizer(OptimizerFlags &flags, llvm::cl::OptionCategory &category);
/// --overlap, of every tool that compiles gradients.
void defineOverlap(bool &isOn, llvm::cl::OptionCategory &category);

/// Refuses numbers that no program can be made for.
llvm::Error checkOptimizer(const OptimizerFlags &flags);

} // namespace cp

#endif // CP_TOOLS_COMPILING_OPTIMIZERFLAGS_H
