//===- HostDevice.cpp - A device that is the host -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostDevice.h"

#include "Cluster.h"
#include "Launch.h"

#include <algorithm>
#include <cstdlib>

namespace cp::kernels::cuda {

Workspace::Workspace(void *stream) : stream(stream) {}

void *Workspace::allocate(size_t bytes) {
  void *block = std::malloc(bytes ? bytes : 1);
  if (!block)
    return nullptr;
  // What nobody has written is not a number.
  std::memset(block, 0xff, bytes);
  if (exec::Watcher *watcher = exec::watcher())
    watcher->allocated(block, bytes);
  return blocks[count++] = block;
}

Workspace::~Workspace() {
  for (int i = 0; i < count; ++i)
    std::free(blocks[i]);
}

// So few that scans of tests are cut into segments.
int multiprocessors() { return 6; }

static thread_local size_t sharedMemory = 0;
void limitSharedMemory(size_t bytes) { sharedMemory = bytes; }
size_t mostSharedMemory() { return sharedMemory ? sharedMemory : 227 << 10; }

bool describeTensor(TensorMap &map, const void *data, const int64_t (&sizes)[4],
                    const int64_t (&strides)[3], int rows) {
  if (!isDescribable(data, sizes, strides))
    return false;
  exec::TensorBox box = {data, {}, {}, {64, rows, 1, 1}};
  std::copy(std::begin(sizes), std::end(sizes), box.sizes);
  std::copy(std::begin(strides), std::end(strides), box.strides);
  static_assert(sizeof map >= sizeof box);
  std::memcpy(&map, &box, sizeof box);
  return true;
}

} // namespace cp::kernels::cuda
