//===- KernelTable.cpp - The table of kernels for cards -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BFloat16.h"
#include "CudaKernels.h"

#include <cstring>

namespace cp::kernels::cuda {

#define CP_ENTRIES(op, fn)                                                     \
  {op, DType::F32, fn<float>}, {op, DType::F64, fn<double>}, {                 \
    op, DType::BF16, fn<BFloat16>                                              \
  }
static const KernelEntry entries[] = {
    CP_ENTRIES("ssd", ssd), CP_ENTRIES("ssd_states", ssdStates),
    CP_ENTRIES("ssd_scan", ssdScan), CP_ENTRIES("conv1d", conv1d),
    CP_ENTRIES("rms_norm", rmsNorm)};

const KernelEntry *kernels(size_t &count) {
  count = sizeof entries / sizeof *entries;
  return entries;
}

KernelFn findKernel(const char *op, DType dtype) {
  for (const KernelEntry &entry : entries)
    if (entry.dtype == dtype && std::strcmp(entry.op, op) == 0)
      return entry.fn;
  return nullptr;
}

} // namespace cp::kernels::cuda
