//===- Explain.h - The compiler's decisions as a table ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_COMPILING_EXPLAIN_H
#define CP_TOOLS_COMPILING_EXPLAIN_H

#include "cp/Compile/Decisions.h"
#include "cp/Execution/Memory.h"
#include "llvm/Support/raw_ostream.h"

namespace cp {

/// Prints one table per layer, equal layers once, then totals and memory.
/// `ranks` is the size of the mesh.
void printDecisions(llvm::ArrayRef<Decision> decisions, int64_t ranks,
                    const MemoryNeed &memory, llvm::raw_ostream &os);

} // namespace cp

#endif // CP_TOOLS_COMPILING_EXPLAIN_H
