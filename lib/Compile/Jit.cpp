//===- Jit.cpp - Machine code for this process ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Jit.h"

#include "MachineCode.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/Support/TargetSelect.h"

using namespace llvm;

namespace cp {

static Error addCode(orc::LLJIT &jit,
                     const orc::JITTargetMachineBuilder &builder,
                     CodeGenOptLevel level, Module &module) {
  Expected<std::unique_ptr<MemoryBuffer>> object =
      objectOf(builder, level, module);
  if (!object)
    return object.takeError();
  return jit.addObjectFile(std::move(*object));
}

/// The JIT with the runtime's functions, and libm's and memcpy for kernels.
static Expected<std::unique_ptr<orc::LLJIT>>
makeJit(const orc::JITTargetMachineBuilder &builder,
        ArrayRef<RuntimeOperation> operations) {
  Expected<std::unique_ptr<orc::LLJIT>> jit =
      orc::LLJITBuilder().setJITTargetMachineBuilder(builder).create();
  if (!jit)
    return jit.takeError();
  orc::JITDylib &library = (*jit)->getMainJITDylib();
  Expected<orc::SymbolMap> symbols = runtimeSymbols(**jit, operations);
  if (!symbols)
    return symbols.takeError();
  if (Error error = library.define(orc::absoluteSymbols(std::move(*symbols))))
    return error;
  Expected<std::unique_ptr<orc::DynamicLibrarySearchGenerator>> process =
      orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          (*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  return jit;
}

Expected<CompiledEntry>
compileToMachineCode(mlir::ModuleOp module, StringRef entry,
                     CodeGenOptLevel level,
                     ArrayRef<RuntimeOperation> operations) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  LLVMContext context;
  std::unique_ptr<Module> main = translateToLLVM(module, context);
  if (!main || !main->getFunction(entry))
    return createStringError("the program could not be translated to LLVM IR");
  Expected<orc::JITTargetMachineBuilder> builder =
      orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  Expected<std::unique_ptr<orc::LLJIT>> jit = makeJit(*builder, operations);
  if (!jit)
    return jit.takeError();
  std::unique_ptr<Module> kernels = splitKernels(*main, entry);
  if (Error error = addCode(**jit, *builder, level, *kernels))
    return error;
  // The entry is a list of calls: optimising it gains nothing, and takes time
  // that grows faster than its length.
  if (Error error = addCode(**jit, *builder, CodeGenOptLevel::None, *main))
    return error;
  Expected<orc::ExecutorAddr> address = (*jit)->lookup(entry);
  if (!address)
    return address.takeError();
  return CompiledEntry{std::move(*jit), address->toPtr<EntryFn>()};
}

} // namespace cp
