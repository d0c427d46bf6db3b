//===- Mirrors.cpp - Memory for what is on its way ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mirrors.h"

#include <new>

using namespace cp::runtime;

void Mirrors::Release::operator()(char *bytes) const {
  if (queue)
    queue->release(bytes);
  else
    delete[] bytes;
}

void Mirrors::addBlock(size_t bytes) {
  size_t size = bytes + size_t(alignment);
  auto *made = queue ? static_cast<char *>(queue->allocate(int64_t(size)))
                     : new char[size];
  if (!made)
    throw std::bad_alloc();
  std::unique_ptr<char, Release> block(made, Release{queue});
  blocks.push_back({std::move(block), size});
  memory.countAllocations(1);
  rewind();
}

void Mirrors::rewind() {
  auto begin = reinterpret_cast<uintptr_t>(blocks.back().bytes.get());
  used = size_t(-begin % uintptr_t(alignment));
}

char *Mirrors::take(int64_t bytes) {
  auto wanted = size_t(aligned(bytes));
  if (blocks.empty() || blocks.back().size - used < wanted)
    addBlock(wanted);
  char *taken = blocks.back().bytes.get() + used;
  used += wanted;
  held += wanted;
  return taken;
}

void Mirrors::reset() {
  if (blocks.size() > 1) {
    blocks.clear();
    try {
      addBlock(held);
    } catch (const std::bad_alloc &) {
      // The next collective that needs it says so.
      blocks.clear();
    }
  }
  if (!blocks.empty())
    rewind();
  held = 0;
}
