//===- ProgramImpl.h - What a program consists of ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_EXECUTION_PROGRAMIMPL_H
#define CP_LIB_EXECUTION_PROGRAMIMPL_H

#include "Jit.h"
#include "Signature.h"

namespace cp {

struct Program::Impl {
  Stage stage = Stage::Global;
  Mesh mesh;
  Signature signature;
  CompiledEntry compiled;
  double compileSeconds = 0;
  int64_t arenaBytes = 0;
  uint64_t hash = 0;
};

} // namespace cp

#endif // CP_LIB_EXECUTION_PROGRAMIMPL_H
