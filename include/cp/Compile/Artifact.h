//===- Artifact.h - A compiled program as a file ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_COMPILE_ARTIFACT_H
#define CP_COMPILE_ARTIFACT_H

#include "cp/Compile/Compile.h"

#include <string>

namespace cp {

struct ArtifactOptions {
  /// The least processor that the program runs on, as LLVM names it; "native"
  /// is this one. Empty: x86-64-v3 on x86-64, and what LLVM takes by default
  /// elsewhere.
  std::string targetCpu;
  /// Where a C header goes that names the buffers of each entry; empty:
  /// nowhere. What it declares begins with the file's name.
  std::string header;
};

/// Compiles a module to a shared library that exports cp_program (see
/// cprt_program.h), in place of what `path` was. It calls the runtime of the
/// process that loads it, and needs no compiler there. Writing it takes a C
/// compiler, the one that the environment names as CC, or cc. Errors: as of
/// compileProgram; a processor that LLVM does not know; what the C compiler
/// says; a file that cannot be written.
llvm::Error writeArtifact(mlir::ModuleOp module, const CompileOptions &options,
                          const ArtifactOptions &artifact,
                          const std::string &path);

} // namespace cp

#endif // CP_COMPILE_ARTIFACT_H
