//===- List.cpp - Vectors that leave the heap alone -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "List.h"

#include <memory_resource>
#include <new>

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

/// What lists mostly are, and the pool takes long for: blocks of a few sizes,
/// whose free ones are linked through their first words.
class SmallBlocks {
public:
  static constexpr size_t largest = 1024;

  void *take(std::pmr::memory_resource &from, size_t bytes) {
    Block *&first = free[classOf(bytes)];
    if (!first)
      return from.allocate(step << classOf(bytes), step);
    Block *block = first;
    first = block->next;
    return block;
  }
  void give(void *pointer, size_t bytes) {
    Block *&first = free[classOf(bytes)];
    first = new (pointer) Block{first};
  }

private:
  struct Block {
    Block *next;
  };
  static constexpr size_t step = 64;
  static constexpr size_t numClasses = 5;
  static_assert(step << (numClasses - 1) == largest);

  static size_t classOf(size_t bytes) {
    size_t number = 0;
    while (step << number < bytes)
      ++number;
    return number;
  }

  Block *free[numClasses] = {};
};

struct ThreadPool {
  /// Larger blocks would go to the heap each time; as large as the standard
  /// library's pools can be.
  static constexpr size_t largestKept = size_t(1) << 22;
  CountedHeap heap;
  std::pmr::unsynchronized_pool_resource pool{{0, largestKept}, &heap};
  SmallBlocks small;
};

ThreadPool &threadPool() {
  static thread_local ThreadPool pool;
  return pool;
}

} // namespace

void *cp::runtime::takePooled(size_t bytes, size_t alignment) {
  ThreadPool &pool = threadPool();
  if (bytes <= SmallBlocks::largest)
    return pool.small.take(pool.pool, bytes);
  return pool.pool.allocate(bytes, alignment);
}

void cp::runtime::givePooled(void *pointer, size_t bytes,
                             size_t alignment) noexcept {
  ThreadPool &pool = threadPool();
  if (bytes <= SmallBlocks::largest)
    return pool.small.give(pointer, bytes);
  pool.pool.deallocate(pointer, bytes, alignment);
}

int64_t cp::runtime::numPoolAllocations() {
  return threadPool().heap.allocations;
}
