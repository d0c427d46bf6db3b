//===- Jit.h - Machine code for this process --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_COMPILE_JIT_H
#define CP_LIB_COMPILE_JIT_H

#include "cp/Compile/Compile.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/Error.h"

namespace cp {

/// Machine code that lives as long as `jit`.
struct CompiledEntry {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  EntryFn function = nullptr;
};

/// Compiles a module of the LLVM dialect; its calls of the runtime go to the
/// one in this process. The entry function is a list of calls and is not
/// optimised; kernels are at `level`. `operations` may be called too.
llvm::Expected<CompiledEntry>
compileToMachineCode(mlir::ModuleOp module, llvm::StringRef entry,
                     llvm::CodeGenOptLevel level,
                     llvm::ArrayRef<RuntimeOperation> operations);

/// The functions that compiled code calls: the runtime's and `operations`.
/// Fails when one of these is null or has a name of the runtime's.
llvm::Expected<llvm::orc::SymbolMap>
runtimeSymbols(llvm::orc::LLJIT &jit,
               llvm::ArrayRef<RuntimeOperation> operations);

} // namespace cp

#endif // CP_LIB_COMPILE_JIT_H
