//===- Gated.h - A dialect that is not cp's ---------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GATED_H
#define GATED_H

#include "cp/Adjoint/Adjoint.h"
#include "cp/Compile/Compile.h"
#include "cp/IR/CPDialect.h"
#include "cp/Trace/Runs.h"

#include "GatedDialect.h.inc"
#define GET_OP_CLASSES
#include "GatedOps.h.inc"

namespace gated {

/// What the dialect's ops call at run time; and those of the delta rule alone.
std::vector<cp::RuntimeOperation> runtimeOperations();
std::vector<cp::RuntimeOperation> deltaOperations();

} // namespace gated

#endif // GATED_H
