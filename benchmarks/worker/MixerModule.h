//===- MixerModule.h - Some Mamba-2 mixers, one behind the other *- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_BENCHMARKS_WORKER_MIXERMODULE_H
#define CP_BENCHMARKS_WORKER_MIXERMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>

namespace cp::bench {

struct MixerShape {
  int64_t tokens, hidden, heads, headSize, stateSize, layers;
};

/// A module of f32 mixers on whole tensors of shape [1, tokens, hidden], one
/// group, four taps; all with the same weights. Null after an error, which goes
/// to the context's diagnostics.
mlir::OwningOpRef<mlir::ModuleOp> mixerModule(mlir::MLIRContext &context,
                                              const MixerShape &shape);

} // namespace cp::bench

#endif // CP_BENCHMARKS_WORKER_MIXERMODULE_H
