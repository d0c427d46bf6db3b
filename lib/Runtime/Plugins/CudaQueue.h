//===- CudaQueue.h - A stream of a card -------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_PLUGINS_CUDAQUEUE_H
#define CP_LIB_RUNTIME_PLUGINS_CUDAQUEUE_H

#include "Blas.h"
#include "CudaKernels.h"
#include "CudaLibraries.h"
#include "ScratchStack.h"

#include "cp/Runtime/cprt_device.h"

#include <atomic>
#include <cuda_runtime.h>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cp::runtime {

/// Those of this process.
struct Cards {
  explicit Cards(int count) : queues(size_t(count)), streams(size_t(count)) {}
  ~Cards();

  /// Open ones that ranks have, by card.
  std::vector<std::atomic<int>> queues;
  /// Those of closed queues, for the next ones: an allocator of a caller's may
  /// know a stream for longer than its queue lives.
  std::vector<std::vector<cudaStream_t>> streams;
  std::mutex mutex;
};

/// A stream of a card, and what its kernels take beside their tensors. Used by
/// one thread at a time.
struct Queue {
  Cards &cards;
  int card;
  /// Whether it is one beside a rank's own.
  bool isBeside;
  cudaStream_t stream = nullptr;
  /// Marks the end of one stream for another to wait for; made on first use.
  cudaEvent_t passed = nullptr;
  /// What kernels find wrong, on the card, and a copy on the host; of a rank's.
  int64_t *faults = nullptr, *found = nullptr;
  std::unique_ptr<kernels::cuda::Blas> blas;
  /// What its kernels work with, and graphs of theirs.
  kernels::cuda::ScratchStack scratch;
  Libraries libraries;
  std::string text;

  Queue(Cards &cards, int card, bool isBeside = false)
      : cards(cards), card(card), isBeside(isBeside),
        scratch([this](size_t bytes) { return allocate(bytes); },
                [this](void *block) { release(block); }) {
    cards.queues[size_t(card)] += !isBeside;
  }
  cprt_status open();
  cprt_status openStream();
  /// In the stream's order; null where there is none.
  void *allocate(size_t bytes);
  void release(void *block) { (void)cudaFreeAsync(block, stream); }
  ~Queue();
  cprt_status check(cudaError_t status, const char *what);
  /// That what `later` is given starts behind all that `earlier` has been
  /// given.
  cprt_status order(cudaStream_t earlier, cudaStream_t later);
  cprt_status fail(cprt_status status, const char *message) {
    text = message;
    return status;
  }
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_PLUGINS_CUDAQUEUE_H
