//===- CardTensors.h - Tensors in a card's memory ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_CUDA_CARDTENSORS_H
#define CP_UNITTESTS_CUDA_CARDTENSORS_H

#include "Elements.h"

#include <algorithm>
#include <cuda_runtime.h>
#include <vector>

namespace cp::kernels::test {

/// Copies on the current device, which live as long as this. The first thing
/// that the card refuses is kept.
class CardTensors {
public:
  CardTensors() = default;
  ~CardTensors() {
    for (void *block : blocks)
      (void)cudaFree(block);
  }
  CardTensors(const CardTensors &) = delete;
  CardTensors &operator=(const CardTensors &) = delete;

  Buffer bring(const Buffer &from) {
    Buffer there = from;
    if (!from.data)
      return there;
    size_t bytes = bytesOf(from);
    check(cudaMalloc(&there.data, std::max<size_t>(bytes, 16)));
    blocks.push_back(there.data);
    check(cudaMemcpy(there.data, from.data, bytes, cudaMemcpyHostToDevice));
    return there;
  }
  /// Waits for the card.
  void takeBack(const Buffer &to, const Buffer &from) {
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(to.data, from.data, bytesOf(to), cudaMemcpyDeviceToHost));
  }
  /// Null, or what the card said.
  const char *error() const {
    return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
  }

private:
  void check(cudaError_t result) {
    if (status == cudaSuccess)
      status = result;
  }
  static size_t bytesOf(const Buffer &buffer) {
    int64_t last = 0;
    for (int i = 0; i < buffer.rank; ++i) {
      if (!buffer.sizes[i])
        return 0;
      last += (buffer.sizes[i] - 1) * buffer.strides[i];
    }
    return size_t(last + 1) * elementBytes(buffer.dtype);
  }

  std::vector<void *> blocks;
  cudaError_t status = cudaSuccess;
};

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_CUDA_CARDTENSORS_H
