//===- LocalProgram.h - The program of one rank -----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_COMPILE_LOCALPROGRAM_H
#define CP_LIB_COMPILE_LOCALPROGRAM_H

#include "Signature.h"
#include "mlir/IR/OwningOpRef.h"

namespace cp {

/// A module whose only public function is one rank's program, on tensors.
struct LocalProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp entry;
  /// What the module was before.
  Stage stage = Stage::Global;
  Mesh mesh;
  Signature signature;
};

/// Shards a copy of `module`; errors as of compileProgram.
llvm::Expected<LocalProgram> makeLocal(mlir::ModuleOp module,
                                       const CompileOptions &options);

/// One rank's program in the LLVM dialect.
struct LoweredProgram {
  LocalProgram local;
  std::string name;
  int64_t arenaBytes = 0;
};

/// Shards and lowers a copy of `module`: one program, or the two of
/// compileSteps. Errors as of these.
llvm::Expected<std::vector<LoweredProgram>>
lowerPrograms(mlir::ModuleOp module, const CompileOptions &options);

/// Of the text of a lowered module: the order of things in bytecode is not the
/// same in every process. Says nothing of what a processor makes of it.
uint64_t hashOf(mlir::ModuleOp lowered);

} // namespace cp

#endif // CP_LIB_COMPILE_LOCALPROGRAM_H
