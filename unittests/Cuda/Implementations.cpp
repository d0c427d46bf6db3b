//===- Implementations.cpp - The kernels of cards, on the host ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BFloat16.h"
#include "CudaKernels.h"
#include "Support.h"

namespace cp::kernels::test {

template <cuda::KernelFn Kernel> static const char *onHost(const Call &call) {
  return Kernel(call, nullptr);
}

#define CP_ENTRIES(op, fn)                                                     \
  {op, DType::F32, KernelSet::Fast, onHost<cuda::fn<float>>},                  \
      {op, DType::F64, KernelSet::Fast, onHost<cuda::fn<double>>}, {           \
    op, DType::BF16, KernelSet::Fast, onHost<cuda::fn<BFloat16>>               \
  }
static const KernelEntry entries[] = {
    CP_ENTRIES("ssd", ssd), CP_ENTRIES("ssd_states", ssdStates),
    CP_ENTRIES("ssd_scan", ssdScan), CP_ENTRIES("conv1d", conv1d),
    CP_ENTRIES("rms_norm", rmsNorm)};

static std::vector<Implementation> listImplementations() {
  static std::vector<KernelEntry> plain;
  size_t count;
  const KernelEntry *all = cpuKernels(count);
  for (size_t i = 0; i < count; ++i)
    if (all[i].set == KernelSet::Reference)
      plain.push_back(all[i]);
  return {{"reference", plain.data(), plain.size()},
          {"cuda", entries, sizeof entries / sizeof *entries, true}};
}

const std::vector<Implementation> &implementations() {
  static const std::vector<Implementation> list = listImplementations();
  return list;
}

} // namespace cp::kernels::test
