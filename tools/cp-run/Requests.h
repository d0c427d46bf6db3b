//===- Requests.h - What is asked of compiler and runtime -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPRUN_REQUESTS_H
#define CP_TOOLS_CPRUN_REQUESTS_H

#include "Options.h"
#include "cp/Execution/Program.h"

namespace cp {

/// What the options ask of the compiler. Errors: options of no meaning, or that
/// exclude each other.
llvm::Expected<CompileOptions> compileOptions(const Options &options);

/// What they ask of the runtime.
RunOptions runOptions(const Options &options);

} // namespace cp

#endif // CP_TOOLS_CPRUN_REQUESTS_H
