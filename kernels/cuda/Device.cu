//===- Device.cu - What launches ask of a card ----------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cluster.h"
#include "Launch.h"

#include <cuda.h>

namespace cp::kernels::cuda {

static thread_local ScratchStack *scratch = nullptr;

void workIn(ScratchStack *stack) { scratch = stack; }

Workspace::Workspace(void *stream)
    : stream(stream), begin(scratch ? scratch->mark() : ScratchStack::Mark()) {}

// What is freed to the device's own pool is taken again without a wait.
void *Workspace::allocate(size_t bytes) {
  if (void *block = scratch ? scratch->allocate(bytes) : nullptr)
    return block;
  void *block = nullptr;
  if (cudaMallocAsync(&block, bytes ? bytes : 1, cudaStream_t(stream)) !=
      cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return blocks[count++] = block;
}

Workspace::~Workspace() {
  if (scratch)
    scratch->releaseTo(begin);
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

/// Of the driver, which is found at run time; null where it has none.
static decltype(&cuTensorMapEncodeTiled) tensorMapEncoder() {
  void *found = nullptr;
  cudaDriverEntryPointQueryResult result;
  if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                       cudaEnableDefault,
                                       &result) != cudaSuccess ||
      result != cudaDriverEntryPointSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
}

bool describeTensor(TensorMap &map, const void *data, const int64_t (&sizes)[4],
                    const int64_t (&strides)[3], int rows) {
  static const auto encode = tensorMapEncoder();
  if (!encode || !isDescribable(data, sizes, strides))
    return false;
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
  cuuint64_t dimensions[4], bytes[3];
  for (int i = 0; i < 4; ++i)
    dimensions[i] = cuuint64_t(sizes[i]);
  // Of a dimension of one nobody goes from one to the next.
  for (int i = 0; i < 3; ++i)
    bytes[i] = cuuint64_t(sizes[i + 1] == 1 ? 2 * sizes[0] : strides[i]);
  const cuuint32_t box[] = {64, cuuint32_t(rows), 1, 1}, steps[] = {1, 1, 1, 1};
  return encode(reinterpret_cast<CUtensorMap *>(&map),
                CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, const_cast<void *>(data),
                dimensions, bytes, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

} // namespace cp::kernels::cuda
