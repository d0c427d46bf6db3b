//===- DeviceCode.cpp - Kernels of a program as PTX -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCode.h"

#include "MachineCode.h"

#include "cp/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace cp {

static Expected<std::unique_ptr<TargetMachine>> cardMachine() {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return createStringError("LLVM has no code generator for cards: " +
                             message + "; compile without a device");
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, "sm_80", "+ptx70", TargetOptions(), Reloc::PIC_));
}

/// Whether an intrinsic is a call of the C library on processors, which cards
/// have none of.
static bool isLibraryFunction(const Function &intrinsic) {
  switch (intrinsic.getIntrinsicID()) {
  case Intrinsic::exp:
  case Intrinsic::exp2:
  case Intrinsic::exp10:
  case Intrinsic::log:
  case Intrinsic::log2:
  case Intrinsic::log10:
  case Intrinsic::pow:
  case Intrinsic::powi:
  case Intrinsic::sin:
  case Intrinsic::cos:
  case Intrinsic::sincos:
  case Intrinsic::tan:
  case Intrinsic::tanh:
    return true;
  default:
    return false;
  }
}

static Expected<std::string> ptxOf(Module &module) {
  Expected<std::unique_ptr<TargetMachine>> machine = cardMachine();
  if (!machine)
    return machine.takeError();
  module.setDataLayout((*machine)->createDataLayout());
  module.setTargetTriple((*machine)->getTargetTriple());
  // The code generator ends the process where it knows no code for them.
  for (const Function &function : module)
    if (function.isDeclaration() &&
        (!function.isIntrinsic() || isLibraryFunction(function)))
      return createStringError(
          "a loop of the program takes a function that no card has: " +
          function.getName() +
          (function.getReturnType()->isDoubleTy()
               ? "; compile in f32, or without a device"
               : "; write it by another one, as exp2 and log10 by exp and log, "
                 "or compile without a device"));
  optimize(module, **machine);
  SmallString<0> text;
  raw_svector_ostream stream(text);
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      CodeGenFileType::AssemblyFile))
    return createStringError("LLVM writes no PTX");
  passes.run(module);
  return text.str().str();
}

/// Gives the constant that programs refer to its value.
static void defineCode(mlir::ModuleOp module, StringRef code) {
  auto declared = module.lookupSymbol<mlir::LLVM::GlobalOp>(deviceCodeName);
  if (!declared)
    return;
  mlir::OpBuilder builder(declared);
  std::string text = code.str();
  text.push_back('\0');
  auto type = mlir::LLVM::LLVMArrayType::get(builder.getI8Type(), text.size());
  mlir::LLVM::GlobalOp::create(builder, declared.getLoc(), type,
                               /*isConstant=*/true,
                               mlir::LLVM::Linkage::Internal, deviceCodeName,
                               builder.getStringAttr(text));
  declared.erase();
}

Error compileDeviceKernels(mlir::ModuleOp module) {
  auto device = module.lookupSymbol<mlir::ModuleOp>(deviceModuleName);
  if (!device)
    return Error::success();
  for (auto kernel : device.getOps<mlir::LLVM::LLVMFuncOp>())
    if (!kernel.isExternal())
      kernel->setAttr(mlir::NVVM::NVVMDialect::getKernelFuncAttrName(),
                      mlir::UnitAttr::get(module.getContext()));
  mlir::DialectRegistry registry;
  mlir::registerNVVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  LLVMContext context;
  std::unique_ptr<Module> translated = translateToLLVM(device, context);
  if (!translated)
    return createStringError("the kernels for a device could not be "
                             "translated to LLVM IR");
  Expected<std::string> code = ptxOf(*translated);
  if (!code)
    return code.takeError();
  device.erase();
  defineCode(module, *code);
  return Error::success();
}

} // namespace cp
