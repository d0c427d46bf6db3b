//===- MachineCode.h - From the LLVM dialect to object code -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_COMPILE_MACHINECODE_H
#define CP_LIB_COMPILE_MACHINECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

namespace cp {

/// A module of the LLVM dialect as LLVM IR; null, with diagnostics, if it is
/// none.
std::unique_ptr<llvm::Module> translateToLLVM(mlir::ModuleOp module,
                                              llvm::LLVMContext &context);

/// The object code of `module`, generated at this level, and optimised at every
/// level but None.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
objectOf(llvm::orc::JITTargetMachineBuilder builder,
         llvm::CodeGenOptLevel level, llvm::Module &module);

/// Optimises a module for a machine.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

/// Takes all functions but `entry` out of `module`, which keeps its tables.
std::unique_ptr<llvm::Module> splitKernels(llvm::Module &module,
                                           llvm::StringRef entry);

} // namespace cp

#endif // CP_LIB_COMPILE_MACHINECODE_H
