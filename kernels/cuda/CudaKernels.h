//===- CudaKernels.h - The table of kernels for cards -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations of kernels/cpu/Kernels.h on buffers in a card's memory. A
// kernel checks its call as those for processors do, but for what would have to
// be read from the device, and starts its work on a stream, in whose order it
// runs; it waits for nothing.
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_CUDAKERNELS_H
#define CP_KERNELS_CUDA_CUDAKERNELS_H

#include "Kernels.h"

namespace cp::kernels::cuda {

/// `stream` is a cudaStream_t of the current device, null for its default one.
/// Returns null, or a message (storage of this thread, until its next call)
/// that says what does not fit or what the card refused.
using KernelFn = const char *(*)(const Call &call, void *stream);

struct KernelEntry {
  const char *op;
  DType dtype;
  KernelFn fn;
};

/// All of them; `count` receives their number. Static storage.
const KernelEntry *kernels(size_t &count);
/// The one for `op` on `dtype`; null when there is none.
KernelFn findKernel(const char *op, DType dtype);

template <typename T> const char *ssd(const Call &call, void *stream);
template <typename T> const char *ssdStates(const Call &call, void *stream);
template <typename T> const char *ssdScan(const Call &call, void *stream);
template <typename T> const char *conv1d(const Call &call, void *stream);
template <typename T> const char *rmsNorm(const Call &call, void *stream);

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_CUDAKERNELS_H
