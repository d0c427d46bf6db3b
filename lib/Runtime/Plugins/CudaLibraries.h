//===- CudaLibraries.h - A program's own code on cards ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_PLUGINS_CUDALIBRARIES_H
#define CP_LIB_RUNTIME_PLUGINS_CUDALIBRARIES_H

#include "cp/Runtime/cprt.h"

#include <cuda_runtime.h>
#include <map>

namespace cp::runtime {

/// A program's own kernels, by the text that they were compiled from. Of a
/// queue: behind it another program may have these addresses.
class Libraries {
public:
  ~Libraries() {
    for (auto &[code, library] : loaded)
      (void)cudaLibraryUnload(library);
  }
  cudaError_t find(const cprt_kernel &kernel, cudaKernel_t &found) {
    if (auto known = kernels.find(&kernel); known != kernels.end()) {
      found = known->second;
      return cudaSuccess;
    }
    auto [entry, isNew] = loaded.try_emplace(kernel.code, nullptr);
    if (isNew)
      if (cudaError_t status =
              cudaLibraryLoadData(&entry->second, kernel.code, nullptr, nullptr,
                                  0, nullptr, nullptr, 0);
          status != cudaSuccess) {
        loaded.erase(entry);
        return status;
      }
    cudaError_t status =
        cudaLibraryGetKernel(&found, entry->second, kernel.name);
    if (status == cudaSuccess)
      kernels[&kernel] = found;
    return status;
  }

private:
  std::map<const char *, cudaLibrary_t> loaded;
  std::map<const cprt_kernel *, cudaKernel_t> kernels;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_PLUGINS_CUDALIBRARIES_H
