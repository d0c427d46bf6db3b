//===- FileSeal.h - What tells that a file is whole -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Behind a program stands a hash of all its bytes: one that is damaged would
// end whoever runs it, or give other numbers. What loads shared libraries does
// not look behind their end.
//
//===----------------------------------------------------------------------===//

#ifndef CP_EXECUTION_FILESEAL_H
#define CP_EXECUTION_FILESEAL_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace cp {

/// Of a seal, in bytes.
inline constexpr uint64_t sealBytes = 24;

/// What is to stand behind these bytes: a mark, and their hash (XXH3).
std::string sealOf(llvm::StringRef bytes);

/// Whether a file of one byte or more ends with the seal of what is before it.
bool isSealed(llvm::StringRef file);

} // namespace cp

#endif // CP_EXECUTION_FILESEAL_H
