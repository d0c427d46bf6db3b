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

static const KernelEntry entries[] = {
    {"ssd", DType::F32, ssd<float>},
    {"ssd", DType::F64, ssd<double>},
    {"ssd", DType::BF16, ssd<BFloat16>},
    {"ssd_states", DType::F32, ssdStates<float>},
    {"ssd_states", DType::F64, ssdStates<double>},
    {"ssd_states", DType::BF16, ssdStates<BFloat16>},
    {"ssd_scan", DType::F32, ssdScan<float>},
    {"ssd_scan", DType::F64, ssdScan<double>},
    {"ssd_scan", DType::BF16, ssdScan<BFloat16>},
    {"conv1d", DType::F32, conv1d<float>},
    {"conv1d", DType::F64, conv1d<double>},
    {"conv1d", DType::BF16, conv1d<BFloat16>},
    {"rms_norm", DType::F32, rmsNorm<float>},
    {"rms_norm", DType::F64, rmsNorm<double>},
    {"rms_norm", DType::BF16, rmsNorm<BFloat16>},
    {"rotary", DType::F32, rotary<float>},
    {"rotary", DType::F64, rotary<double>},
    {"rotary", DType::BF16, rotary<BFloat16>},
    {"attention", DType::F32, attention<float>},
    {"attention", DType::F64, attention<double>},
    {"attention", DType::BF16, attention<BFloat16>},
};

static const struct AnyTypeEntry {
  const char *op;
  KernelFn fn;
} anyType[] = {{"copy", copy}, {"repeat", repeat}, {"embedding", embedding}};

const KernelEntry *kernels(size_t &count) {
  count = sizeof entries / sizeof *entries;
  return entries;
}

KernelFn findKernel(const char *op, DType dtype) {
  for (const AnyTypeEntry &entry : anyType)
    if (std::strcmp(entry.op, op) == 0)
      return entry.fn;
  for (const KernelEntry &entry : entries)
    if (entry.dtype == dtype && std::strcmp(entry.op, op) == 0)
      return entry.fn;
  return nullptr;
}

} // namespace cp::kernels::cuda
