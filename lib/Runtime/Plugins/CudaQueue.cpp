//===- CudaQueue.cpp - A stream of a card ---------------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaQueue.h"

using namespace cp::kernels;
using namespace cp::runtime;

cprt_status Queue::check(cudaError_t status, const char *what) {
  if (status == cudaSuccess)
    return CPRT_OK;
  (void)cudaGetLastError();
  text = std::string(what) + ": " + cudaGetErrorString(status) + " (" +
         cudaGetErrorName(status) + ")";
  return status == cudaErrorMemoryAllocation ? CPRT_OUT_OF_MEMORY
                                             : CPRT_DEVICE_FAILED;
}

cprt_status Queue::open() {
  constexpr size_t bytes = cuda::faultWords * sizeof(int64_t);
  if (cprt_status status = check(cudaSetDevice(card), "cudaSetDevice"))
    return status;
  // Freed memory stays in the pool: programs take the same each step. Of what
  // another stream has freed and may still use nothing is taken, or this stream
  // would wait for that one, which may wait for another rank.
  cudaMemPool_t pool;
  uint64_t all = UINT64_MAX;
  int no = 0;
  if (cudaDeviceGetDefaultMemPool(&pool, card) == cudaSuccess) {
    (void)cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
    (void)cudaMemPoolSetAttribute(
        pool, cudaMemPoolReuseAllowInternalDependencies, &no);
  }
  if (cprt_status status = openStream())
    return status;
  if (cprt_status status = check(
          cudaMalloc(reinterpret_cast<void **>(&faults), bytes), "cudaMalloc"))
    return status;
  if (cprt_status status =
          check(cudaMallocHost(reinterpret_cast<void **>(&found), bytes),
                "cudaMallocHost"))
    return status;
  return check(cudaMemsetAsync(faults, 0, bytes, stream), "cudaMemset");
}

cprt_status Queue::openStream() {
  std::lock_guard<std::mutex> lock(cards.mutex);
  if (std::vector<cudaStream_t> &spare = cards.streams[size_t(card)];
      !spare.empty()) {
    stream = spare.back();
    spare.pop_back();
    return CPRT_OK;
  }
  return check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
               "cudaStreamCreate");
}

Queue::~Queue() {
  cards.queues[size_t(card)] -= !isBeside;
  (void)cudaSetDevice(card);
  if (stream)
    (void)cudaStreamSynchronize(stream);
  blas.reset();
  scratch.clear();
  (void)cudaFree(faults);
  (void)cudaFreeHost(found);
  if (passed)
    (void)cudaEventDestroy(passed);
  (void)cudaGetLastError();
  if (!stream)
    return;
  std::lock_guard<std::mutex> lock(cards.mutex);
  cards.streams[size_t(card)].push_back(stream);
}

Cards::~Cards() {
  for (size_t card = 0; card < streams.size(); ++card)
    for (cudaStream_t stream : streams[card]) {
      (void)cudaSetDevice(int(card));
      (void)cudaStreamDestroy(stream);
    }
  (void)cudaGetLastError();
}

cprt_status Queue::order(cudaStream_t earlier, cudaStream_t later) {
  if (!passed)
    if (cprt_status status =
            check(cudaEventCreateWithFlags(&passed, cudaEventDisableTiming),
                  "cudaEventCreate"))
      return status;
  if (cprt_status status =
          check(cudaEventRecord(passed, earlier), "cudaEventRecord"))
    return status;
  return check(cudaStreamWaitEvent(later, passed), "cudaStreamWaitEvent");
}

void *Queue::allocate(size_t bytes) {
  void *block = nullptr;
  return check(cudaMallocAsync(&block, bytes ? bytes : 1, stream),
               "cudaMallocAsync") == CPRT_OK
             ? block
             : nullptr;
}
