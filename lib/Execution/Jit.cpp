//===- Jit.cpp - Machine code for this process ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Jit.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"

using namespace llvm;

namespace cp {

/// Optimises kernels; functions marked optnone stay as they are.
static void optimize(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2)
      .run(module, modules);
}

/// The LLVM IR of `module` with the entry marked to be left alone.
static Expected<orc::ThreadSafeModule>
translate(mlir::ModuleOp module, StringRef entry, TargetMachine &machine) {
  auto context = std::make_unique<LLVMContext>();
  std::unique_ptr<Module> translated =
      mlir::translateModuleToLLVMIR(module, *context);
  if (!translated)
    return createStringError("the program could not be translated to LLVM IR");
  translated->setDataLayout(machine.createDataLayout());
  translated->setTargetTriple(machine.getTargetTriple());
  Function *main = translated->getFunction(entry);
  if (!main)
    return createStringError("the lowered module has no function '" + entry +
                             "'");
  main->addFnAttr(Attribute::OptimizeNone);
  main->addFnAttr(Attribute::NoInline);
  optimize(*translated, machine);
  return orc::ThreadSafeModule(std::move(translated), std::move(context));
}

Expected<CompiledEntry> compileToMachineCode(mlir::ModuleOp module,
                                             StringRef entry) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  Expected<orc::JITTargetMachineBuilder> builder =
      orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  Expected<std::unique_ptr<TargetMachine>> machine =
      builder->createTargetMachine();
  if (!machine)
    return machine.takeError();
  Expected<orc::ThreadSafeModule> code = translate(module, entry, **machine);
  if (!code)
    return code.takeError();
  CompiledEntry compiled;
  Expected<std::unique_ptr<orc::LLJIT>> jit =
      orc::LLJITBuilder().setJITTargetMachineBuilder(*builder).create();
  if (!jit)
    return jit.takeError();
  compiled.jit = std::move(*jit);
  orc::JITDylib &library = compiled.jit->getMainJITDylib();
  if (Error error =
          library.define(orc::absoluteSymbols(runtimeSymbols(*compiled.jit))))
    return error;
  Expected<std::unique_ptr<orc::DynamicLibrarySearchGenerator>> process =
      orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          compiled.jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  // For libm and memcpy, which kernels may call.
  library.addGenerator(std::move(*process));
  if (Error error = compiled.jit->addIRModule(std::move(*code)))
    return error;
  Expected<orc::ExecutorAddr> address = compiled.jit->lookup(entry);
  if (!address)
    return address.takeError();
  compiled.function = address->toPtr<EntryFn>();
  return compiled;
}

} // namespace cp
