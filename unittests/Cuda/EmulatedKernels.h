//===- EmulatedKernels.h - The kernels of cards, on the host ----*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_CUDA_EMULATEDKERNELS_H
#define CP_UNITTESTS_CUDA_EMULATEDKERNELS_H

#include "BFloat16.h"
#include "CudaKernels.h"

#include <vector>

namespace cp::kernels::test {

/// All kernels for cards as kernels of this processor, each through `Through`,
/// which is a structure with a static member `run` made of a kernel for cards.
template <template <cuda::KernelFn> class Through>
const std::vector<KernelEntry> &kernelsThrough() {
#define CP_ENTRIES(op, fn)                                                     \
  {op, DType::F32, KernelSet::Fast, Through<cuda::fn<float>>::run},            \
      {op, DType::F64, KernelSet::Fast, Through<cuda::fn<double>>::run},       \
      {op, DType::BF16, KernelSet::Fast, Through<cuda::fn<BFloat16>>::run}
#define CP_ANY(op, fn)                                                         \
  {op, DType::F32, KernelSet::Fast, Through<cuda::fn>::run},                   \
      {op, DType::F64, KernelSet::Fast, Through<cuda::fn>::run},               \
      {op, DType::BF16, KernelSet::Fast, Through<cuda::fn>::run},              \
      {op, DType::I32, KernelSet::Fast, Through<cuda::fn>::run}, {             \
    op, DType::I64, KernelSet::Fast, Through<cuda::fn>::run                    \
  }
  static const std::vector<KernelEntry> entries = {
      CP_ENTRIES("ssd", ssd),
      CP_ENTRIES("ssd_states", ssdStates),
      CP_ENTRIES("ssd_scan", ssdScan),
      CP_ENTRIES("conv1d", conv1d),
      CP_ENTRIES("rms_norm", rmsNorm),
      CP_ENTRIES("rotary", rotary),
      CP_ENTRIES("attention", attention),
      CP_ANY("copy", copy),
      CP_ANY("repeat", repeat),
      CP_ANY("embedding", embedding)};
#undef CP_ANY
#undef CP_ENTRIES
  return entries;
}

/// On the host, where an executor stands in for the card.
template <cuda::KernelFn Kernel> struct OnHost {
  static const char *run(const Call &call) { return Kernel(call, nullptr); }
};

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_CUDA_EMULATEDKERNELS_H
