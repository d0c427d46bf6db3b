//===- List.cpp - Vectors that leave the heap alone -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "List.h"

#include <memory_resource>

namespace {

class CountedHeap : public std::pmr::memory_resource {
public:
  int64_t allocations = 0;

private:
  void *do_allocate(size_t bytes, size_t alignment) override {
    ++allocations;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void *pointer, size_t bytes, size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(pointer, bytes, alignment);
  }
  bool do_is_equal(const memory_resource &other) const noexcept override {
    return this == &other;
  }
};

struct ThreadPool {
  /// Larger blocks would go to the heap each time; as large as the standard
  /// library's pools can be.
  static constexpr size_t largestKept = size_t(1) << 22;
  CountedHeap heap;
  std::pmr::unsynchronized_pool_resource pool{{0, largestKept}, &heap};
};

ThreadPool &threadPool() {
  static thread_local ThreadPool pool;
  return pool;
}

} // namespace

void *cp::runtime::takePooled(size_t bytes, size_t alignment) {
  return threadPool().pool.allocate(bytes, alignment);
}

void cp::runtime::givePooled(void *pointer, size_t bytes,
                             size_t alignment) noexcept {
  threadPool().pool.deallocate(pointer, bytes, alignment);
}

int64_t cp::runtime::numPoolAllocations() {
  return threadPool().heap.allocations;
}
