//===- ArtifactTables.h - What a program says of itself ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_COMPILE_ARTIFACTTABLES_H
#define CP_LIB_COMPILE_ARTIFACTTABLES_H

#include "LocalProgram.h"
#include "llvm/Support/JSON.h"

namespace cp {

/// The name that the entry function of program `number` has in a file.
std::string entrySymbol(size_t number);

struct ArtifactTables {
  /// C.
  std::string text;
  /// What the tables call `hash`: of all that the file says, and of its code as
  /// it is for any processor.
  uint64_t hash;
};

/// The tables of cprt_program.h in C, with the function cp_program that returns
/// them, and what else the code calls. They say `origin` (originOf), and what
/// `processor` the code is for. Errors: a tensor of a type that the runtime has
/// not.
llvm::Expected<ArtifactTables>
artifactTables(llvm::ArrayRef<LoweredProgram> programs,
               llvm::json::Object origin, llvm::json::Object processor);

} // namespace cp

#endif // CP_LIB_COMPILE_ARTIFACTTABLES_H
