//===- Trace.h - A program on ids -------------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPRUN_TRACE_H
#define CP_TOOLS_CPRUN_TRACE_H

#include "Options.h"
#include "cp/Trace/TraceTokens.h"
#include "llvm/Support/JSON.h"

namespace cp {

/// --trace-tokens: prints what came of it; fails when something is misplaced.
/// `json` receives the report.
llvm::Error traceModel(mlir::ModuleOp module, const CompileOptions &compile,
                       llvm::json::Value &json);

} // namespace cp

#endif // CP_TOOLS_CPRUN_TRACE_H
