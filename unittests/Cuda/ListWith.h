//===- ListWith.h - Plain kernels and one set of others ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_CUDA_LISTWITH_H
#define CP_UNITTESTS_CUDA_LISTWITH_H

#include "Support.h"

namespace cp::kernels::test {

/// The plain kernels, and `entries`, which round factors to bf16 and live as
/// long as the result.
inline std::vector<Implementation>
plainAnd(const char *name, const std::vector<KernelEntry> &entries) {
  static std::vector<KernelEntry> plain;
  size_t count;
  const KernelEntry *all = cpuKernels(count);
  for (size_t i = 0; i < count; ++i)
    if (all[i].set == KernelSet::Reference)
      plain.push_back(all[i]);
  return {{"reference", plain.data(), plain.size()},
          {name, entries.data(), entries.size(), true}};
}

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_CUDA_LISTWITH_H
