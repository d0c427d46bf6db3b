//===- HugePages.h - Large pages for large buffers --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_HUGEPAGES_H
#define CP_KERNELS_CPU_HUGEPAGES_H

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace cp::kernels {

/// Asks the system for huge pages under `bytes` from `data` on, which the
/// caller owns and has not touched yet. Advice: where the system does not take
/// it, or the buffer is small, nothing changes.
inline void preferHugePages(void *data, size_t bytes) {
#if defined(__linux__)
  constexpr uintptr_t page = 4096, hugePage = uintptr_t(2) << 20;
  auto begin = reinterpret_cast<uintptr_t>(data), end = begin + bytes;
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (data && bytes >= 2 * hugePage && begin < end)
    (void)madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
#else
  (void)data, (void)bytes;
#endif
}

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_HUGEPAGES_H
