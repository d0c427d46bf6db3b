//===- Device.cu - What launches ask of a card ----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

namespace cp::kernels::cuda {

// Of the device's own pool: what is freed is taken again without a wait.
void *Workspace::allocate(size_t bytes) {
  void *block = nullptr;
  if (cudaMallocAsync(&block, bytes ? bytes : 1, cudaStream_t(stream)) !=
      cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return blocks[count++] = block;
}

// Of what is not pinned the driver takes a copy before it returns.
void *Workspace::upload(const void *from, size_t bytes) {
  void *block = allocate(bytes);
  if (block && cudaMemcpyAsync(block, from, bytes, cudaMemcpyHostToDevice,
                               cudaStream_t(stream)) != cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return block;
}

Workspace::~Workspace() {
  for (int i = 0; i < count; ++i)
    (void)cudaFreeAsync(blocks[i], cudaStream_t(stream));
}

static int attribute(cudaDeviceAttr which, int otherwise) {
  int device = 0, value = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&value, which, device) != cudaSuccess)
    return otherwise;
  return value;
}

int multiprocessors() { return attribute(cudaDevAttrMultiProcessorCount, 1); }

size_t mostSharedMemory() {
  return size_t(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, 48 << 10));
}

} // namespace cp::kernels::cuda
