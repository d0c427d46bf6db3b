//===- Memory.h - Large buffers ---------------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_BENCHMARKS_MEMORY_H
#define CP_BENCHMARKS_MEMORY_H

#include <cstddef>
#include <memory>

namespace cp::bench {

struct FreeMemory {
  void operator()(void *data) const;
};
using Memory = std::unique_ptr<void, FreeMemory>;

/// At least `bytes` bytes, 64-byte aligned, in huge pages where they are many
/// and the system has such pages, which peers are told to use too. Throws
/// std::bad_alloc.
Memory allocate(size_t bytes);

} // namespace cp::bench

#endif // CP_BENCHMARKS_MEMORY_H
