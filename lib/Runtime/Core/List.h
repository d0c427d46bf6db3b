//===- List.h - Vectors that leave the heap alone ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_LIST_H
#define CP_LIB_RUNTIME_LIST_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cp::runtime {

/// Memory of this thread's pool, which keeps what is given back until the
/// thread ends; aligned to 64 bytes at most. Throws std::bad_alloc.
void *takePooled(size_t bytes, size_t alignment);
void givePooled(void *pointer, size_t bytes, size_t alignment) noexcept;
/// How often this thread's pool has gone to the heap.
int64_t numPoolAllocations();

template <typename T> struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <typename U> PoolAllocator(const PoolAllocator<U> &) {}
  T *allocate(size_t count) {
    static_assert(alignof(T) <= 64);
    return static_cast<T *>(takePooled(count * sizeof(T), alignof(T)));
  }
  void deallocate(T *pointer, size_t count) noexcept {
    givePooled(static_cast<void *>(pointer), count * sizeof(T), alignof(T));
  }
  friend bool operator==(const PoolAllocator &, const PoolAllocator &) {
    return true;
  }
  friend bool operator!=(const PoolAllocator &, const PoolAllocator &) {
    return false;
  }
};

/// For what a call works out on its way: a program's second step finds in the
/// pool what its first one left there. Lives and dies on one thread.
template <typename T> using List = std::vector<T, PoolAllocator<T>>;

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_LIST_H
