//===- Requests.h - What is asked of compiler and runtime -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPRUN_REQUESTS_H
#define CP_TOOLS_CPRUN_REQUESTS_H

#include "Options.h"
#include "cp/Compile/Compile.h"
#include "cp/Execution/Memory.h"

namespace cp {

/// What the options ask of the compiler for this module. Errors: options of no
/// meaning, or that exclude each other; those that contradict the module, which
/// are another number of ranks or another mesh than its own, and ways to shard
/// one that is sharded already.
llvm::Expected<CompileOptions> compileOptions(mlir::ModuleOp module,
                                              const Options &options);

/// What they ask of the runtime on so many ranks. The number of threads is
/// given, so that a report can name it.
RunOptions runOptions(const Options &options, int64_t ranks);

/// Fails when what a run holds at once is more than the machine has available,
/// or than --max-memory.
llvm::Error checkMemory(const MemoryUse &needed, const Options &options);

} // namespace cp

#endif // CP_TOOLS_CPRUN_REQUESTS_H
