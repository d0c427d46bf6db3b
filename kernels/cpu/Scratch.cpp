//===- Scratch.cpp - Working memory of the kernels ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scratch.h"

#include "HugePages.h"

#include <cstdlib>

namespace cp::kernels {

namespace {
struct SlotBuffer {
  void *data = nullptr;
  size_t bytes = 0;
  ~SlotBuffer() { std::free(data); }
};

thread_local int64_t allocations = 0;
} // namespace

void *scratch(Slot slot, size_t bytes) {
  static thread_local SlotBuffer buffers[static_cast<size_t>(Slot::Count)];
  SlotBuffer &buffer = buffers[static_cast<size_t>(slot)];
  if (buffer.data && buffer.bytes >= bytes)
    return buffer.data;
  // A multiple of the alignment, as aligned_alloc asks; never zero.
  size_t rounded = (bytes / 64 + 1) * 64;
  std::free(buffer.data);
  buffer.data = std::aligned_alloc(64, rounded);
  preferHugePages(buffer.data, rounded);
  buffer.bytes = buffer.data ? rounded : 0;
  ++allocations;
  return buffer.data;
}

int64_t numScratchAllocations() { return allocations; }
void countScratchAllocations(int64_t count) { allocations += count; }

} // namespace cp::kernels
