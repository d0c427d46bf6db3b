//===- Memory.cpp - Large buffers -----------------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace cp::bench {

void FreeMemory::operator()(void *data) const { std::free(data); }

Memory allocate(size_t bytes) {
  constexpr size_t hugePage = size_t(2) << 20;
  size_t alignment = bytes >= hugePage ? hugePage : 64;
  size_t rounded = (bytes + alignment) / alignment * alignment;
  void *data = std::aligned_alloc(alignment, rounded);
  if (!data)
    throw std::bad_alloc();
#if defined(__linux__)
  // Advice: a system that does not take it loses speed only.
  if (alignment == hugePage)
    (void)madvise(data, rounded, MADV_HUGEPAGE);
#endif
  return Memory(data);
}

} // namespace cp::bench
