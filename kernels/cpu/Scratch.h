//===- Scratch.h - Working memory of the kernels ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CPU_SCRATCH_H
#define CP_KERNELS_CPU_SCRATCH_H

#include <cstddef>
#include <cstdint>

namespace cp::kernels {

/// Each thread keeps one buffer per slot from call to call and only ever grows
/// it, so a program's second step allocates nothing.
enum class Slot {
  RowsIn,
  RowsGate,
  RowsOut,
  RowsCotangent,
  RowsGateOut,
  Kernel,
  Panels,
  Segments,
  Count
};

/// At least `bytes` bytes, 64-byte aligned, contents undefined; null when there
/// is no memory. Owned by the thread; valid until the slot's next request.
void *scratch(Slot slot, size_t bytes);

/// How often this thread's buffers were made or grown.
int64_t numScratchAllocations();
/// Adds what other threads' buffers have cost on this thread's behalf.
void countScratchAllocations(int64_t count);

/// Bytes that `count` elements take in a Carver.
template <typename T> static inline size_t carved(int64_t count) {
  return (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
}

/// Cuts one scratch buffer into 64-byte aligned arrays.
class Carver {
public:
  [[gnu::always_inline]] explicit Carver(void *base)
      : next(static_cast<char *>(base)) {}

  template <typename T> [[gnu::always_inline]] T *take(int64_t count) {
    T *array = reinterpret_cast<T *>(next);
    next += carved<T>(count);
    return array;
  }

private:
  char *next;
};

} // namespace cp::kernels

#endif // CP_KERNELS_CPU_SCRATCH_H
