//===- UpstreamBugs.h - Inputs that MLIR itself cannot take -----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FUZZ_UPSTREAMBUGS_H
#define CP_FUZZ_UPSTREAMBUGS_H

#include "llvm/ADT/StringRef.h"

namespace cp::fuzz {

/// Whether the text has something that crashes MLIR 22 before any code of ours
/// sees it. Each pattern and its cause stands in the source; an entry may go
/// when upstream mends it.
bool hasUpstreamBug(llvm::StringRef text);

} // namespace cp::fuzz

#endif // CP_FUZZ_UPSTREAMBUGS_H
