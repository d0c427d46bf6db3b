//===- Memory.cpp - The memory that one rank has allocated ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Context.h"
#include "HugePages.h"

#include <algorithm>
#include <cstdlib>
#include <new>

using namespace cp::runtime;

static constexpr size_t alignment = 64;

Memory::~Memory() {
  for (const auto &[pointer, bytes] : live)
    free(pointer);
}

void Memory::free(void *pointer) {
  if (device)
    device->release(pointer);
  else if (allocator)
    allocator->release(allocator->state, pointer, nullptr);
  else
    std::free(pointer);
}

static void *allocateHere(int64_t bytes) {
  size_t blocks = (size_t(bytes) + alignment - 1) / alignment;
  void *pointer =
      std::aligned_alloc(alignment, std::max<size_t>(blocks, 1) * alignment);
  if (pointer)
    cp::kernels::preferHugePages(pointer, size_t(bytes));
  return pointer;
}

void *Memory::take(int64_t bytes) {
  if (device)
    return device->allocate(bytes);
  return allocator ? allocator->allocate(allocator->state, bytes, nullptr)
                   : allocateHere(bytes);
}

void *Memory::allocate(int64_t bytes) {
  if (bytes > INT64_MAX - int64_t(alignment))
    return nullptr;
  auto [node, isNew] = live.try_emplace(nullptr, bytes);
  (void)isNew;
  auto handle = live.extract(node);
  void *pointer = take(bytes);
  if (!pointer)
    return nullptr;
  handle.key() = pointer;
  live.insert(std::move(handle));
  ++allocations;
  liveBytes += bytes;
  peak = std::max(peak, liveBytes);
  return pointer;
}

char *Memory::staging(int64_t bytes) {
  if (staged && bytes <= stagedBytes)
    return staged.get();
  stagedBytes = 0;
  staged.reset();
  staged.reset(new (std::nothrow) char[size_t(bytes)]);
  if (!staged)
    return nullptr;
  stagedBytes = bytes;
  ++allocations;
  return staged.get();
}

bool Memory::release(void *pointer) {
  auto entry = live.find(pointer);
  if (entry == live.end())
    return false;
  liveBytes -= entry->second;
  live.erase(entry);
  free(pointer);
  return true;
}

void Memory::resetStatistics() {
  peak = liveBytes;
  allocations = 0;
}
