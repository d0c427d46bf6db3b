//===- cp-tblgen.cpp - What a table of operations gives ------- -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/TableGen/Main.h"
#include "llvm/TableGen/TableGenBackend.h"

using namespace cp::tblgen;

static llvm::TableGen::Emitter::Opt
    declarations("gen-declarations", writeDeclarations,
                 "The C declarations of operations, with their documentation");
static llvm::TableGen::Emitter::Opt
    list("gen-list", writeList,
         "CPRT_OPERATION(symbol), and CPRT_MOVE(symbol) of those that only "
         "move and add elements");
static llvm::TableGen::Emitter::Opt
    runtimeTables("gen-runtime-tables", writeRuntimeTables,
                  "Signatures, entry points and attributes in the runtime");
static llvm::TableGen::Emitter::Opt
    kernelReaders("gen-kernel-readers", writeKernelReaders,
                  "What kernels read of their calls");
static llvm::TableGen::Emitter::Opt calls("gen-calls", writeCalls,
                                          "What ops write into their calls");
static llvm::TableGen::Emitter::Opt
    cReaders("gen-c-readers", writeCReaders,
             "C readers of the calls of an operation of your own");

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(
      argc, argv,
      "makes code of a table of runtime operations "
      "(cp/Runtime/OperationBase.td)\n");
  return llvm::TableGenMain(argv[0], llvm::TableGenMainFn());
}
