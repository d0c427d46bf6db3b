//===- CopyRate.h - How fast a copy can be ----------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_BENCHMARKS_WORKER_COPYRATE_H
#define CP_BENCHMARKS_WORKER_COPYRATE_H

#include <cstddef>
#include <cstdint>

namespace cp::bench {

/// Bytes read and written a second by the fastest of several ways to copy
/// between buffers aligned to 64 bytes, with `threads` threads: the best of
/// several repetitions.
double copyRate(void *to, const void *from, size_t bytes, int64_t threads);

} // namespace cp::bench

#endif // CP_BENCHMARKS_WORKER_COPYRATE_H
