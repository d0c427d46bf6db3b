//===- MallocCount.cpp - Counts what goes to the heap ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MallocCount.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

// glibc's own, which the replacements below hand on to.
extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *pointer, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
}

static std::atomic<int64_t> heapCalls{0};
static thread_local bool threadIsCounted = false;

static void count() {
  if (threadIsCounted)
    heapCalls.fetch_add(1, std::memory_order_relaxed);
}

void cp::test::countThisThread(bool isCounted) { threadIsCounted = isCounted; }

int64_t cp::test::numHeapCalls() { return heapCalls.load(); }

extern "C" void *malloc(size_t size) {
  count();
  return __libc_malloc(size);
}

extern "C" void *calloc(size_t number, size_t size) {
  count();
  return __libc_calloc(number, size);
}

extern "C" void *realloc(void *pointer, size_t size) {
  count();
  return __libc_realloc(pointer, size);
}

extern "C" void *memalign(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

extern "C" void *aligned_alloc(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

extern "C" int posix_memalign(void **pointer, size_t alignment, size_t size) {
  count();
  *pointer = __libc_memalign(alignment, size);
  return *pointer ? 0 : ENOMEM;
}
