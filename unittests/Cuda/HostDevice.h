//===- HostDevice.h - A device that is the host -----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_CUDA_HOSTDEVICE_H
#define CP_UNITTESTS_CUDA_HOSTDEVICE_H

#include <cstddef>

namespace cp::kernels::cuda {

/// What a block that this thread starts may have of shared memory; 0: as much
/// as an H200.
void limitSharedMemory(size_t bytes);

} // namespace cp::kernels::cuda

#endif // CP_UNITTESTS_CUDA_HOSTDEVICE_H
