//===- MachineCode.cpp - From the LLVM dialect to object code -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachineCode.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace cp {

void optimize(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  tuning.SLPVectorization = false;
  PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2)
      .run(module, modules);
}

std::unique_ptr<Module> splitKernels(Module &module, StringRef entry) {
  ValueToValueMapTy map;
  std::unique_ptr<Module> kernels =
      CloneModule(module, map, [&](const GlobalValue *value) {
        return isa<Function>(value) && value->getName() != entry;
      });
  for (Function &function : module)
    if (function.getName() != entry)
      function.deleteBody();
  return kernels;
}

Expected<std::unique_ptr<MemoryBuffer>>
objectOf(orc::JITTargetMachineBuilder builder, CodeGenOptLevel level,
         Module &module) {
  builder.setCodeGenOptLevel(level);
  Expected<std::unique_ptr<TargetMachine>> machine =
      builder.createTargetMachine();
  if (!machine)
    return machine.takeError();
  module.setDataLayout((*machine)->createDataLayout());
  module.setTargetTriple((*machine)->getTargetTriple());
  if (level != CodeGenOptLevel::None)
    optimize(module, **machine);
  return orc::SimpleCompiler(**machine)(module);
}

std::unique_ptr<Module> translateToLLVM(mlir::ModuleOp module,
                                        LLVMContext &context) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  return mlir::translateModuleToLLVMIR(module, context);
}

} // namespace cp
