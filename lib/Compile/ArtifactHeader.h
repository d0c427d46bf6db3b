//===- ArtifactHeader.h - A program's C header ------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_COMPILE_ARTIFACTHEADER_H
#define CP_LIB_COMPILE_ARTIFACTHEADER_H

#include "LocalProgram.h"

namespace cp {

/// A header, of C and C++, that names the buffers of each entry of a file with
/// this hash, and finds the entries. What it declares begins with `stem`, the
/// header's own name, with '_' for what C has not in names.
std::string artifactHeader(llvm::ArrayRef<LoweredProgram> programs,
                           llvm::StringRef stem, uint64_t hash);

} // namespace cp

#endif // CP_LIB_COMPILE_ARTIFACTHEADER_H
