//===- CPPlugin.cpp - Dialect and passes for a stock mlir-opt ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Needs both options, since each loads one half:
//   mlir-opt --load-dialect-plugin=CPPlugin.so --load-pass-plugin=CPPlugin.so
// Passes are then reached by --pass-pipeline=...; mlir-opt makes its flags
// before it loads a plugin.
//
//===----------------------------------------------------------------------===//

#include "cp/Transforms/Passes.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Support/Compiler.h"

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "cp-mlir", CP_VERSION,
          [](mlir::DialectRegistry *registry) {
            cp::registerAllDialects(*registry);
            cp::registerAllExtensions(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "cp-mlir", CP_VERSION,
          [] { cp::registerAllPasses(); }};
}
