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
  static const std::vector<KernelEntry> entries = {
#define CP_KERNEL(op, type, fn)                                                \
  {op, DType::type, KernelSet::Fast, Through<cuda::fn>::run},
#include "CudaKernels.def"
  };
  return entries;
}

/// The processor's products, for what a card leaves to a library.
inline const char *multiplyOnHost(void *, const char *op, DType dtype,
                                  const Call &call) {
  return findCpuKernel(op, dtype, KernelSet::Fast)(call);
}

/// On the host, where an executor stands in for the card.
template <cuda::KernelFn Kernel> struct OnHost {
  static const char *run(const Call &call) {
    cuda::multiplyWith(multiplyOnHost, nullptr);
    return Kernel(call, nullptr);
  }
};

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_CUDA_EMULATEDKERNELS_H
