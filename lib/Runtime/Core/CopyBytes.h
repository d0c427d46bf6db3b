//===- CopyBytes.h - Bytes between processors' caches -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_COPYBYTES_H
#define CP_LIB_RUNTIME_COPYBYTES_H

#include <cstddef>

namespace cp::runtime {

/// What std::memcpy does; faster for blocks of the size of a cache that another
/// processor has written.
void copyBytes(char *dst, const char *src, size_t bytes);

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_COPYBYTES_H
