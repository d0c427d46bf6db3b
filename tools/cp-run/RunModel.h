//===- RunModel.h - A run from inputs to report -----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CPRUN_RUNMODEL_H
#define CP_TOOLS_CPRUN_RUNMODEL_H

#include "Options.h"
#include "cp/Compile/Compile.h"
#include "cp/Execution/Memory.h"
#include "mlir/IR/BuiltinOps.h"

namespace cp {

/// Compiles and runs `module`, checks what it gives against `reference` or a
/// file if that is asked for, and writes results and report. Whatever can be
/// refused is refused before weights are drawn; results are saved before the
/// check, so that one that fails or cannot be made loses nothing.
llvm::Error runModel(mlir::ModuleOp module, mlir::ModuleOp reference,
                     const Options &options);

} // namespace cp

#endif // CP_TOOLS_CPRUN_RUNMODEL_H
