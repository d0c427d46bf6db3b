//===- CheckEach.h - A run checked op by op ---------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPRUN_CHECKEACH_H
#define CP_TOOLS_CPRUN_CHECKEACH_H

#include "Options.h"
#include "cp/Compile/Compile.h"
#include "cp/Execution/CompareEach.h"

namespace cp {

/// --check=each: runs `module` with all that its ops compute as results, and
/// `reference` on one rank with reference kernels, and compares value by value.
/// Prints what came of it; fails when the runs part.
llvm::Error checkEach(mlir::ModuleOp module, mlir::ModuleOp reference,
                      const Options &options, const CompileOptions &compile);

} // namespace cp

#endif // CP_TOOLS_CPRUN_CHECKEACH_H
