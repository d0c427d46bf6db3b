//===- RuntimeSymbols.cpp - The runtime's symbols by name -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Jit.h"
#include "cp/Files/Convert.h"
#include "llvm/ADT/bit.h"

namespace cp {
namespace {

struct Operation {
  const char *name;
  cprt_op *function;
};

const Operation operations[] = {
#define CPRT_OPERATION(symbol) {"cprt_" #symbol, cprt_##symbol},
#include "cp/Runtime/OperationList.inc"
};

/// A float whose low half holds the bf16, which is where the calling
/// conventions of x86-64 and AArch64 return one.
float inLowHalf(uint16_t bits) { return llvm::bit_cast<float>(uint32_t(bits)); }

/// What compiled code calls to round to bf16 where the processor has no
/// instruction for it. Compiler libraries have them since GCC 13 only.
float truncateFloat(float value) { return inLowHalf(roundToBF16(value)); }
float truncateDouble(double value) { return inLowHalf(roundToBF16(value)); }

} // namespace

llvm::Expected<llvm::orc::SymbolMap>
runtimeSymbols(llvm::orc::LLJIT &jit, llvm::ArrayRef<RuntimeOperation> others) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](llvm::StringRef name, auto *function) {
    return symbols
        .try_emplace(jit.mangleAndIntern(name),
                     llvm::orc::ExecutorAddr::fromPtr(function),
                     llvm::JITSymbolFlags::Exported |
                         llvm::JITSymbolFlags::Callable)
        .second;
  };
  for (const Operation &operation : operations)
    add(operation.name, operation.function);
  add("cprt_scan_state_with", cprt_scan_state_with);
  add("__truncsfbf2", truncateFloat);
  add("__truncdfbf2", truncateDouble);
  add("cprt_alloc", cprt_alloc);
  add("cprt_arena", cprt_arena);
  add("cprt_free", cprt_free);
  add("cprt_launch", cprt_launch);
  add("cprt_launch_kernel", cprt_launch_kernel);
  add("cprt_constant", cprt_constant);
  add("cprt_require", cprt_require);
  add("cprt_begin", cprt_begin);
  add("cprt_wait", cprt_wait);
  for (const RuntimeOperation &operation : others) {
    if (llvm::StringRef(operation.symbol).ends_with("_with"))
      return llvm::createStringError(
          "operation '" + operation.symbol +
          "' ends as calls do that are handed a function; rename it");
    if (!operation.function ||
        !add("cprt_" + operation.symbol, operation.function))
      return llvm::createStringError(
          "operation '" + operation.symbol +
          (operation.function
               ? "' is given twice or is the runtime's own; rename it"
               : "' has no function"));
  }
  return symbols;
}

} // namespace cp
