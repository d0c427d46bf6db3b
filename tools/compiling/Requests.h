//===- Requests.h - What is asked of compiler and runtime -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_COMPILING_REQUESTS_H
#define CP_TOOLS_COMPILING_REQUESTS_H

#include "Options.h"
#include "cp/Compile/Compile.h"

namespace cp {

/// What the options ask of the compiler for this module. Errors: options of no
/// meaning, or that exclude each other; those that contradict the module, which
/// are another number of ranks or another mesh than its own, and ways to shard
/// one that is sharded already.
llvm::Expected<CompileOptions> compileOptions(mlir::ModuleOp module,
                                              const Options &options);

} // namespace cp

#endif // CP_TOOLS_COMPILING_REQUESTS_H
